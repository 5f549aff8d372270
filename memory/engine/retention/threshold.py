"""Threshold: a write gate. What is worth too little is not kept even while there is room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.engine.columns import columns
from memory.engine.retention.policy import Flags, RetentionPolicy, check_range
from memory.engine.types import Floats, MemoryItem


@dataclass(frozen=True)
class Threshold(RetentionPolicy):
    """Ranks by importance; a memory `below` it goes to the archive in the turn that wrote it.

    The gate is at the door alone: what is in the bank, or was restored by a person, leaves for room only.
    """

    kind = "threshold"
    per_token = True
    below: float = 0.05

    def __post_init__(self) -> None:
        check_range(self, "below", 0, 1)

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        return columns(memories)["importance"].astype(np.float32)

    def refused(self, memories: Sequence[MemoryItem]) -> Flags:
        return np.asarray(columns(memories)["importance"] < self.below)
