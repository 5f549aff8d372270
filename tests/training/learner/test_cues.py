"""Judged cues as numbers: frozen to the same bytes beside judgements of importance, and without what was erased."""

from __future__ import annotations

from dataclasses import fields
from uuid import UUID

import numpy as np
import pytest

from memory.engine.signals import NAMES
from tests.training.learner.test_dataset import dataset
from training.learner import cues
from training.learner.cues import Cues, from_arrays, nothing
from training.learner.dataset import DatasetUnreadable
from training.learner.frozen import Frozen, frozen_in
from training.learner.recall_examples import MODES

IDS = [UUID(int=number) for number in range(1, 6)]
TURNS = [UUID(int=number) for number in range(11, 14)]


def three() -> Cues:
    """Three cues of three, two and one rows; the second asks nothing, the third is of the first's conversation."""
    cue = np.array([0, 0, 0, 1, 1, 2])
    of = [IDS[at] for at in (0, 1, 2, 0, 3, 4)]
    return Cues(
        signals=np.arange(6 * len(NAMES), dtype=np.float32).reshape(6, len(NAMES)),
        fit=np.linspace(0.3, 0.8, 6, dtype=np.float32), value=np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.5]),
        weight=np.array([1.0, 0.5, 0.0, 0.3, 0.0, 1.0]), shown=np.array([True] * 5 + [False]), cue=cue,
        memory=np.array([list(one.bytes) for one in of], dtype=np.uint8),
        mode=np.array([MODES.index(mode) for mode in ("asking", "telling", "asking")]), group=np.array([0, 1, 0]),
        turn=np.array([list(one.bytes) for one in TURNS], dtype=np.uint8),
    )  # fmt: skip


def same(one: Cues, other: Cues) -> bool:
    return all(np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(Cues))


def test_cues_are_counted_by_mode_and_know_their_rows() -> None:
    told = three()
    assert len(told) == 3
    assert told.starts.tolist() == [0, 3, 5]
    assert [told.judgements(mode) for mode in MODES] == [3, 1, 0]
    assert (told.memories(), told.turns()) == (IDS, TURNS)
    part = told.part(told.of_mode("asking"))
    assert (part.cue.tolist(), part.group.tolist()) == ([0, 0, 0, 1], [0, 0])
    assert part.signals[-1].tolist() == told.signals[-1].tolist()


def test_the_same_cues_are_the_same_bytes_beside_the_judgements_and_come_back_as_they_were() -> None:
    frozen = Frozen(dataset(), three())
    (data, digest), (again, _) = frozen.packed(), frozen.packed()
    assert data == again
    back = frozen_in(data, digest)
    assert same(back.cues, three())
    assert back.judgements.z.tolist() == dataset().z.tolist()
    assert frozen.size == 5 + 6
    with pytest.raises(DatasetUnreadable):
        frozen_in(data[:-1] + b"x", digest)


def test_what_was_frozen_before_there_were_cues_is_read_and_has_none() -> None:
    old = dataset().packed()
    back = frozen_in(*old)
    assert (len(back.cues), back.judgements.memories()) == (0, dataset().memories())
    assert Frozen(dataset(), nothing()).packed() == old, "and without cues it is frozen as it ever was"


def test_signals_are_found_by_name_and_without_one_of_them_there_are_no_cues() -> None:
    kept = three().arrays()
    order = list(reversed(range(len(NAMES))))
    turned = {**kept, "cue_signals": kept["cue_signals"][:, order], "cue_names": kept["cue_names"][order]}
    assert same(from_arrays(turned), three())
    lacking = {**kept, "cue_names": np.array(["gone", *NAMES[1:]])}
    assert len(from_arrays(lacking)) == 0
    assert kept[cues.PREFIX + "names"].tolist() == list(NAMES)


def test_an_erased_memory_takes_its_rows_along_and_a_cue_without_a_judged_row_leaves() -> None:
    left = three().without([IDS[0]])
    assert (left.cue.tolist(), left.turns()) == ([0, 0, 1], [TURNS[0], TURNS[2]])
    assert left.memories() == [IDS[1], IDS[2], IDS[4]]
    assert left.value.tolist() == [0.0, 0.0, 0.5]
    assert same(three().without([IDS[2]]).part(np.array([False, True, True])), three().part(np.array([0, 1, 1]) > 0))
    assert len(three().without(IDS)) == 0


def test_the_cues_of_an_erased_turn_leave_whole() -> None:
    left = three().without([], [TURNS[0], UUID(int=99)])
    assert (left.turns(), left.cue.tolist(), left.mode.tolist()) == (TURNS[1:], [0, 0, 1], [1, 0])
