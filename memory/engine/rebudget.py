"""What another policy, budget or adapter would do to a bank: one plan, which a dry run shows and a real run follows.

Pure: it changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.engine.bank import Kind
from memory.engine.retention import RetentionPolicy, choose_evictions, leaving_order
from memory.engine.types import Budget, MemoryItem

LOWEST = 5  # of what stays, for a person to see what comes next

Step = tuple[Kind, UUID, dict[str, Any]]


@dataclass(frozen=True)
class Ranked:
    """A memory as it stands after the change: with its new importance, and the policy's rank of it."""

    item: MemoryItem
    score: float
    over: str = ""  # for what leaves: the budget, "memories" or "tokens", that it exceeds
    instead: UUID | None = None  # the lowest-ranked memory that stays


@dataclass(frozen=True)
class ChangePlan:
    """What a change does: `rescored` gives new importances, `leaving` go in this order, `lowest` would go next."""

    policy: str
    adapter: str
    limit: Budget
    rescored: Mapping[UUID, float]
    leaving: tuple[Ranked, ...]
    lowest: tuple[Ranked, ...]
    stays: int
    stays_tokens: int

    @property
    def freed_tokens(self) -> int:
        return sum(gone.item.tokens for gone in self.leaving)

    @property
    def digest(self) -> str:
        """Equal for plans that do the same."""
        return hashlib.sha256(
            repr([(kind.value, memory.hex, data) for kind, memory, data in self.steps()]).encode()
        ).hexdigest()

    def steps(self) -> list[Step]:
        """What the ledger says of it, in order, after the new configuration: kind, memory and data of each event."""
        scored: list[Step] = [
            (Kind.RESCORED, memory, {"importance": importance, "adapter": self.adapter})
            for memory, importance in self.rescored.items()
        ]
        return scored + [
            (
                Kind.EVICTED, gone.item.id,
                {
                    "reason": "budget", "policy": self.policy, "adapter": self.adapter, "score": round(gone.score, 6),
                    "over": gone.over, "instead": str(gone.instead) if gone.instead else None,
                    "budget": [self.limit.memories, self.limit.tokens],
                },
            )
            for gone in self.leaving
        ]  # fmt: skip


def plan_change(
    held: Sequence[MemoryItem], limit: Budget, policy: RetentionPolicy, now: datetime, *, adapter: str,
    scores: Mapping[UUID, float],
) -> ChangePlan:  # fmt: skip
    """Plan how `held` come under `limit` by `policy` as seen at `now`, after those in `scores` got these importances.

    The plan is the same in whatever order `held` come. Raises `BankError` when the pinned memories alone do not fit.
    """
    held = sorted(held, key=lambda item: (item.written, item.id))
    items = [replace(item, importance=scores[item.id]) if item.id in scores else item for item in held]
    by_id = {item.id: item for item in items}
    leaving = tuple(
        Ranked(by_id[gone.memory], gone.score, gone.over, gone.instead)
        for gone in choose_evictions(items, limit, policy, now)
    )
    out = {gone.item.id for gone in leaving}
    staying = [item for item in items if item.id not in out]
    next_to_leave = [(item, score) for item, score in leaving_order(staying, policy, now) if not item.pinned]
    return ChangePlan(
        policy.name, adapter, limit, {item.id: scores[item.id] for item in items if item.id in scores}, leaving,
        tuple(Ranked(item, score) for item, score in next_to_leave[:LOWEST]), len(staying),
        sum(item.tokens for item in staying),
    )  # fmt: skip
