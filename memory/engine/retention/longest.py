"""Longest: what says most in tokens stays. A baseline, and a hard one to beat in talk between two people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.engine.columns import columns
from memory.engine.retention.policy import RetentionPolicy
from memory.engine.types import Floats, MemoryItem


@dataclass(frozen=True)
class Longest(RetentionPolicy):
    """Keeps the longest memories; it knows nothing of what they say."""

    kind = "longest"

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        return columns(memories)["tokens"].astype(np.float32)
