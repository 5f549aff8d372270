"""Latest: of an identifier that several memories show, only the latest showing counts.

Agents pass on what they saw last: of a reservation shown three times the newest message is the one that is needed
again. So a memory is worth the identifiers that no newer memory shows, and a share of its importance.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

import numpy as np

from memory.engine.columns import columns
from memory.engine.features import identifiers
from memory.engine.retention.policy import RetentionPolicy, check_range
from memory.engine.types import Floats, MemoryItem

REMEMBERED = 50_000  # memories whose identifiers stay at hand, as hashes


class _Shown:
    """The identifiers of memories, as numbers: reading a text again at every eviction would cost more than all else."""

    def __init__(self) -> None:
        self._of: OrderedDict[int, tuple[int, ...]] = OrderedDict()
        self._lock = Lock()

    def by(self, memory: MemoryItem) -> tuple[int, ...]:
        with self._lock:
            key = hash(memory.text)
            found = self._of.get(key)
            if found is None:
                found = self._of[key] = tuple(hash(name) for name in identifiers(memory.text))
                if len(self._of) > REMEMBERED:
                    self._of.popitem(last=False)
            return found


_shown = _Shown()


@dataclass(frozen=True)
class Latest(RetentionPolicy):
    """rank = ln(1 + identifiers shown last here) + share x logit(importance) - fade x memories written since."""

    kind = "latest"
    share: float = 0.15
    fade: float = 0.0

    def __post_init__(self) -> None:
        check_range(self, "share", 0, 10)
        check_range(self, "fade", 0, 10)

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        of_memories = columns(memories)
        order = np.argsort(of_memories["written"], kind="stable").tolist()
        last: dict[int, int] = {}
        for place in order:
            last |= dict.fromkeys(_shown.by(memories[place]), place)
        fresh = np.zeros(len(memories))
        for place in last.values():
            fresh[place] += 1
        age = np.empty(len(memories))
        age[order] = np.arange(len(memories))[::-1]
        importance = np.clip(of_memories["importance"], 1e-6, 1 - 1e-6)
        logit = np.log(importance) - np.log1p(-importance)
        return np.asarray(np.log1p(fresh) + self.share * logit - self.fade * age, dtype=np.float32)
