"""Chains: a question and its answer, a tool call and its result leave or stay together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.engine.columns import columns
from memory.engine.retention.policy import Flags, RetentionPolicy, Wrapper
from memory.engine.types import Floats, MemoryItem


@dataclass(frozen=True)
class Chains(Wrapper):
    """Ties the memories of one turn: they share the rank of the best, and when one leaves the others leave with it.

    One that must stay (pinned, or on the floor) keeps the rest of its turn for as long as anything else can leave.
    """

    inner: RetentionPolicy
    kind = "chains"

    @property
    def whole_turns(self) -> bool:
        return True

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        ranks = self.inner.rank(memories, now)
        turn, size = _turns(memories)
        best = np.full(size, -np.inf, dtype=np.float32)
        np.maximum.at(best, turn, ranks)
        return np.asarray(best[turn], dtype=np.float32)

    def spared(self, memories: Sequence[MemoryItem], now: datetime) -> Flags:
        turn, size = _turns(memories)
        any_spared = np.zeros(size, dtype=np.bool_)
        np.logical_or.at(any_spared, turn, self.inner.spared(memories, now) | columns(memories)["pinned"])
        return np.asarray(any_spared[turn])

    def refused(self, memories: Sequence[MemoryItem]) -> Flags:
        """A turn is turned away only as a whole."""
        turn, size = _turns(memories)
        all_refused = np.ones(size, dtype=np.bool_)
        np.logical_and.at(all_refused, turn, self.inner.refused(memories))
        return np.asarray(all_refused[turn])


def _turns(memories: Sequence[MemoryItem]) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], int]:
    """The turn of each memory, (N,), numbered from 0, and how many turns there are."""
    turns, numbered = np.unique(columns(memories)["turn"], return_inverse=True)
    return numbered, len(turns)
