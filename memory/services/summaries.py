"""Summaries of old stretches: what has left a bank of one session, or of the sessions up to a milestone, comes back as
one short memory, under the budget.

A summary stands for its parts as a merged memory does (docs/decisions/0008, 0016): it goes when one of them goes, and
the next run makes another without it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby
from uuid import UUID

import numpy as np
from django.db.models import Count, Max
from django.utils import timezone

from memory.engine.bank import BankEvent, Kind
from memory.engine.lexical import terms
from memory.engine.remember import Write, WritingPlan
from memory.engine.retention import Eviction, RetentionPolicy, choose_evictions, policy_named
from memory.engine.statistics import STEP
from memory.engine.summaries import KIND, LEAST, Summary, can_sum_up, new_item, new_side, summary_of
from memory.engine.types import Floats, MemoryItem, NewSide, State
from memory.hot_banks import memory_item
from memory.models import Memory, Turn
from memory.services.evictions import leave_for_room
from memory.services.jobs import enqueue, handles
from memory.services.ledger import LedgerWriter, writing
from memory.tenancy import acting_as

JOB, MILESTONE_JOB = "memory.summarise", "memory.summarise_milestones"
OLD = timedelta(days=1)  # since the last word of a session, before it is summed up
MOST = 20  # summaries of one bank a time
REASONS = ("budget", "threshold")  # why a part left: nobody took it back
SESSIONS = 5  # from one milestone to the next where no turn has an outcome that says so
Stretch = tuple[UUID, int]  # a conversation, and which of its stretches


class Grain(StrEnum):
    """How much one summary stands for."""

    SESSION = "session"
    MILESTONE = "milestone"  # all sessions up to a turn with an outcome; without outcomes, five


JOBS = {Grain.SESSION: JOB, Grain.MILESTONE: MILESTONE_JOB}


def ask_for_all(now: datetime, grain: Grain = Grain.SESSION) -> int:
    """Give each bank from which enough of an old session, or conversation, has left its job. Found as the sweeping
    role."""
    left = Memory.objects.using("worker").filter(
        state=State.ARCHIVED, archive_reason__in=REASONS, kind="side", at__lt=now - OLD
    )
    within = ["place_conversation", "session"] if grain is Grain.SESSION else ["place_conversation"]
    found = left.values("bank", "owner", *within).annotate(n=Count("pk")).filter(n__gte=LEAST)
    banks = {(row["bank"], row["owner"]) for row in found}
    for bank, owner in banks:
        with acting_as(owner):
            enqueue(JOBS[grain], str(bank), owner_id=owner)
    return len(banks)


@handles(JOB)
def summarise_bank(key: str) -> None:
    """Sum up what has left one bank of each session, as its owner."""
    summarise(UUID(key), now=timezone.now())


@handles(MILESTONE_JOB)
def summarise_milestones(key: str) -> None:
    """Sum up what has left one bank of the sessions up to each milestone, as its owner."""
    summarise(UUID(key), now=timezone.now(), grain=Grain.MILESTONE)


def summarise(bank_id: UUID, *, now: datetime, grain: Grain = Grain.SESSION) -> list[UUID]:
    """Write a summary for each old stretch that has none, if the policy would keep it; returns the new memories."""
    with writing(bank_id) as writer:
        planned: list[tuple[Summary, NewSide, MemoryItem]] = []
        for stretch, vectors in _stretches(writer, now, grain):
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


def _stretches(writer: LedgerWriter, now: datetime, grain: Grain) -> list[tuple[list[MemoryItem], Floats]]:
    """What has left of each stretch that is over and not in any summary yet, in order, with its vectors."""
    marks = writer.hot.state.marks
    rows = Memory.objects.filter(
        bank=writer.bank.pk, state=State.ARCHIVED, archive_reason__in=REASONS, kind="side", conversation__isnull=False,
        conversation__forgotten_until=None,
    ).order_by("place_conversation", "session", "position", "piece")  # fmt: skip
    out: list[tuple[list[MemoryItem], Floats]] = []
    stretch_of = _by_session if grain is Grain.SESSION else _by_milestone(writer.bank.pk)
    for stretch, told in groupby(rows, key=stretch_of):
        if stretch is None:
            continue
        free = [row for row in told if marks[row.pk].into is None]
        pairs = [(memory_item(row), np.asarray(row.vector, dtype=np.float32)) for row in free]
        pairs = [(item, vector) for item, vector in pairs if can_sum_up(item)]
        if len(pairs) >= LEAST and max(item.at for item, _ in pairs) < now - OLD:
            out.append(([item for item, _ in pairs], np.array([vector for _, vector in pairs])))
    return out


def _by_session(row: Memory) -> Stretch | None:
    return row.place_conversation, row.session


def _by_milestone(bank: UUID) -> Callable[[Memory], Stretch | None]:
    """Which stretch a memory belongs to: the sessions after one milestone up to and with that of the next; None while
    the next is still to come."""
    turns = Turn.objects.filter(conversation__bank=bank, replaced_at=None)
    ends: dict[UUID, list[int]] = defaultdict(list)
    for conversation, session in turns.exclude(outcome=None).order_by("session").values_list("conversation", "session"):
        if ends[conversation][-1:] != [session]:
            ends[conversation].append(session)
    for conversation, last in turns.values_list("conversation").annotate(last=Max("session")):
        if conversation not in ends:
            ends[conversation] = list(range(SESSIONS - 1, last, SESSIONS))

    def stretch(row: Memory) -> Stretch | None:
        number = bisect_left(ends[row.place_conversation], row.session)
        return (row.place_conversation, number) if number < len(ends[row.place_conversation]) else None

    return stretch


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
