"""The recall head's most probable weights, given what was said of the fit of recalled memories.

The weights w are a Gaussian around others. A recall gives each row of its trace the weight p, the softmax of the rows'
logits at the head's temperature; that row i fits with value v, said with weight u, adds

    u (v log p_i + (1 - v) log (1 - p_i))

to the log-likelihood. What was called fitting is drawn up against all other rows, what was called unfitting is drawn
down; of what nobody judged nothing is said but that it shares the attention.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from memory.engine.adapter import RecallHead
from training.learner.cues import Cues
from training.learner.dataset import Doubles

MOST_STEPS = 60
CLOSE_ENOUGH = 1e-9
HALVINGS = 30
SURE = 1e-9  # a weight nearer to 1 than that counts as so near: that it should be 0 then says a great deal, not all

Watch = Callable[[float], None]


@dataclass(frozen=True)
class Prior:
    """A Gaussian around weights (S,), alike in all directions; `strength` is its precision."""

    mean: Doubles
    strength: float


def offsets(cues: Cues, head: RecallHead) -> Doubles:
    """(R,): what a head's interplay adds to each logit; it stays as it is."""
    if head.interplay is None:
        return np.zeros(len(cues.cue))
    return head.interplay.logits(cues.signals).astype(np.float64)


def attention(cues: Cues, logits: Doubles, temperature: float) -> Doubles:
    """(R,): each row's share of its cue's attention, as a recall of these rows alone would give it."""
    if not len(cues):
        return np.zeros(0)
    starts = cues.starts
    scaled = logits / temperature
    parts = np.exp(scaled - np.maximum.reduceat(scaled, starts)[cues.cue])
    return np.asarray(parts / np.add.reduceat(parts, starts)[cues.cue])


def loss(cues: Cues, logits: Doubles, temperature: float) -> float:
    """How little was said is what the weights say: the negative log-likelihood."""
    p = np.clip(attention(cues, logits, temperature), 1e-300, 1 - SURE)
    said = cues.weight * (cues.value * np.log(p) + (1 - cues.value) * np.log1p(-p))
    return -float(said.sum())


def most_probable(
    cues: Cues, prior: Prior, temperature: float, offset: Doubles, watch: Watch = lambda value: None
) -> Doubles:
    """(S,): the weights after these cues, by Newton's method with the expected curvature (Fisher scoring), each step
    halved until the posterior rises. Nothing is drawn: the same cues give the same bits. `watch` is told each loss.

    The part about unfitting rows is not convex: what is found is the mode that can be reached from the prior's mean.
    """
    x = cues.signals.astype(np.float64)
    weights = prior.mean.copy()
    value = _value(cues, x, weights, prior, temperature, offset)
    watch(value)
    for _ in range(MOST_STEPS):
        gradient, curvature = _slopes(cues, x, weights, prior, temperature, offset)
        step = np.linalg.solve(curvature, gradient)
        for halving in range(HALVINGS):
            tried = weights - step / 2**halving
            after = _value(cues, x, tried, prior, temperature, offset)
            if after < value:
                break
        else:
            return weights
        near = value - after < CLOSE_ENOUGH * (1 + abs(value))
        weights, value = tried, after
        watch(value)
        if near:
            break
    return weights


def _value(cues: Cues, x: Doubles, weights: Doubles, prior: Prior, temperature: float, offset: Doubles) -> float:
    far = weights - prior.mean
    return loss(cues, x @ weights + offset, temperature) + 0.5 * prior.strength * float(far @ far)


def _slopes(
    cues: Cues, x: Doubles, weights: Doubles, prior: Prior, temperature: float, offset: Doubles
) -> tuple[Doubles, Doubles]:
    """Gradient (S,) and expected curvature (S, S) of what `_value` says."""
    p = attention(cues, x @ weights + offset, temperature)
    odds = p / np.maximum(1 - p, SURE)
    starts = cues.starts
    fitting, unfitting = cues.weight * cues.value, cues.weight * (1 - cues.value) * odds
    mean = np.add.reduceat(p[:, None] * x, starts)  # (C, S): the signals that each cue attends to
    pull = fitting - unfitting
    gradient = np.add.reduceat(pull, starts) @ mean - pull @ x
    up = np.add.reduceat(fitting, starts)
    apart = x - mean[cues.cue]
    curvature = apart.T @ (apart * (up[cues.cue] * p + unfitting)[:, None])
    own = prior.strength * np.eye(len(weights))
    return (
        gradient / temperature + prior.strength * (weights - prior.mean),
        curvature / temperature**2 + own,
    )
