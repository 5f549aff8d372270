"""First in, first out: the oldest written leaves first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from memory.engine.columns import columns
from memory.engine.types import Floats, MemoryItem


class Fifo:
    """Forgets by age alone: the baseline that every policy has to beat."""

    name = "fifo"
    per_token = False

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        return columns(memories)["written"].astype(np.float32)
