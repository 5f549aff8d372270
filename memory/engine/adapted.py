"""A bank's vectors in the space of its vector adapter: a second matrix beside the frozen one, which it can be rebuilt
from at any moment, and so is stored nowhere (docs/decisions/0009)."""

from __future__ import annotations

import numpy as np

from memory.engine.types import Floats
from memory.engine.vector_adapter import VectorAdapter


class AdaptedVectors:
    """The rows of a bank's slots by one vector adapter. Nothing is computed before it is asked for."""

    _by: VectorAdapter | None
    _rows: Floats
    _stale: set[int]  # slots that took another memory since

    def __init__(self) -> None:
        self.clear()

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes

    def changed(self, slot: int) -> None:
        """Another memory stands in this slot, or none: what was there is gone at once."""
        if self._by is not None:
            self._stale.add(slot)
            self._rows[slot : slot + 1] = 0.0

    def of(self, by: VectorAdapter, frozen: Floats) -> Floats:
        """The rows (N, E) of all slots whose vectors are `frozen` (N, E); another adapter than before rebuilds them."""
        if not by.is_same(self._by):
            self._by, self._rows = by, by.adapted(frozen)
        elif self._stale or len(self._rows) < len(frozen):
            self._follow(by, frozen)
        self._stale.clear()
        return self._rows[: len(frozen)]

    def _follow(self, by: VectorAdapter, frozen: Floats) -> None:
        before = len(self._rows)
        if before < len(frozen):
            room = max(len(frozen), 2 * before)
            grown = np.zeros((room, frozen.shape[1]), dtype=np.float32)
            grown[:before] = self._rows
            self._rows = grown
        slots = sorted({*self._stale, *range(before, len(frozen))})
        self._rows[slots] = by.adapted(frozen[slots])

    def clear(self) -> None:
        """Hold nothing: the bank's adapter has no vector part any more."""
        self._by, self._rows, self._stale = None, np.zeros((0, 0), dtype=np.float32), set()
