"""An agent's own head from few labels: it moves where labels help, and keeps the prior where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.adapting import LIKELY, STRENGTH, adapted, own_head, ranking, worth_labelling
from memory.engine.posterior import Doubles, rated


def sides(count: int, seed: int = 1) -> tuple[Doubles, Doubles]:
    """Sides that are needed when their second feature is high; the prior looks at the first."""
    z = np.random.default_rng(seed).standard_normal((count, 3))
    return z, (z[:, 1] > 0.3).astype(float)


PRIOR = own_head([1.0, 0.0, 0.0], -1.0)


def test_an_own_head_begins_as_the_shipped_one_with_a_moderate_belief() -> None:
    assert PRIOR.mean.tolist() == [1.0, 0.0, 0.0, -1.0]
    assert np.diag(PRIOR.precision).tolist() == [STRENGTH] * 4


def test_labels_that_say_something_else_than_the_prior_are_learned() -> None:
    z, needed = sides(200)
    learned = adapted(PRIOR, z, needed, range(200))
    assert learned.mean[1] > 0.5
    unseen, truth = sides(300, seed=2)
    assert ranking(learned.logits(unseen), truth > 0) > ranking(PRIOR.logits(unseen), truth > 0) + 0.2


def test_labels_that_agree_with_nothing_leave_the_prior_as_it_is() -> None:
    z, _ = sides(60)
    kept = 0
    for seed in range(10):
        thrown = np.random.default_rng(seed).permutation(np.arange(60) % 4 == 0).astype(float)
        kept += adapted(PRIOR, z, thrown, range(60)) is PRIOR
    assert kept >= 3


def test_where_the_prior_ranks_all_right_it_stays() -> None:
    z, _ = sides(60)
    assert adapted(PRIOR, z, (z[:, 0] > 0.5).astype(float), range(60)) is PRIOR


@pytest.mark.parametrize("label", [0.0, 1.0, 0.49])
def test_labels_that_are_all_alike_say_nothing(label: float) -> None:
    z, _ = sides(40)
    assert adapted(PRIOR, z, np.full(40, label), range(40)) is PRIOR


def test_the_pieces_of_a_side_share_the_weight_of_one_label() -> None:
    z, needed = sides(100)
    in_pieces = np.repeat(z, 3, axis=0)
    one = adapted(PRIOR, z, needed, range(100))
    many = adapted(PRIOR, in_pieces, np.repeat(needed, 3), np.repeat(np.arange(100), 3).tolist())
    assert one is not PRIOR
    assert many.mean == pytest.approx(one.mean, abs=1e-6)
    assert one.mean == pytest.approx(rated(PRIOR, z, needed).mean)


def test_the_same_labels_teach_the_same() -> None:
    z, needed = sides(80)
    one, again = adapted(PRIOR, z, needed, range(80)), adapted(PRIOR, z, needed, range(80))
    assert one.mean.tobytes() == again.mean.tobytes()


@given(st.integers(1, 60), st.integers(0, 80), st.integers(0, 1000))
def test_so_many_different_sides_are_asked_about_half_of_them_likely_ones(size: int, count: int, seed: int) -> None:
    logits = np.random.default_rng(seed).standard_normal(size)
    chosen = worth_labelling(logits, count, np.random.default_rng(seed)).tolist()
    assert len(chosen) == len(set(chosen)) == min(count, size)
    assert set(chosen) <= set(range(size))
    likely = set(np.argsort(-logits, kind="stable")[: max(1, int(LIKELY * size))].tolist())
    assert len(likely & set(chosen)) >= min(min(count, size) // 2, len(likely))
    assert chosen == worth_labelling(logits, count, np.random.default_rng(seed)).tolist()
