"""An agent's own importance weights: a Gaussian around the shipped prior that moves as far as its labels go.

Bayesian logistic regression with Laplace's approximation (MacKay 1992; Bishop 2006, section 4.5): the mean is the
most probable weights, the precision their curvature there. A few hundred labels take milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Watch = Callable[[Doubles, float], None]

MOST_STEPS = 50
CLOSE_ENOUGH = 1e-8
SMALLEST = 1e-6  # a score nearer to 0 or 1 is taken as that far from it: scores are kept in millionths


@dataclass(frozen=True)
class Posterior:
    """What is believed of D = F + 1 weights: those of F standardised features and, last, the bias."""

    mean: Doubles  # (D,)
    precision: Doubles  # (D, D)

    def logits(self, z: npt.ArrayLike) -> Doubles:
        """The mean logit of each of (N, F) standardised features, (N,)."""
        return np.asarray(_with_bias(z) @ self.mean)

    def uncertainty(self, z: npt.ArrayLike) -> Doubles:
        """The standard deviation of those logits, (N,): where it is large, a label says most."""
        x = _with_bias(z)
        return np.asarray(np.sqrt(np.einsum("nd,dn->n", x, np.linalg.solve(self.precision, x.T))))


def believed(weights: npt.ArrayLike, bias: float, strength: float | npt.ArrayLike) -> Posterior:
    """A prior around weights (F,) and a bias; `strength` is its precision, one number or one for each of F + 1."""
    mean = np.append(np.asarray(weights, dtype=np.float64), bias)
    return Posterior(mean, np.diag(np.broadcast_to(np.asarray(strength, dtype=np.float64), mean.shape)).copy())


def rated(prior: Posterior, z: npt.ArrayLike, labels: npt.ArrayLike, trust: npt.ArrayLike | float = 1.0) -> Posterior:
    """Learn from N judgements: features (N, F), labels in 0..1 (N,), and how many full labels each counts for."""
    return _learned(prior, _with_bias(z), np.asarray(labels, dtype=np.float64), trust)


def compared(
    prior: Posterior, better: npt.ArrayLike, worse: npt.ArrayLike, trust: npt.ArrayLike | float = 1.0
) -> Posterior:
    """Learn from N choices between two sides, (N, F) each (Bradley and Terry 1952); the bias cannot be told by them."""
    difference = np.asarray(better, dtype=np.float64) - np.asarray(worse, dtype=np.float64)
    x = np.hstack([difference, np.zeros((len(difference), 1))])
    return _learned(prior, x, np.ones(len(x)), trust)


def judged(
    prior: Posterior, z: npt.ArrayLike, labels: npt.ArrayLike, trust: npt.ArrayLike,
    better: npt.ArrayLike, worse: npt.ArrayLike, trust_of_pairs: npt.ArrayLike, watch: Watch | None = None,
) -> Posterior:  # fmt: skip
    """Learn from ratings and choices at once; `watch` is told the mean and the loss after each step."""
    difference = np.asarray(better, dtype=np.float64) - np.asarray(worse, dtype=np.float64)
    x = np.vstack([_with_bias(z), np.hstack([difference, np.zeros((len(difference), 1))])])
    y = np.concatenate([np.asarray(labels, dtype=np.float64), np.ones(len(difference))])
    return _learned(prior, x, y, np.concatenate([np.asarray(trust), np.asarray(trust_of_pairs)]), watch)


def informed(prior: Posterior, z: npt.ArrayLike, trust: npt.ArrayLike | float = 1.0) -> Posterior:
    """The prior, as much surer as N judgements of features (N, F) make it where its mean stands, whatever they say:
    the curvature of their loss there. Around weights that were learned from them this is Laplace's approximation."""
    x = _with_bias(z)
    weight = np.broadcast_to(np.asarray(trust, dtype=np.float64), (len(x),))
    return Posterior(prior.mean, _curvature(prior, _sigmoid(x @ prior.mean), x, weight))


def around(score: float, deviation: float) -> tuple[float, float]:
    """A score in (0, 1) with its logit one `deviation` lower, and one higher: an interval on the score's own scale."""
    bounded = min(max(score, SMALLEST), 1 - SMALLEST)
    logit = math.log(bounded / (1 - bounded))
    low, high = (1 / (1 + math.exp(-(logit + side * deviation))) for side in (-1, 1))
    return min(low, score), max(high, score)


def _learned(
    prior: Posterior, x: Doubles, y: Doubles, trust: npt.ArrayLike | float, watch: Watch | None = None
) -> Posterior:
    """Newton's method from the prior's mean, steps halved until the posterior rises; the optimum is unique."""
    weight = np.broadcast_to(np.asarray(trust, dtype=np.float64), y.shape)
    mean = prior.mean
    value = _value(prior, mean, x, y, weight)
    for _ in range(MOST_STEPS):
        p = _sigmoid(x @ mean)
        gradient = x.T @ (weight * (p - y)) + prior.precision @ (mean - prior.mean)
        step = np.linalg.solve(_curvature(prior, p, x, weight), gradient)
        size = 1.0
        while size > 1e-4:
            tried = mean - size * step
            better = _value(prior, tried, x, y, weight)
            if better <= value:
                break
            size /= 2
        else:
            break
        mean, moved, value = tried, value - better, better
        if watch is not None:
            watch(mean, value)
        if moved < CLOSE_ENOUGH:
            break
    return Posterior(mean, _curvature(prior, _sigmoid(x @ mean), x, weight))


def _curvature(prior: Posterior, p: Doubles, x: Doubles, weight: Doubles) -> Doubles:
    return np.asarray(prior.precision + x.T @ (x * (weight * p * (1 - p))[:, None]))


def _value(prior: Posterior, mean: Doubles, x: Doubles, y: Doubles, weight: Doubles) -> float:
    """The negative logarithm of the posterior, up to a constant."""
    logits = x @ mean
    moved = mean - prior.mean
    return float((weight * (np.logaddexp(0.0, logits) - y * logits)).sum() + 0.5 * moved @ prior.precision @ moved)


def _sigmoid(x: Doubles) -> Doubles:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def _with_bias(z: npt.ArrayLike) -> Doubles:
    values = np.asarray(z, dtype=np.float64)
    return np.hstack([values, np.ones((len(values), 1))])
