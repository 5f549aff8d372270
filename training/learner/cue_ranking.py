"""How well a head ranks what was judged within its cue, and how much of the attention it gives to what fitted.

A row of value v counts v times as one that fits and 1 - v times as one that does not. Rows of which nothing was said
are weak witnesses against: those that stood in the prompt could have been called fitting. Those that nobody was shown
say least; most of them do not fit, but they rank below only because the head that served put them there, so that every
other head looks worse by them.
"""

from __future__ import annotations

import numpy as np

from training.learner.cue_likelihood import attention
from training.learner.cues import Cues
from training.learner.dataset import Doubles, Flags, Whole
from training.learner.ranking import MOST_GROUPS, Beside, draws

UNSEEN = 0.03  # the same of one that was not shown (docs/lab-log.md, "What fits a cue")
UNSAID = 0.1  # of a judgement: what silence says against a memory that was shown beside one called fitting


class RankedCues:
    """Judged cues under two sets of logits, ready to be drawn again by conversation."""

    def __init__(self, cues: Cues, champion: Doubles, challenger: Doubles, temperatures: tuple[float, float]) -> None:
        """Logits (R,) of both, and the temperature that each is read at."""
        self.cues = cues
        groups, place = np.unique(cues.group, return_inverse=True)
        self.groups, of_cue = min(len(groups), MOST_GROUPS), place % MOST_GROUPS
        self.of = of_cue[cues.cue] if len(cues) else np.zeros(0, dtype=np.int64)  # (R,)
        self.fitting = cues.weight * cues.value
        self.first, self.second, self.pair = _pairs(cues)
        of_pair = self.of[self.first]
        self.pairs_of = _summed(of_pair, self.pair, self.groups)
        self.right_of = [self._right(logits, of_pair) for logits in (champion, challenger)]
        self.mass_of = _summed(self.of, self.fitting, self.groups)
        self.held_of = [
            _summed(self.of, self.fitting * attention(cues, logits, temperature), self.groups)
            for logits, temperature in zip((champion, challenger), temperatures, strict=True)
        ]

    @property
    def paired(self) -> bool:
        """Whether anything was called fitting beside something shown that was not."""
        witness = self.cues.shown | self.cues.judged
        return bool(self.pair[witness[self.second]].sum() > 0)

    def now(self) -> tuple[float, float]:
        """The share of pairs in the right order by champion and challenger, over all conversations; 0.5 without any."""
        if not self.pairs_of.sum():
            return 0.5, 0.5
        before, after = (float(right.sum() / self.pairs_of.sum()) for right in self.right_of)
        return before, after

    def ranking(self, seed: int) -> Beside:
        """The chance that a fitting row has more weight than another of its cue that does not fit."""
        return self._beside(self.right_of, self.pairs_of, seed)

    def attended(self, seed: int) -> Beside:
        """The mean weight on what fitted."""
        return self._beside(self.held_of, self.mass_of, seed)

    def _right(self, logits: Doubles, of_pair: Whole) -> Doubles:
        ahead = (np.sign(logits[self.first] - logits[self.second]) + 1) / 2  # ties half
        return _summed(of_pair, self.pair * ahead, self.groups)

    def _beside(self, parts: list[Doubles], whole: Doubles, seed: int) -> Beside:
        drawn = draws(self.groups, seed)
        with np.errstate(invalid="ignore", divide="ignore"):
            before, after = ((drawn @ part) / (drawn @ whole) for part in parts)
            champion, challenger = (float(part.sum() / whole.sum()) for part in parts)
        sound = np.isfinite(before) & np.isfinite(after)  # a draw may hold nothing that fitted
        after, difference = after[sound], (after - before)[sound]
        if not len(difference):
            after = difference = np.zeros(1)
        low, high = np.percentile(difference, [2.5, 97.5])
        return Beside(
            champion=champion, challenger=challenger, low=float(low), high=float(high),
            better=float((difference > 0).mean()), challenger_low=float(np.percentile(after, 5)),
            n=int(self.cues.judged.sum()),
        )  # fmt: skip


def _pairs(cues: Cues) -> tuple[Whole, Whole, Doubles]:
    """Rows that fit, rows of the same cue that do not, and how much each of these pairs counts for: a cue counts as
    much as what was said of it, however many pairs that makes."""
    high = cues.weight * cues.value
    low = cues.weight * (1 - cues.value) + np.where(cues.shown, UNSAID, UNSEEN) * ~cues.judged
    first: list[Whole] = []
    second: list[Whole] = []
    weight: list[Doubles] = []
    ends = np.append(cues.starts, len(cues.cue))[1:]
    for start, end in zip(cues.starts.tolist(), ends.tolist(), strict=True):
        ups, downs = start + _above(high[start:end] > 0), start + _above(low[start:end] > 0)
        of_pair = high[ups][:, None] * low[downs][None, :] * (ups[:, None] != downs[None, :])
        first.append(np.repeat(ups, len(downs)))
        second.append(np.tile(downs, len(ups)))
        whole = float(high[start:end].sum() + low[start:end].sum())
        weight.append(of_pair.ravel() / whole)
    none = np.zeros(0, dtype=np.int64)
    return np.concatenate([none, *first]), np.concatenate([none, *second]), np.concatenate([np.zeros(0), *weight])


def _above(flags: Flags) -> Whole:
    return np.flatnonzero(flags)


def _summed(of: Whole, values: Doubles, groups: int) -> Doubles:
    return np.asarray(np.bincount(of, values, groups), dtype=np.float64)
