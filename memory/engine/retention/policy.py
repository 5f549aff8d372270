"""The interface of a retention policy."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memory.engine.types import Floats, MemoryItem


class RetentionPolicy(Protocol):
    """Says which memories leave first. Lower leaves first."""

    @property
    def name(self) -> str: ...

    @property
    def per_token(self) -> bool:
        """Whether a token budget divides the rank by tokens^0.5: true where ranks are values, not orders."""
        ...

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        """Rank (N,) memories as seen at `now`."""
        ...
