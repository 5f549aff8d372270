"""The adapted vectors beside a bank's frozen ones: at every moment what computing them anew would give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.adapted import AdaptedVectors
from tests.memory.engine.test_vector_adapter import some, trained

BY = {1: trained(seed=1), 2: trained(seed=2)}


@given(st.lists(st.sampled_from(["hold", "drop", "read 1", "read 2", "clear"]), max_size=60), st.randoms())
@settings(max_examples=150, deadline=None)
def test_after_any_holds_and_drops_they_are_what_computing_them_anew_gives(steps: list[str], dice) -> None:  # type: ignore[no-untyped-def]
    """Slots grow and are used again, as a hot bank's are; the frozen matrix has spare room at its end."""
    frozen, slots, used, free = np.zeros((80, 6), dtype=np.float32), 0, [], []
    vectors, adapted = some(80), AdaptedVectors()
    for number, step in enumerate([*steps, "read 1"]):
        if step == "hold":
            slot = free.pop() if free else slots
            slots = max(slots, slot + 1)
            frozen[slot] = vectors[number]
            used.append(slot)
            adapted.changed(slot)
        elif step == "drop" and used:
            slot = used.pop(dice.randrange(len(used)))
            frozen[slot] = 0.0
            free.append(slot)
            adapted.changed(slot)
        elif step == "clear":
            adapted.clear()
        elif step.startswith("read"):
            by = BY[int(step[-1])]
            rows = adapted.of(by, frozen[:slots])
            assert rows.shape == (slots, 6)
            assert rows == pytest.approx(by.adapted(frozen[:slots]), abs=1e-6)


def test_nothing_is_held_before_somebody_asks_and_after_a_clear() -> None:
    adapted = AdaptedVectors()
    adapted.changed(0)
    assert adapted.nbytes == 0
    adapted.of(BY[1], some(3))
    assert adapted.nbytes == 3 * 6 * 4
    adapted.clear()
    assert adapted.nbytes == 0


def test_what_leaves_is_gone_at_once() -> None:
    """Not only at the next recall: an erased memory's vector says something of its words."""
    adapted = AdaptedVectors()
    rows = adapted.of(BY[1], some(3))
    assert rows[1].any()
    adapted.changed(1)
    assert not rows[1].any()
    assert rows[0].any()
