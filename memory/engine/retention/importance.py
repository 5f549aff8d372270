"""Importance: what the adapter judged worth least when it was written leaves first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.engine.columns import columns
from memory.engine.retention.policy import RetentionPolicy
from memory.engine.types import Floats, MemoryItem


@dataclass(frozen=True)
class Importance(RetentionPolicy):
    """Keeps by the importance head's score; older first among equals."""

    kind = "importance"
    per_token = True

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        return columns(memories)["importance"].astype(np.float32)
