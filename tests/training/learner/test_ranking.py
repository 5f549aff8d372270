"""How well scores rank judgements: by hand on a few rows, and whole conversations drawn again."""

from __future__ import annotations

import numpy as np
import pytest

from training.learner.dataset import Dataset
from training.learner.ranking import Ranked


def judged(
    value: list[float], group: list[int], weight: list[float] | None = None, other: list[int] | None = None
) -> Dataset:
    size = len(value)
    return Dataset(
        z=np.zeros((size, 1)), value=np.array(value), weight=np.array(weight or [1.0] * size),
        kind=np.zeros(size, dtype=np.int64), group=np.array(group), other=np.array(other or [-1] * size),
        memory=np.zeros((size, 16), dtype=np.uint8),
    )  # fmt: skip


def test_pairs_in_the_right_order_ties_half() -> None:
    data = judged([1.0, 1.0, 0.0, 0.0], [0, 0, 1, 1])
    scores = np.array([3.0, 1.0, 2.0, 1.0])
    # 3 beats 2 and 1; 1 loses to 2 and ties with 1: 2.5 of 4
    assert Ranked(data, scores, -scores).now() == (2.5 / 4, 1.5 / 4)


def test_a_rating_in_between_counts_for_both_sides_by_its_share_and_is_no_pair_with_itself() -> None:
    data = judged([0.75, 0.25], [0, 1])
    # high .75 and .25, low .25 and .75; pairs: first above second .75 * .75, second above first .25 * .25
    right, wrong = 0.75 * 0.75, 0.25 * 0.25
    assert Ranked(data, np.array([2.0, 1.0]), np.array([1.0, 2.0])).now() == pytest.approx(
        (right / (right + wrong), wrong / (right + wrong))
    )


def test_weights_are_how_often_a_judgement_counts() -> None:
    data = judged([1.0, 0.0, 0.0], [0, 1, 2], weight=[1.0, 3.0, 1.0])
    assert Ranked(data, np.array([1.0, 0.0, 2.0]), np.array([1.0, 2.0, 0.0])).now() == (0.75, 0.25)


def test_a_comparison_is_right_when_the_better_side_scores_higher() -> None:
    data = judged([1.0, 0.0, 1.0, 0.0], [0, 0, 1, 1], weight=[1.0, 0.0, 1.0, 0.0], other=[1, -1, 3, -1])
    beside = Ranked(data, np.array([1.0, 0.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0, 0.0])).pairs(1)
    assert beside is not None
    assert (beside.champion, beside.challenger, beside.n) == (0.5, 1.0, 2)


def test_what_is_kept_of_the_needed_at_a_fifth() -> None:
    data = judged([1.0, 1.0, *[0.0] * 8], list(range(10)))
    best_first, one_of_two = np.arange(10)[::-1] * 1.0, np.array([9.0, 1.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 0.0])
    beside = Ranked(data, one_of_two, best_first).kept(1)
    assert (beside.champion, beside.challenger) == (0.5, 1.0)


def test_the_interval_is_over_whole_conversations() -> None:
    random = np.random.default_rng(5)
    value = (random.random(200) < 0.4).astype(float)
    good, chance = value + random.normal(0, 0.8, 200), random.normal(0, 1, 200)
    many = Ranked(judged(value.tolist(), list(range(200))), chance, good).ranking(1)
    few = Ranked(judged(value.tolist(), [row // 25 for row in range(200)]), chance, good).ranking(1)
    assert many.low > 0
    assert many.better == 1.0
    assert many.champion == few.champion
    assert (few.low, few.high) != (many.low, many.high)
    same = Ranked(judged(value.tolist(), list(range(200))), good, good).ranking(1)
    assert (same.low, same.high, same.better) == (0.0, 0.0, 0.0)
