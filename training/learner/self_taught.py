"""A head learned from hindsight alone, and the guard that lets a bank keep its prior where hindsight does not help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.engine.posterior import Doubles, Posterior, rated
from training.learner.hindsight import Credit, values_of

STRENGTH = 30.0  # precision of the prior's weights
FREE = 0.001  # and of its bias: how much is worth keeping is not what it knows, and must not bend the weights
FOLDS = 5
MARGIN = 0.25  # standard errors by which held-out replies must find more of what they use, before the prior is left
SHARE = 0.2  # of the sides, kept by rank, in which they must find it


@dataclass(frozen=True)
class Lesson:
    """What one bank's past teaches: N memories in P features, (N, P), the side that each was told by, the credits that
    later replies gave. Lessons of one group are never on both sides of a held-out split."""

    z: Doubles
    side: npt.NDArray[np.int64]
    credits: Sequence[Credit]
    group: str = ""

    @property
    def trust(self) -> Doubles:
        """The pieces of one side share one label's weight, (N,)."""
        _, place = np.unique(self.side, return_inverse=True)
        return np.asarray(1.0 / np.bincount(place)[place])


Part = tuple[Lesson, Sequence[Credit], Sequence[Credit]]  # what is read of a lesson, and what is held out


def self_taught(prior: Posterior, lessons: Sequence[Lesson], seed: int = 0) -> Posterior:
    """The weights after these lessons; the prior itself where held-out replies do not find more of what they use."""
    asked = [lesson for lesson in lessons if lesson.credits]
    if not asked or not _better_than(prior, asked, seed):
        return prior
    return taught(prior, asked)


def taught(prior: Posterior, lessons: Sequence[Lesson]) -> Posterior:
    """The weights after these lessons, whatever they are worth. A bank of which nothing was asked teaches nothing."""
    return _learned(prior, [(lesson, lesson.credits, ()) for lesson in lessons if lesson.credits])


def _learned(prior: Posterior, told: Sequence[Part]) -> Posterior:
    """Learn from (lesson, the credits read, those held out): what the held-out ones credit is not called useless."""
    values, trust = [], []
    for lesson, read, held_out in told:
        value = values_of(len(lesson.z), read)
        unread = (values_of(len(lesson.z), held_out) > 0.05) & (value < 0.5)
        values.append(value)
        trust.append(np.where(unread, 0.0, lesson.trust))
    z = np.concatenate([lesson.z for lesson, _, _ in told])
    precision = np.full(len(prior.mean), STRENGTH)
    precision[-1] = FREE
    return rated(Posterior(prior.mean, np.diag(precision)), z, np.concatenate(values), np.concatenate(trust))


def _better_than(prior: Posterior, lessons: Sequence[Lesson], seed: int) -> bool:
    """Whether credits that were held out lie more among the best by heads learned from the others than by the prior."""
    random = np.random.default_rng(seed)
    gained: list[float] = []
    groups: list[str] = sorted({lesson.group for lesson in lessons})
    fold_of = dict(zip(groups, random.permutation(len(groups)) % FOLDS, strict=True))
    rest: list[Part]
    out: list[tuple[Lesson, Sequence[Credit]]]
    for fold in range(FOLDS):
        if len(groups) > 1:
            tested = [lesson for lesson in lessons if fold_of[lesson.group] == fold]
            rest = [(lesson, lesson.credits, ()) for lesson in lessons if fold_of[lesson.group] != fold]
            out = [(lesson, lesson.credits) for lesson in tested]
        else:  # one bank: replies are held out, in blocks, since those of one hour resemble each other
            blocks = [(lesson, np.arange(len(lesson.credits)) * FOLDS // len(lesson.credits)) for lesson in lessons]
            out = [(lesson, _of(lesson, block == fold)) for lesson, block in blocks]
            rest = [(lesson, _of(lesson, block != fold), _of(lesson, block == fold)) for lesson, block in blocks]
        if any(read for _, read, _ in rest):
            head = _learned(prior, [one for one in rest if one[1]])
            gained += [gain for lesson, held in out if held for gain in _gains(lesson, held, head, prior)]
    if len(gained) < 2:
        return False
    error = float(np.std(gained, ddof=1)) / len(gained) ** 0.5
    return bool(np.mean(gained) > MARGIN * error)


def _of(lesson: Lesson, chosen: npt.NDArray[np.bool_]) -> list[Credit]:
    return [lesson.credits[place] for place in np.flatnonzero(chosen).tolist()]


def _gains(lesson: Lesson, credits: Sequence[Credit], head: Posterior, prior: Posterior) -> list[float]:
    """For each credit, how much more of it lies among the best fifth of the sides by the head than by the prior."""
    now, before = _stays(lesson, head), _stays(lesson, prior)
    difference = now.astype(np.float64) - before
    return [float(credit.shares @ difference[credit.rows]) for credit in credits]


def _stays(lesson: Lesson, head: Posterior) -> npt.NDArray[np.bool_]:
    """Which memories (N,) are pieces of a side that is kept."""
    _, place = np.unique(lesson.side, return_inverse=True)
    best = np.full(int(place.max()) + 1, -np.inf)
    np.maximum.at(best, place, head.logits(lesson.z))
    kept = np.zeros(len(best), dtype=np.bool_)
    kept[np.argsort(-best, kind="stable")[: max(1, round(SHARE * len(best)))]] = True
    return np.asarray(kept[place])
