"""How far judges agree: Krippendorff's alpha, 1 for full agreement, 0 for none beyond chance (Krippendorff 2011).

It takes any number of judges, any of whom may have left units out, and measures disagreement by the kind of scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Scale = Literal["nominal", "ordinal", "interval"]
Doubles = npt.NDArray[np.float64]


def alpha(units: Iterable[Sequence[float]], scale: Scale) -> float | None:
    """Alpha of `units`, each the values that it was given by its judges; units with one value say nothing.

    None where nothing was judged twice, or where all values are the same, so that chance is not defined.
    """
    judged = [list(unit) for unit in units if len(unit) > 1]
    values = sorted({value for unit in judged for value in unit})
    if len(values) < 2:
        return None
    met = coincidences(judged, values)
    often = met.sum(axis=1)  # how often each value stands in a pair
    apart = _DISTANCES[scale](np.array(values, dtype=np.float64), often)
    expected = float((np.outer(often, often) * apart).sum()) / (float(often.sum()) - 1)
    return 1.0 - float((met * apart).sum()) / expected


def coincidences(units: Sequence[Sequence[float]], values: Sequence[float]) -> Doubles:
    """How often two judges of one unit gave each pair of `values`, (V, V); a unit of m judges counts m in all."""
    place = {value: at for at, value in enumerate(values)}
    met = np.zeros((len(values), len(values)))
    for unit in units:
        counts = np.bincount([place[value] for value in unit], minlength=len(values)).astype(np.float64)
        met += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    return met


def _nominal(values: Doubles, often: Doubles) -> Doubles:
    return np.asarray(1.0 - np.eye(len(values)))


def _interval(values: Doubles, often: Doubles) -> Doubles:
    return np.asarray((values[:, None] - values[None, :]) ** 2)


def _ordinal(values: Doubles, often: Doubles) -> Doubles:
    """The square of how many values lie from the one to the other, the two ends half."""
    upto = np.cumsum(often) - often / 2
    return np.asarray((upto[:, None] - upto[None, :]) ** 2)


_DISTANCES: dict[Scale, Callable[[Doubles, Doubles], Doubles]] = {
    "nominal": _nominal, "ordinal": _ordinal, "interval": _interval,
}  # fmt: skip
