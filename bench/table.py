"""The long table in which every bench reports, and the intervals of its figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Statistic = Callable[[Numbers], Numbers]  # over the last axis

DRAWS = 2_000


@dataclass(frozen=True)
class Row:
    """One figure. What does not apply to a bench stays empty."""

    metric: str
    value: float
    data: str = ""
    adapter: str = ""
    method: str = "agora"
    level: str = ""
    unit: str = ""
    budget: float | None = None
    category: str = "all"
    low: float | None = None  # of the 95 % bootstrap interval
    high: float | None = None
    n: int = 0  # how many measurements or questions the value stands on
    size: int | None = None


def median(values: Numbers) -> Numbers:
    """The middle of the last axis."""
    return np.asarray(np.median(values, axis=-1))


def p95(values: Numbers) -> Numbers:
    """The 95th percentile of the last axis."""
    return np.asarray(np.percentile(values, 95, axis=-1))


def interval(values: Sequence[float], statistic: Statistic, seed: int = 0) -> tuple[float, float]:
    """The 95 % bootstrap interval of a statistic over independent measurements."""
    data = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(data), size=(DRAWS, len(data)))
    low, high = np.percentile(statistic(data[drawn]), [2.5, 97.5])
    return float(low), float(high)


def figure(metric: str, values: Sequence[float], statistic: Statistic, **about: object) -> Row:
    """One row: the statistic of `values` with its interval."""
    low, high = interval(values, statistic)
    value = float(statistic(np.asarray(values, dtype=np.float64)))
    return Row(metric, round(value, 4), low=round(low, 4), high=round(high, 4), n=len(values), **about)  # type: ignore[arg-type]


def clustered(values: Sequence[float], groups: Sequence[str], seed: int = 0) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean when whole groups (conversations) are drawn, not single values."""
    names, of = np.unique(np.asarray(groups), return_inverse=True)
    sums = np.bincount(of, weights=np.asarray(values, dtype=np.float64))
    counts = np.bincount(of)
    drawn = np.random.default_rng(seed).integers(0, len(names), size=(DRAWS, len(names)))
    low, high = np.percentile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), [2.5, 97.5])
    return float(low), float(high)


def mean_of(metric: str, values: Sequence[float], groups: Sequence[str], **about: object) -> Row:
    """One row: the mean of `values`, with its interval over groups."""
    low, high = clustered(values, groups)
    value = float(np.mean(np.asarray(values, dtype=np.float64)))
    return Row(metric, round(value, 4), low=round(low, 4), high=round(high, 4), n=len(values), **about)  # type: ignore[arg-type]


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write the rows as one JSON document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rows": [asdict(row) for row in rows]}, indent=1) + "\n")
