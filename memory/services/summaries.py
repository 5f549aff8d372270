"""Summaries of old stretches: what has left a bank of one session comes back as one short memory, under the budget.

A summary stands for its parts as a merged memory does (docs/decisions/0008, 0016): it goes when one of them goes, and
the next run makes another without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

import numpy as np
from django.db.models import Count
from django.utils import timezone

from memory.engine.bank import BankEvent, Kind
from memory.engine.lexical import terms
from memory.engine.remember import Write, WritingPlan
from memory.engine.retention import Eviction, RetentionPolicy, choose_evictions, policy_named
from memory.engine.statistics import STEP
from memory.engine.summaries import KIND, LEAST, Summary, can_sum_up, new_item, new_side, summary_of
from memory.engine.types import Floats, MemoryItem, NewSide, State
from memory.hot_banks import memory_item
from memory.models import Memory
from memory.services.evictions import leave_for_room
from memory.services.jobs import enqueue, handles
from memory.services.ledger import LedgerWriter, writing
from memory.tenancy import acting_as

JOB = "memory.summarise"
OLD = timedelta(days=1)  # since the last word of a session, before it is summed up
MOST = 20  # summaries of one bank a time
REASONS = ("budget", "threshold")  # why a part left: nobody took it back


def ask_for_all(now: datetime) -> int:
    """Give each bank from which enough of an old session has left its job. Found as the sweeping role."""
    left = Memory.objects.using("worker").filter(
        state=State.ARCHIVED, archive_reason__in=REASONS, kind="side", at__lt=now - OLD
    )
    found = left.values("bank", "owner", "place_conversation", "session").annotate(n=Count("pk")).filter(n__gte=LEAST)
    banks = {(row["bank"], row["owner"]) for row in found}
    for bank, owner in banks:
        with acting_as(owner):
            enqueue(JOB, str(bank), owner_id=owner)
    return len(banks)


@handles(JOB)
def summarise_bank(key: str) -> None:
    """Sum up what has left one bank, as its owner."""
    summarise(UUID(key), now=timezone.now())


def summarise(bank_id: UUID, *, now: datetime) -> list[UUID]:
    """Write a summary for each old stretch that has none, if the policy would keep it; returns the new memories."""
    with writing(bank_id) as writer:
        planned: list[tuple[Summary, NewSide, MemoryItem]] = []
        for stretch, vectors in _stretches(writer, now):
            summary = summary_of(stretch, vectors)
            if summary is not None and len(planned) < MOST:
                place = {item.id: row for row, item in enumerate(stretch)}
                own = vectors[[place[part.id] for part in summary.run.parts]]
                side = new_side(summary, own, writer.next_seq)
                planned.append((summary, side, new_item(summary, side)))
        kept = _kept(writer, [item for _, _, item in planned], now)
        for summary, side, item in planned:
            if item.id in kept:
                writer.take(_plan(writer, summary, side, item, now), item.turn)
        _make_room(writer, [item for _, _, item in planned if item.id in kept], now)
        return [item.id for _, _, item in planned if item.id in kept]


def _stretches(writer: LedgerWriter, now: datetime) -> list[tuple[list[MemoryItem], Floats]]:
    """What has left of each session that is over and not in any summary yet, in order, with its vectors."""
    marks = writer.hot.state.marks
    rows = Memory.objects.filter(
        bank=writer.bank.pk, state=State.ARCHIVED, archive_reason__in=REASONS, kind="side", conversation__isnull=False,
        conversation__forgotten_until=None,
    ).order_by("place_conversation", "session", "position", "piece")  # fmt: skip
    out: list[tuple[list[MemoryItem], Floats]] = []
    for _session, told in groupby(rows, key=lambda row: (row.place_conversation, row.session)):
        free = [row for row in told if marks[row.pk].into is None]
        pairs = [(memory_item(row), np.asarray(row.vector, dtype=np.float32)) for row in free]
        pairs = [(item, vector) for item, vector in pairs if can_sum_up(item)]
        if len(pairs) >= LEAST and max(item.at for item, _ in pairs) < now - OLD:
            out.append(([item for item, _ in pairs], np.array([vector for _, vector in pairs])))
    return out


def _plan(writer: LedgerWriter, summary: Summary, side: NewSide, item: MemoryItem, now: datetime) -> WritingPlan:
    """One event, one row, and all sources of its parts. Its features are those of its best part, as with a merge."""
    mark = writer.hot.state.marks[summary.run.best.id]
    parts = tuple(part.id for part in summary.run.parts)
    event = BankEvent(writer.next_seq, Kind.WRITTEN, now, item.id, {
        "tokens": item.tokens, "importance": item.importance, "adapter": mark.adapter, "turn": str(side.turn),
        "side": side.side.value, "piece": side.piece, "role": side.role.value, "parts": [str(part) for part in parts],
        "written": item.written, "formed": KIND,
    })  # fmt: skip
    values = np.asarray(mark.features, dtype=np.float32) * np.float32(STEP)
    write = Write(item, side, values, terms(side.text))
    return WritingPlan(events=[event], writes=[write], merged={item.id: parts})


def _leaving(writer: LedgerWriter, new: Sequence[MemoryItem], now: datetime) -> tuple[RetentionPolicy, list[Eviction]]:
    policy = policy_named(writer.hot.state.policy)
    return policy, choose_evictions([*writer.hot, *new], writer.hot.state.limit, policy, now)


def _kept(writer: LedgerWriter, new: Sequence[MemoryItem], now: datetime) -> set[UUID]:
    """Those of the new memories that the policy would not send away again, and for whose tokens nothing else must
    leave: a summary is worth its place, but not its length (docs/lab-log.md, "Summaries")."""
    kept = sorted(new, key=lambda item: -item.importance)
    while kept:
        _policy, leaving = _leaving(writer, kept, now)
        out = {eviction.memory for eviction in leaving}
        if any(item.id in out for item in kept):
            kept = [item for item in kept if item.id not in out]
        elif any(eviction.over == "tokens" for eviction in leaving):
            kept.pop()
        else:
            break
    return {item.id for item in kept}


def _make_room(writer: LedgerWriter, new: Sequence[MemoryItem], now: datetime) -> None:
    if new:
        policy, leaving = _leaving(writer, new, now)
        leave_for_room(writer, leaving, policy, writer.hot.state.limit, now)
