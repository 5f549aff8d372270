"""Streaming statistics of write-time features, by role: what the importance head standardises with.

Sums are whole numbers, so that what an erasure takes out again leaves no trace, not even a rounding error, and a
replay of the ledger ends in the very same state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.engine.types import Floats, Role

STEP = 0.001  # features are kept in thousandths
ROLES: tuple[Role, ...] = tuple(Role)

Whole = npt.NDArray[np.int64]


def quantised(values: Floats) -> tuple[int, ...]:
    """Features (F,) as whole thousandths: what a ledger event holds."""
    return tuple(np.rint(np.asarray(values, dtype=np.float64) / STEP).astype(int).tolist())


@dataclass
class _Sums:
    count: int
    total: Whole
    squares: Whole


class RoleStatistics:
    """Count, sum and sum of squares of each feature of each role that was ever written to a bank."""

    def __init__(self) -> None:
        self._of: dict[Role, _Sums] = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RoleStatistics):
            return False
        return self._plain() == other._plain()

    __hash__ = None  # type: ignore[assignment]

    def add(self, role: Role, features: Sequence[int], sign: int = 1) -> None:
        """Count one memory's `quantised` features in, or with `sign` -1 out again."""
        values = np.array(features, dtype=np.int64)
        sums = self._of.get(role)
        if sums is None:
            zero = np.zeros(len(values), dtype=np.int64)
            sums = self._of[role] = _Sums(0, zero, zero.copy())
        elif len(sums.total) < len(values):  # features are only ever appended
            more = (0, len(values) - len(sums.total))
            sums.total, sums.squares = np.pad(sums.total, more), np.pad(sums.squares, more)
        sums.count += sign
        sums.total[: len(values)] += sign * values
        sums.squares[: len(values)] += sign * values * values

    def count(self, role: Role) -> int:
        """How many memories of that role were written."""
        return self._of[role].count if role in self._of else 0

    def share(self, role: Role) -> float:
        """The role's share of all that was written, 0 for an empty bank."""
        written = sum(sums.count for sums in self._of.values())
        return self.count(role) / written if written else 0.0

    def moments(self, role: Role, mean: Floats, deviation: Floats, strength: float) -> tuple[Floats, Floats]:
        """Mean and deviation (F,) of a role's features, with `strength` memories of the given mean and deviation
        counted in beforehand (the posterior mean of a normal with known pseudo-counts)."""
        sums = self._of.get(role)
        if sums is None or sums.count <= 0:
            return mean, deviation
        size = len(mean)
        total = _fitted(sums.total, size) * STEP
        squares = _fitted(sums.squares, size) * STEP * STEP
        n = sums.count + strength
        average = (strength * mean + total) / n
        second = (strength * (deviation.astype(np.float64) ** 2 + mean.astype(np.float64) ** 2) + squares) / n
        spread = np.sqrt(np.maximum(second - average**2, 1e-6))
        return average.astype(np.float32), spread.astype(np.float32)

    def _plain(self) -> dict[Role, tuple[int, tuple[int, ...], tuple[int, ...]]]:
        return {
            role: (sums.count, _trimmed(sums.total), _trimmed(sums.squares))
            for role, sums in self._of.items()
            if sums.count
        }


def _trimmed(values: Whole) -> tuple[int, ...]:
    """Without the zeros at the end: a feature that only an erased memory had leaves no trace."""
    return tuple(np.trim_zeros(values, "b").tolist())


def _fitted(values: Whole, size: int) -> npt.NDArray[np.float64]:
    """The first `size` sums; features that came later than the sums count as 0."""
    out = np.zeros(size, dtype=np.float64)
    out[: len(values)] = values[:size]
    return out
