"""Least recently used: what was neither recalled nor written for longest leaves first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.engine.columns import columns
from memory.engine.retention.policy import RetentionPolicy
from memory.engine.types import Floats, MemoryItem


@dataclass(frozen=True)
class Lru(RetentionPolicy):
    """Keeps what was recalled last or, if it never was, written last; the rank is minus the seconds since."""

    kind = "lru"

    @property
    def by_use(self) -> bool:
        return True

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        # seconds since 1970 would not fit 32 bits; those up to now do, the finer the more recent
        return (columns(memories)["touched"] - now.timestamp()).astype(np.float32)
