"""Which memories are handed on when unlikeness counts, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.diversity import spread_out
from memory.engine.types import Floats
from tests.memory.engine.toy_bank import floats


def towards(*degrees: float) -> Floats:
    return np.array([[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees], dtype=np.float32)


# Logits 1, .9, .5; the second is the first once more, the third stands at right angles to both.
LOGITS, VECTORS = floats(1.0, 0.9, 0.5), towards(0, 0, 90)


@pytest.mark.parametrize(
    ("share", "order"),
    [
        (0.0, [0, 1, 2]),
        (0.2, [0, 1, 2]),  # .8 * .9 - .2 = .52 against .8 * .5 = .4
        (0.3, [0, 2, 1]),  # .7 * .9 - .3 = .33 against .7 * .5 = .35
        (1.0, [0, 2, 1]),
    ],
)
def test_what_is_taken_after_the_first_is_worked_by_hand(share: float, order: list[int]) -> None:
    assert spread_out(LOGITS, VECTORS, [1, 1, 1], share=share, room=10, most=10) == order


def test_the_nearest_of_all_that_was_taken_counts() -> None:
    """After 0 and 90 degrees: 45 lies at .71 from both, 120 at .87 from the second, 200 at -.34 from it."""
    order = spread_out(floats(9, 8, 1, 1, 1), towards(0, 90, 45, 120, 200), [1] * 5, share=0.5, room=10, most=3)
    assert order == [0, 1, 4]
    order = spread_out(floats(9, 8, 1, 1), towards(0, 90, 45, 120), [1] * 4, share=0.5, room=10, most=3)
    assert order == [0, 1, 2]


def test_what_does_not_fit_is_passed_over_and_changes_nothing() -> None:
    assert spread_out(LOGITS, VECTORS, [5, 1, 1], share=0.3, room=4, most=10) == [1, 2]
    assert spread_out(LOGITS, VECTORS, [5, 5, 5], share=0.3, room=4, most=10) == []
    assert spread_out(LOGITS, VECTORS, [1, 1, 1], share=0.3, room=10, most=2) == [0, 2]
    assert spread_out(LOGITS[:0], VECTORS[:0], [], share=0.3, room=10, most=2) == []


@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(1, 20)), max_size=20), st.integers(0, 60), st.integers(1, 8))
def test_with_no_share_it_is_the_order_of_logits_as_far_as_they_fit(
    some: list[tuple[float, int]], room: int, most: int
) -> None:
    some = sorted(some, key=lambda one: -one[0])
    chance = np.random.default_rng(1)
    logits, tokens = np.array([one for one, _ in some], dtype=np.float32), [size for _, size in some]
    expected, left = [], room
    for place, size in enumerate(tokens):
        if size <= left and len(expected) < most:
            expected.append(place)
            left -= size
    vectors = chance.standard_normal((len(some), 3)).astype(np.float32)
    assert spread_out(logits, vectors, tokens, share=0.0, room=room, most=most) == expected
