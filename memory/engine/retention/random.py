"""Random: chance decides, the same each time. The control that shows what a policy's choice is worth."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.engine.retention.policy import RetentionPolicy, check_range
from memory.engine.types import Floats, MemoryItem


@dataclass(frozen=True)
class Random(RetentionPolicy):
    """Ranks by a hash of seed and memory id: a replay of the same bank loses the same memories."""

    kind = "random"
    seed: int = 0

    def __post_init__(self) -> None:
        check_range(self, "seed", 0, 2**31)

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        key = self.seed.to_bytes(8, "big")
        hashed = (hashlib.blake2b(memory.id.bytes, digest_size=8, key=key).digest() for memory in memories)
        return np.array([int.from_bytes(each, "big") / 2**64 for each in hashed], dtype=np.float32)
