"""Which memories are worth a person's judgement: those the adapter is unsure of, those about to leave, some at random.

The random ones alone are a fair sample; figures that are reported stand on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

UNCERTAIN, LEAVING, RANDOM = "uncertain", "leaving", "random"


@dataclass(frozen=True)
class Choice:
    """One memory to be judged, by its place among the N that could be, and why it was chosen."""

    index: int
    why: str  # UNCERTAIN, LEAVING or RANDOM


def chosen(
    logit_mean: npt.ArrayLike, logit_variance: npt.ArrayLike, eviction_rank: npt.ArrayLike, count: int,
    shares: Mapping[str, float], random: np.random.Generator,
) -> list[Choice]:  # fmt: skip
    """Choose up to `count` of N memories, each once, in a random order so that a queue left half way is fair to all.

    `logit_mean` and `logit_variance` (N,) are the importance head's belief of each; `eviction_rank` (N,) how many
    places each is from the line where memories leave its bank (0 the next to leave; what has just left is negative; nan
    where nothing leaves); `shares` how much of the count each reason gets (they need not sum to 1; a missing one is 0).
    The random part is drawn first, from all, so that it stays a fair sample. Without shares all are random.
    """
    mean = np.asarray(logit_mean, dtype=np.float64)
    count = min(count, len(mean))
    parts = _parts(shares, count)
    out = [Choice(int(index), RANDOM) for index in random.permutation(len(mean))[: parts[RANDOM]]]
    taken = np.zeros(len(mean), dtype=bool)
    taken[[choice.index for choice in out]] = True
    away = np.abs(np.asarray(eviction_rank, dtype=np.float64))
    orders = {UNCERTAIN: -said_by_a_label(mean, logit_variance), LEAVING: np.where(np.isnan(away), np.inf, away)}
    for why, order in orders.items():
        for index in _first(order, taken, parts[why], random):
            taken[index] = True
            out.append(Choice(index, why))
    rest = random.permutation(np.flatnonzero(~taken))[: count - len(out)]
    out += [Choice(int(index), RANDOM) for index in rest]  # where too few are near to leaving
    return [out[at] for at in random.permutation(len(out))]


def said_by_a_label(logit_mean: npt.ArrayLike, logit_variance: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """What one label would say of the weights, in nats, (N,): half of ln(1 + p (1 - p) variance) (MacKay 1992)."""
    p = 0.5 * (1.0 + np.tanh(0.5 * np.asarray(logit_mean, dtype=np.float64)))
    return np.asarray(0.5 * np.log1p(p * (1.0 - p) * np.asarray(logit_variance, dtype=np.float64)))


def _parts(shares: Mapping[str, float], count: int) -> dict[str, int]:
    """The count of each reason; what rounding leaves over is random."""
    given = {why: max(0.0, shares.get(why, 0.0)) for why in (UNCERTAIN, LEAVING, RANDOM)}
    total = sum(given.values())
    parts = {why: int(count * share / total) if total else 0 for why, share in given.items()}
    parts[RANDOM] += count - sum(parts.values())
    return parts


def _first(
    order: npt.NDArray[np.float64], taken: npt.NDArray[np.bool_], count: int, random: np.random.Generator
) -> list[int]:
    """The first `count` that are not taken yet, the equal ones in a random order; never one at infinity."""
    mixed = random.permutation(len(order))
    ranked = mixed[np.argsort(order[mixed], kind="stable")]
    free = ranked[~taken[ranked] & np.isfinite(order[ranked])]
    return [int(index) for index in free[:count]]
