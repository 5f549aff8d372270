"""How features lie in bins, and the stability index, against numbers worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from memory.engine import features
from training.learner.distributions import LEAST, by_chance, counts_in, described, edges_of, stability_index


def test_the_index_of_halves_that_became_a_quarter_and_three_is_half_of_ln_3() -> None:
    # (1/4 - 1/2) ln(1/2) + (3/4 - 1/2) ln(3/2) = 1/4 (ln 2 + ln 3 - ln 2) = 1/4 ln 3
    assert stability_index([10, 10], [5, 15]) == pytest.approx(math.log(3) / 4)
    assert stability_index([10, 10], [400, 400]) == 0
    assert stability_index([5, 15], [10, 10]) == pytest.approx(math.log(3) / 4)


def test_a_bin_that_nothing_lay_in_counts_as_one_in_ten_thousand() -> None:
    # 0.1 - 0.0001 more in the second bin, 0.1 less in the first
    expected = (0.9 - 1) * math.log(0.9) + (0.1 - 1e-4) * math.log(0.1 / 1e-4)
    assert stability_index([50, 0], [90, 10]) == pytest.approx(expected)


def test_chance_alone_moves_few_memories_farther_than_the_rule_of_thumb() -> None:
    # ten bins: the quantile .95 of a chi-square of 9 degrees is 16.919
    assert by_chance(20, 20, 10) == pytest.approx(0.1 * 16.919, rel=2e-3)
    assert by_chance(10_000, 10_000, 2) == pytest.approx(2e-4 * 3.841, rel=0.03)
    dice = np.random.default_rng(3)
    drawn = [dice.multinomial(300, [0.1] * 10) for _ in range(400)]
    limit = by_chance(300, 300, 10)
    above = [stability_index(one, two) > limit for one, two in zip(drawn[::2], drawn[1::2], strict=True)]
    assert 0.01 < np.mean(above) < 0.12


def test_bins_are_the_tenths_and_the_least_value_has_one_of_its_own_where_it_is_common() -> None:
    assert edges_of(np.arange(100)) == [9, 19, 29, 39, 49, 59, 69, 79, 89]
    some = np.array([0] * 90 + [693] * 6 + [1099] * 4)
    assert edges_of(some) == [693]
    assert counts_in([693], some) == [90, 10]
    assert edges_of(np.array([0] * 99 + [5])) == [5]
    assert edges_of(np.array([7, 7, 7])) == [8]  # all alike: what is larger one day is seen
    assert counts_in([10, 20], np.array([9, 10, 19, 20, 500, -3])) == [2, 2, 2]


def test_many_memories_are_described_feature_by_feature_and_few_not_at_all() -> None:
    raw = np.zeros((40, len(features.NAMES)), dtype=np.float32)
    raw[:10, features.NAMES.index("question")] = 1.0
    raw[:, features.NAMES.index("novelty")] = np.linspace(0, 0.999, 40)
    found = described(raw)
    assert found["memories"] == 40
    assert found["features"]["question"] == {
        "edges": [1000], "counts": [30, 10], "alone": True, "mean": 0.25, "deviation": 0.433
    }  # fmt: skip
    novelty = found["features"]["novelty"]
    assert sum(novelty["counts"]) == 40
    assert len(novelty["counts"]) == len(novelty["edges"]) + 1
    assert novelty["mean"] == pytest.approx(0.4995, abs=1e-3)
    assert described(raw[: LEAST - 1]) == {}
