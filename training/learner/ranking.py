"""How well scores rank judgements, and how sure that is: whole conversations are drawn again, not single judgements.

A judgement of value v counts v times as one that a memory was needed and 1 - v times as one that it was not, so that a
rating of 2 of 4 says less than one of 4. A comparison is right when the better side scores higher.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from training.learner.dataset import Dataset, Doubles, Whole

DRAWS = 2000
CHANCE = 0.5  # of pairs that are ranked by a coin
KEPT = 0.2  # of the judged sides
MOST_GROUPS = 400  # beyond so many, conversations are drawn in bundles


@dataclass(frozen=True)
class Beside:
    """One figure of champion and challenger on the same held-out conversations."""

    champion: float
    challenger: float
    low: float  # 95 % interval of the difference
    high: float
    better: float  # share of the draws in which the challenger is ahead
    challenger_low: float  # the 5th percentile of the challenger's own figure
    n: int  # judgements


class Ranked:
    """Judgements of one kind under two sets of scores, ready to be drawn again by conversation."""

    def __init__(self, data: Dataset, champion: Doubles, challenger: Doubles) -> None:
        """Rows that rate and rows that compare; scores (N,) of all rows."""
        self.data = data
        groups, place = np.unique(data.group, return_inverse=True)
        self.groups, place = min(len(groups), MOST_GROUPS), place % MOST_GROUPS
        self.champion = _Table(data, champion, place, self.groups)
        self.challenger = _Table(data, challenger, place, self.groups)

    def now(self) -> tuple[float, float]:
        """The share of pairs in the right order by champion and challenger, over all conversations; 0.5 without any."""
        whole = np.ones((1, self.groups))
        before, after = (float(table.right(whole)[0]) for table in (self.champion, self.challenger))
        return (before, after) if np.isfinite(before) and np.isfinite(after) else (0.5, 0.5)

    def ranking(self, seed: int) -> Beside:
        """The share of pairs in the right order: a needed side above one that was not, the better above the worse."""
        return self._beside(lambda table, drawn: table.right(drawn), seed)

    def pairs(self, seed: int) -> Beside | None:
        """The share of comparisons in the right order; None without any."""
        if not self.data.compared.any():
            return None
        return self._beside(lambda table, drawn: table.right_pairs(drawn), seed, int(self.data.compared.sum()))

    def kept(self, seed: int) -> Beside:
        """The share of what was needed among the best fifth of the judged sides."""
        return self._beside(lambda table, drawn: table.kept(drawn), seed, int(self.data.rated.sum()))

    def _beside(self, figure: Callable[[_Table, Doubles], Doubles], seed: int, n: int | None = None) -> Beside:
        whole = np.ones((1, self.groups))
        drawn = draws(self.groups, seed)
        before, after = figure(self.champion, drawn), figure(self.challenger, drawn)
        sound = np.isfinite(before) & np.isfinite(after)  # a draw may hold nothing that was needed
        before, after = before[sound], after[sound]
        nothing = np.zeros(1)
        difference = after - before if len(after) else nothing
        low, high = np.percentile(difference, [2.5, 97.5])
        return Beside(
            champion=float(figure(self.champion, whole)[0]),
            challenger=float(figure(self.challenger, whole)[0]),
            low=float(low), high=float(high),
            better=float((difference > 0).mean()),
            challenger_low=float(np.percentile(after if len(after) else nothing, 5)),
            n=int((self.data.weight > 0).sum()) if n is None else n,
        )  # fmt: skip


def draws(groups: int, seed: int) -> Doubles:
    """How often each of the conversations stands in each draw, (DRAWS, groups)."""
    random = np.random.default_rng(seed)
    return np.asarray(random.multinomial(groups, np.full(groups, 1.0 / groups), size=DRAWS), dtype=np.float64)


class _Table:
    """What a set of scores gets right, by pair of conversations: a draw is then a product of small matrices."""

    def __init__(self, data: Dataset, scores: Doubles, place: Whole, groups: int) -> None:
        rated = data.rated
        self.scores, self.place, self.groups = scores[rated], place[rated], groups
        weight, value = data.weight[rated], data.value[rated]
        self.high, self.low = weight * value, weight * (1 - value)
        self.above = self._above()
        self.highs = np.bincount(self.place, self.high, groups)
        self.lows = np.bincount(self.place, self.low, groups)
        # a rating beside itself, drawn twice or not, is no pair
        self.own = np.bincount(self.place, self.high * self.low, groups)
        self._compare(data, scores, place)

    def _compare(self, data: Dataset, scores: Doubles, place: Whole) -> None:
        rows = np.flatnonzero(data.compared)
        ahead = np.sign(scores[rows] - scores[data.other[rows]])
        self.right_weight = np.bincount(place[rows], data.weight[rows] * (ahead + 1) / 2, self.groups)
        self.pair_weight = np.bincount(place[rows], data.weight[rows], self.groups)

    def _above(self) -> Doubles:
        """(G, G): weight of pairs of a high in one and a low in another conversation that are in the right order."""
        out = np.zeros((self.groups, self.groups))
        if not len(self.scores):
            return out
        order = np.argsort(self.scores, kind="stable")
        sorted_scores = self.scores[order]
        first = np.searchsorted(sorted_scores, sorted_scores, side="left")
        last = np.searchsorted(sorted_scores, sorted_scores, side="right")
        high, of = self.high[order], self.place[order]
        for group in range(self.groups):
            low = np.where(of == group, self.low[order], 0.0)
            below = np.concatenate([[0.0], np.cumsum(low)])
            beaten = (below[first] + below[last]) / 2  # ties half
            out[:, group] = np.bincount(of, high * beaten, self.groups)
        return out

    def right(self, drawn: Doubles) -> Doubles:
        """(D,): ranking of ratings and of comparisons, by their weight."""
        ratings, pairs = self.right_ratings(drawn), self.right_pairs(drawn)
        rating_weight = drawn @ (self.highs + self.lows)
        pair_weight = drawn @ self.pair_weight
        rating_weight = np.where(np.isfinite(ratings), rating_weight, 0.0)
        pair_weight = np.where(np.isfinite(pairs), pair_weight, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            total = np.nan_to_num(ratings) * rating_weight + np.nan_to_num(pairs) * pair_weight
            return np.asarray(total / (rating_weight + pair_weight))

    def right_ratings(self, drawn: Doubles) -> Doubles:
        """(D,): the chance that a needed side scores above one that was not; nan where a draw lacks either."""
        right = np.einsum("dg,dg->d", drawn @ self.above, drawn) - drawn**2 @ (self.own / 2)
        pairs = (drawn @ self.highs) * (drawn @ self.lows) - drawn**2 @ self.own
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(pairs > 1e-12, right / pairs, np.nan))

    def right_pairs(self, drawn: Doubles) -> Doubles:
        """(D,): the share of comparisons in the right order."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((drawn @ self.right_weight) / (drawn @ self.pair_weight))

    def kept(self, drawn: Doubles) -> Doubles:
        """(D,): the share of what was needed among the best fifth, by weight; ties are cut through evenly."""
        order = np.argsort(-self.scores, kind="stable")
        of, weight, high = self.place[order], (self.high + self.low)[order], self.high[order]
        out = np.empty(len(drawn))
        for at in range(0, len(drawn), 64):  # so many draws at once, for memory's sake
            times = drawn[at : at + 64][:, of]
            mass = np.cumsum(times * weight, axis=1)
            room = KEPT * mass[:, -1:]
            before = mass - times * weight
            with np.errstate(invalid="ignore", divide="ignore"):
                share = np.clip((room - before) / (times * weight), 0.0, 1.0)
                share = np.where(times * weight > 0, share, 0.0)
                out[at : at + 64] = (share * times * high).sum(axis=1) / (times * high).sum(axis=1)
        return out
