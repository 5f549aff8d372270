"""Least frequently used: what was recalled least often leaves first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.engine.columns import columns
from memory.engine.retention.policy import RetentionPolicy
from memory.engine.types import Floats, MemoryItem


@dataclass(frozen=True)
class Lfu(RetentionPolicy):
    """Keeps what is recalled often; older first among equals."""

    kind = "lfu"

    @property
    def by_use(self) -> bool:
        return True

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        return columns(memories)["recalls"].astype(np.float32)
