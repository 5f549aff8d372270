"""How the features of what a head learned from were distributed, as aggregate numbers, and how far others have moved.

Values are in the ledger's whole thousandths. Bins are the tenths of what was learned from; the least value has a bin of
its own where a share of the memories holds it, so that "none" and "some" are told apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from memory.engine import features
from memory.engine.statistics import STEP
from memory.engine.types import Floats

LEAST = 20  # memories: of fewer nothing is told, then or now
MOVED, FAR = 0.1, 0.25  # of the index, by the rule of thumb
FLOOR = 1e-4  # the least share of a bin: an empty one would make the index infinite
ALONE = 0.02  # share of the memories that gives the least value a bin of its own

Whole = npt.NDArray[np.int64]


def described(raw: Floats) -> dict[str, Any]:
    """N memories' features (N, F), in the order of `features.NAMES`, as numbers of all together; {} for few."""
    if len(raw) < LEAST:
        return {}
    whole = np.rint(np.asarray(raw, dtype=np.float64) / STEP).astype(np.int64)
    return {
        "memories": len(whole),
        "features": {name: _of_one(whole[:, place]) for place, name in enumerate(features.NAMES)},
    }


def _of_one(values: Whole) -> dict[str, Any]:
    edges = edges_of(values)
    counts = counts_in(edges, values)
    return {
        "edges": edges, "counts": counts, "alone": counts[0] == int((values == values.min()).sum()),
        "mean": round(float(values.mean()) * STEP, 4), "deviation": round(float(values.std()) * STEP, 4),
    }  # fmt: skip


def edges_of(values: Whole) -> list[int]:
    """Where the bins above the first begin, rising: the inner tenths, each once, and the least value's successor.

    Of values that are all alike it is the next thousandth: whatever becomes larger since is seen.
    """
    least = int(values.min())
    above = values[values > least]
    if not len(above):
        return [least + 1]
    tenths = np.quantile(values, np.arange(1, 10) / 10, method="inverted_cdf").tolist()
    alone = [int(above.min())] if np.mean(values == least) >= ALONE else []
    return sorted({*alone, *(int(one) for one in tenths if one > least)}) or [int(above.min())]


def counts_in(edges: Sequence[int], values: Whole) -> list[int]:
    """How many values lie below the first edge, from each edge to the next, and from the last one on."""
    bins = np.searchsorted(np.asarray(edges), values, side="right")
    return [int(count) for count in np.bincount(bins, minlength=len(edges) + 1)]


def stability_index(then: Sequence[int], now: Sequence[int]) -> float:
    """The population stability index of two rows of counts in the same bins: sum of (p - q) ln(p / q).

    Siddiqi, Credit Risk Scorecards (2006), who calls less than 0.1 no change, and more than 0.25 a shift.
    """
    p, q = (np.maximum(np.asarray(one, dtype=np.float64) / sum(one), FLOOR) for one in (now, then))
    return float(((p - q) * np.log(p / q)).sum())


def by_chance(then: int, now: int, bins: int) -> float:
    """What the index of two samples of one distribution stays below 19 times of 20.

    It is about (1/n + 1/m) times a chi-square of bins - 1 degrees (Yurdakul and Naranjo 2020), whose quantile is
    taken from Wilson and Hilferty (1931). Memories of one conversation are alike: their chance is larger than that.
    """
    free = max(1, bins - 1)
    spread = 2 / (9 * free)
    return (1 / then + 1 / now) * free * (1 - spread + 1.645 * math.sqrt(spread)) ** 3


def without_distributions(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest that tells no numbers of memories any more: something among them was erased."""
    return {name: value for name, value in manifest.items() if name != "distributions"}
