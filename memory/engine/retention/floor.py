"""Floor: what an agent loop cannot do without stays, whatever it is worth by any other measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.engine.columns import columns
from memory.engine.retention.policy import Flags, RetentionPolicy, Wrapper, check_range
from memory.engine.types import MemoryItem


@dataclass(frozen=True)
class Floor(Wrapper):
    """Spares the last `recent` sides that the bank was told, and the first `opening` sides of each session.

    An agent acts on what just happened, and its task and the format it must keep to are stated at the opening. The
    floor is not a pin: when nothing else is left to go, what lies on it leaves by rank.
    """

    inner: RetentionPolicy
    kind = "floor"
    recent: int = 4
    opening: int = 1

    def __post_init__(self) -> None:
        check_range(self, "recent", 0, 10_000)
        check_range(self, "opening", 0, 100)

    def spared(self, memories: Sequence[MemoryItem], now: datetime) -> Flags:
        of_memories = columns(memories)
        opening = np.asarray(of_memories["position"] < self.opening)
        return self.inner.spared(memories, now) | opening | self._recent(memories)

    def _recent(self, memories: Sequence[MemoryItem]) -> Flags:
        """Memories of the last sides; a long side counts once, however many pieces it has."""
        of_memories = columns(memories)
        out = np.zeros(len(memories), dtype=np.bool_)
        sides: set[tuple[int, int]] = set()
        for i in np.argsort(of_memories["written"], kind="stable")[::-1]:
            sides.add((int(of_memories["turn"][i]), int(of_memories["position"][i])))
            if len(sides) > self.recent:
                break
            out[i] = True
        return out
