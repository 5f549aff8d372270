"""Bringing a bank back under its whole budget after memories came back or settings changed. Nothing is merged here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from memory.engine.bank import Kind, as_marked
from memory.engine.retention import Eviction, RetentionPolicy, choose_evictions, policy_named
from memory.engine.types import Budget
from memory.hot_banks import memory_item
from memory.models import Memory
from memory.services.ledger import LedgerWriter


def evict_to_budget(
    writer: LedgerWriter, back: Sequence[Memory], now: datetime, *, spare: Collection[UUID] = (),
    budget: Budget | None = None, policy: str = "",
) -> None:  # fmt: skip
    """Evict what no longer fits the whole budget, after memories came `back` (of which `spare` stay), or a new one."""
    state = writer.hot.state
    budget, ranking = budget or state.budget, policy_named(policy or state.policy)
    left = writer.left()
    held = [item for item in writer.hot if item.id not in left]
    returned = [replace(as_marked(memory_item(row), state.marks[row.pk]), pinned=row.pk in spare) for row in back]
    leave_for_room(writer, choose_evictions([*held, *returned], budget, ranking, now), ranking, budget, now)


def leave_for_room(
    writer: LedgerWriter, leaving: Iterable[Eviction], policy: RetentionPolicy, budget: Budget, now: datetime
) -> None:
    """Send to the archive what was chosen to leave, with what explains it."""
    for eviction in leaving:
        writer.add(
            Kind.EVICTED, eviction.memory, now, reason="budget", policy=policy.name,
            adapter=writer.hot.state.marks[eviction.memory].adapter, score=round(eviction.score, 6),
            over=eviction.over, instead=str(eviction.instead) if eviction.instead else None,
            budget=[budget.memories, budget.tokens],
        )  # fmt: skip


def evict_for(writer: LedgerWriter, memory: UUID, reason: str, now: datetime) -> None:
    """Send one memory to the archive, or mark one that is there, for a `reason` that is not the budget."""
    budget, mark = writer.hot.state.budget, writer.hot.state.marks[memory]
    writer.add(
        Kind.EVICTED, memory, now, reason=reason, policy="", adapter=mark.adapter, score=mark.importance,
        over="", instead=None, budget=[budget.memories, budget.tokens],
    )  # fmt: skip
