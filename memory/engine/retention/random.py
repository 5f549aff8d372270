"""Random: chance decides, the same each time. The control that shows what a policy's choice is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.engine.columns import columns
from memory.engine.retention.policy import RetentionPolicy, check_range
from memory.engine.types import Floats, MemoryItem


@dataclass(frozen=True)
class Random(RetentionPolicy):
    """Ranks by a mix of seed and memory id: a replay of the same bank loses the same memories."""

    kind = "random"
    seed: int = 0

    def __post_init__(self) -> None:
        check_range(self, "seed", 0, 2**31)

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        # splitmix64: every bit of seed and id stirs every bit of the rank
        mixed = columns(memories)["chance"] ^ np.uint64((self.seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
        return np.asarray(mixed / 2.0**64, dtype=np.float32)
