"""Decay: memories fade with time, and each recall makes them fade more slowly (Hou et al., arXiv 2404.00573)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.engine.bank import DAY
from memory.engine.columns import columns
from memory.engine.retention.policy import RetentionPolicy, check_range
from memory.engine.types import Floats, MemoryItem


@dataclass(frozen=True)
class Decay(RetentionPolicy):
    """Keeps by the probability p = (1 - exp(-r e^(-t/g))) / (1 - e^-1) that a memory would still be recalled.

    t is the time since it was last recalled (or else written) in units of `days`; g is its strength, which begins at
    1 and grows at each recall by (1 - e^-t) / (1 + e^-t) (folded from the ledger); r is its importance, because
    retention knows no cue. The rank is ln p: it orders what p itself rounds to zero.
    """

    kind = "decay"
    days: float = 1.0

    def __post_init__(self) -> None:
        check_range(self, "days", 1e-4, 10_000)

    @property
    def unit(self) -> float:
        return self.days * DAY

    @property
    def by_use(self) -> bool:
        return True

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        of_memories = columns(memories)
        t = np.maximum(0.0, now.timestamp() - of_memories["touched"]) / self.unit
        # ln(1 - exp(-x)) for x = r e^(-t/g): for small x it is ln x, which does not underflow
        log_x = np.log(np.maximum(of_memories["importance"], 1e-9)) - t / of_memories["strength"]
        x = np.exp(np.maximum(log_x, -30.0))
        log_p = np.where(log_x < -30.0, log_x, np.log(-np.expm1(-x))) - np.log(-np.expm1(-1.0))
        return np.asarray(log_p, dtype=np.float32)
