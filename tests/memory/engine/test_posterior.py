"""What an agent's own importance weights learn from labels: against numbers worked by hand, and promises for any."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.posterior import Doubles, Posterior, around, believed, compared, informed, rated


def sigmoid(x: Doubles) -> Doubles:
    return np.asarray(1 / (1 + np.exp(-x)))


def some_labels(count: int, seed: int = 1, features: int = 3) -> tuple[Doubles, Doubles]:
    """Sides whose first feature says whether they are needed, mostly."""
    chance = np.random.default_rng(seed)
    z = chance.standard_normal((count, features))
    return z, (z[:, 0] + 0.3 * chance.standard_normal(count) > 0).astype(float)


def test_one_label_moves_one_weight_to_where_prior_and_label_balance() -> None:
    # the bias is held at 0 by a prior of stone; then only w is free: sigmoid(2w) - 1 and the pull 4w must balance,
    # 2 (1 - sigmoid(2w)) = 4 (w - 0.5)
    learned = rated(believed([0.5], 0.0, [4.0, 1e12]), [[2.0]], [1.0])
    low, high = 0.5, 2.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * (1 - 1 / (1 + math.exp(-2 * middle))) > 4 * (middle - 0.5) else (low, middle)
    assert learned.mean[0] == pytest.approx(low, abs=1e-6)
    assert learned.mean[1] == pytest.approx(0.0, abs=1e-9)
    p = 1 / (1 + math.exp(-2 * low))
    assert learned.precision[0, 0] == pytest.approx(4 + 4 * p * (1 - p))


def test_at_the_mean_the_labels_pull_as_hard_as_the_prior() -> None:
    z, y = some_labels(40)
    trust = np.linspace(0.2, 2.0, 40)
    prior = believed([0.3, -0.2, 0.1], -1.0, [1.0, 2.0, 3.0, 0.5])
    learned = rated(prior, z, y, trust)
    x = np.hstack([z, np.ones((40, 1))])
    pull = x.T @ (trust * (y - sigmoid(x @ learned.mean)))
    assert pull == pytest.approx(prior.precision @ (learned.mean - prior.mean), abs=1e-4)


def test_the_precision_is_that_of_the_prior_and_what_the_labels_say() -> None:
    z, y = some_labels(25)
    prior = believed([0.0, 0.0, 0.0], 0.0, 2.0)
    learned = rated(prior, z, y)
    x = np.hstack([z, np.ones((25, 1))])
    p = sigmoid(x @ learned.mean)
    fisher = sum(p[i] * (1 - p[i]) * np.outer(x[i], x[i]) for i in range(25))
    assert learned.precision == pytest.approx(2 * np.eye(4) + fisher)


def test_labels_in_two_parts_say_what_they_say_at_once_as_far_as_a_gaussian_can() -> None:
    z, y = some_labels(200)
    prior = believed([0.0, 0.0, 0.0], 0.0, 5.0)
    at_once, in_parts = rated(prior, z, y), rated(rated(prior, z[:100], y[:100]), z[100:], y[100:])
    assert in_parts.mean == pytest.approx(at_once.mean, abs=0.5)
    assert in_parts.mean[0] > 1


def test_a_label_that_counts_twice_is_that_label_told_twice() -> None:
    z, y = some_labels(10)
    prior = believed([0.0, 0.0, 0.0], 0.0, 1.0)
    doubled, twice = rated(prior, z, y, 2.0), rated(prior, np.vstack([z, z]), np.append(y, y))
    assert doubled.mean == pytest.approx(twice.mean, abs=1e-6)
    assert doubled.precision == pytest.approx(twice.precision, abs=1e-5)


def test_without_labels_the_prior_stays_as_it_is() -> None:
    prior = believed([0.3, -0.2], -1.0, 2.0)
    learned = rated(prior, np.zeros((0, 2)), np.zeros(0))
    assert np.array_equal(learned.mean, prior.mean)
    assert np.array_equal(learned.precision, prior.precision)


def test_uncertainty_is_the_deviation_of_the_logit() -> None:
    posterior = Posterior(np.array([1.0, 0.5]), np.array([[4.0, 0.0], [0.0, 2.0]]))
    # variance of w z + b: z^2 / 4 + 1 / 2
    assert posterior.uncertainty([[0.0], [2.0]]) == pytest.approx([math.sqrt(0.5), math.sqrt(1.5)])
    assert posterior.logits([[0.0], [2.0]]) == pytest.approx([0.5, 2.5])


def test_uncertainty_shrinks_with_every_label() -> None:
    z, y = some_labels(60)
    shown = np.random.default_rng(2).standard_normal((5, 3))
    posterior = believed([0.0, 0.0, 0.0], 0.0, 1.0)
    before = posterior.uncertainty(shown)
    for start in range(0, 60, 20):
        posterior = rated(posterior, z[start : start + 20], y[start : start + 20])
        now = posterior.uncertainty(shown)
        assert (now < before).all()
        before = now


def test_comparisons_teach_weights_but_never_the_bias() -> None:
    prior = believed([0.0, 0.0], -2.0, 1.0)
    learned = compared(prior, [[1.0, 0.0], [2.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]])
    assert learned.mean[0] > 0.3
    assert learned.mean[1] == pytest.approx(0.0, abs=1e-9)  # alike in both
    assert learned.mean[2] == -2.0
    assert learned.precision[2].tolist() == [0.0, 0.0, 1.0]


def test_a_prior_of_stone_does_not_move() -> None:
    z, y = some_labels(300)
    learned = rated(believed([-1.0, 0.0, 0.0], -2.0, 1e9), z, y)
    assert learned.mean == pytest.approx([-1.0, 0.0, 0.0, -2.0], abs=1e-5)


def test_a_weak_prior_that_is_wrong_is_overruled_by_labels() -> None:
    z, y = some_labels(300)
    assert rated(believed([-1.0, 0.0, 0.0], -2.0, 1.0), z, y).mean[0] > 1


@given(
    st.lists(
        st.tuples(st.floats(-4, 4), st.floats(-4, 4), st.floats(0, 1), st.floats(0, 100)), min_size=0, max_size=30
    ),
    st.floats(1e-3, 1e6),
)
def test_logits_and_uncertainty_are_finite_whatever_the_labels(
    told: list[tuple[float, float, float, float]], strength: float
) -> None:
    z = np.array([row[:2] for row in told]).reshape(-1, 2)
    learned = rated(believed([0.5, -0.5], -2.0, strength), z, [row[2] for row in told], [row[3] for row in told])
    shown = [[0.0, 0.0], [4.0, -4.0], [-4.0, 4.0]]
    assert np.isfinite(learned.logits(shown)).all()
    assert np.isfinite(learned.uncertainty(shown)).all()
    assert (learned.uncertainty(shown) > 0).all()


def test_judgements_make_the_belief_surer_by_their_curvature_at_its_mean() -> None:
    # at weights of 0 a judgement of x = (2, 1) has p = 1/2, so it adds x xT / 4: precision ((3 + 1, .5), (.5, 3 + .25))
    belief = informed(believed([0.0], 0.0, 3.0), [[2.0]])
    assert belief.mean.tolist() == [0.0, 0.0]
    assert belief.precision.tolist() == [[4.0, 0.5], [0.5, 3.25]]
    # of a memory whose feature is 0 only the bias is open: its variance is 4 / (4 * 3.25 - .25)
    assert belief.uncertainty([[0.0]]) == pytest.approx([math.sqrt(4 / 12.75)])
    assert informed(believed([0.0], 0.0, 3.0), [[2.0]], 0.5).precision[0, 0] == 3.5


def test_around_learned_weights_that_is_the_posterior_itself() -> None:
    z, labels = some_labels(40)
    prior = believed([0.0] * 3, 0.0, 3.0)
    learned = rated(prior, z, labels)
    again = informed(Posterior(learned.mean, prior.precision), z)
    np.testing.assert_allclose(again.precision, learned.precision)


def test_a_score_of_a_half_with_its_logit_ln_3_lower_and_higher_is_a_quarter_and_three() -> None:
    assert around(0.5, math.log(3)) == pytest.approx((0.25, 0.75))
    low, high = around(0.8, math.log(2))  # odds of 4 halved and doubled: 2 to 1 and 8 to 1
    assert (low, high) == pytest.approx((2 / 3, 8 / 9))
    assert 0.8 - low > high - 0.8


@given(st.floats(0, 1), st.floats(0, 30))
def test_the_score_always_lies_within_its_interval(score: float, deviation: float) -> None:
    low, high = around(score, deviation)
    assert 0 <= low <= score <= high <= 1
