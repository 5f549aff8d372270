"""First in, first out: the oldest written leaves first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.engine.columns import columns
from memory.engine.retention.policy import RetentionPolicy
from memory.engine.types import Floats, MemoryItem


@dataclass(frozen=True)
class Fifo(RetentionPolicy):
    """Forgets by age alone: the baseline that every policy has to beat."""

    kind = "fifo"

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        return columns(memories)["written"].astype(np.float32)
