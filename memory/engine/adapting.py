"""An agent's own importance head from few labels: the posterior, and a guard that lets it keep the prior.

A few labels can mislead. So the posterior is taken only when, left out in turn, the labelled sides are ranked clearly
better by what the others teach than by the prior (docs/lab-log.md, "Few labels").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memory.engine.posterior import Doubles, Posterior, believed, rated

STRENGTH = 3.0  # precision of the shipped weights: what they are trusted against an agent's labels
FOLDS = 5
MARGIN = 0.3  # standard errors by which held-out labels must be ranked better before the prior is left
LIKELY = 0.3  # half of the labels are asked of this share of the sides, the best by the prior


def adapted(
    prior: Posterior, z: npt.ArrayLike, labels: npt.ArrayLike, sides: Sequence[int], seed: int = 0
) -> Posterior:
    """Learn from labelled sides: pieces (N, F) standardised, labels in 0..1 (N,), and each piece's side (N,).

    The pieces of one side share one label's weight. Comes back as the prior itself when the labels do not help.
    """
    x, y = np.asarray(z, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    _, side = np.unique(np.asarray(sides), return_inverse=True)
    trust = 1.0 / np.bincount(side)[side]
    if not _better_than(prior, x, y, side, trust, seed):
        return prior
    return rated(prior, x, y, trust)


def own_head(weights: npt.ArrayLike, bias: float) -> Posterior:
    """What is believed of an agent's weights before any label: the shipped ones, moderately."""
    return believed(weights, bias, STRENGTH)


def _better_than(
    prior: Posterior, x: Doubles, y: Doubles, side: npt.NDArray[np.int64], trust: Doubles, seed: int
) -> bool:
    """Whether held-out sides are ranked better, by their best piece, by posteriors of the others than by the prior."""
    positive = _best(y, side) >= 0.5
    if positive.all() or not positive.any():
        return False
    fold = np.random.default_rng(seed).integers(0, FOLDS, size=len(positive))[side]
    learned = prior.logits(x)
    for one in range(FOLDS):
        out = fold == one
        if out.any() and not out.all():
            learned[out] = rated(prior, x[~out], y[~out], trust[~out]).logits(x[out])
    now, before = ranking(_best(learned, side), positive), ranking(_best(prior.logits(x), side), positive)
    fewer = min(int(positive.sum()), int((~positive).sum()))
    error = float(np.sqrt(now * (1 - now) / fewer))  # of a share, and roughly that of an AUC
    return now > before + MARGIN * error


def _best(scores: Doubles, side: npt.NDArray[np.int64]) -> Doubles:
    """The highest score of each side's pieces."""
    out = np.full(int(side.max()) + 1, -np.inf)
    np.maximum.at(out, side, scores)
    return out


def ranking(scores: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_]) -> float:
    """The chance that a positive ranks above another, ties half (Mann and Whitney 1947); nan without either."""
    _, which, counts = np.unique(scores, return_inverse=True, return_counts=True)
    place = (np.cumsum(counts) - (counts - 1) / 2)[which]  # the mean place of those that are equal
    hits = int(positive.sum())
    return float((place[positive].sum() - hits * (hits + 1) / 2) / (hits * (len(scores) - hits)))


def worth_labelling(logits: npt.NDArray[np.float64], count: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Which of N sides to have labelled: half among the likeliest by the prior, half from all others at random."""
    size = len(logits)
    count = min(count, size)
    likely = np.argsort(-logits, kind="stable")[: max(1, int(LIKELY * size))]
    first = random.choice(likely, min(count // 2, len(likely)), replace=False)
    rest = np.setdiff1d(np.arange(size), first)
    return np.concatenate([first, random.choice(rest, count - len(first), replace=False)])
