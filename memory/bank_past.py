"""Reads of one bank over time: what it is made of, how full it was, what came, what left and why.

No request and no user here: whoever acts sees what they may. A day is one of the zone that the reader is in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from uuid import UUID

from memory import selectors
from memory.engine.types import State
from memory.history import BankHistory, Span, histories
from memory.models import Bank, Memory
from memory.stretch import Stretch, judged_by

# Until when something counts as so old, in days; the last has no end.
AGES: tuple[tuple[str, float], ...] = (
    ("day", 1), ("week", 7), ("month", 30), ("quarter", 91), ("year", 365), ("older", float("inf")),
)  # fmt: skip
FOR_ROOM = ("budget", "threshold")  # why a policy lets go
HOURS, DAYS, WEEKS = "hour", "day", "week"  # how long a step of time is
MOST_HOURS, MOST_DAYS = timedelta(days=4), timedelta(days=200)  # beyond, hours become days and days weeks


@dataclass(frozen=True)
class BankPast:
    """A bank and all that its ledger tells."""

    bank: Bank
    history: BankHistory

    @property
    def first(self) -> datetime:
        """When the first thing in its ledger happened."""
        return min((event.at for event in self.history.events), default=self.bank.created_at)

    def while_judged_by(self, adapter: str, stretch: Stretch) -> Stretch:
        """Of a time only what this adapter judged; all of it for ""."""
        return stretch.only(judged_by(self.history.events, adapter)) if adapter else stretch


def past_of(bank_id: UUID) -> BankPast:
    """One bank's past. Raises `NotFound`."""
    bank = selectors.bank(bank_id)
    return BankPast(bank, histories.open(bank))


def step_of(pasts: Iterable[BankPast], stretch: Stretch, now: datetime) -> str:
    """The steps in which the time of these banks is told: hours, days or weeks, so that there are not too many."""
    first = stretch.since or min((past.first for past in pasts), default=now)
    length = (stretch.until or now) - first
    return HOURS if length <= MOST_HOURS else DAYS if length <= MOST_DAYS else WEEKS


def begins(at: datetime, step: str, zone: tzinfo) -> datetime:
    """The beginning of the hour, day or week (Monday) in which an instant lies."""
    local = at.astimezone(zone).replace(minute=0, second=0, microsecond=0)
    if step == HOURS:
        return local
    local = local.replace(hour=0)
    return local - timedelta(days=local.weekday()) if step == WEEKS else local


def age_of(at: datetime, now: datetime) -> str:
    """How old what happened then is, as a name of `AGES`."""
    days = (now - at).total_seconds() / 86_400
    return next(name for name, end in AGES if days < end)


def group_of(kind: str, role: str) -> str:
    """Who said a memory, or how it was formed."""
    return role if kind == "side" else kind


# --- what it is made of ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CompositionRow:
    """Memories in the bank now that are of one kind and one age."""

    age: str  # since it was said
    group: str  # who said it, or how it was formed
    memories: int
    pinned: int
    tokens: int
    importance: float  # mean


def composition_rows(
    bank: UUID, now: datetime, stretch: Stretch, *, group: str = "", adapter: str = ""
) -> list[CompositionRow]:
    """What a bank holds now, by age and group; with `adapter`, what was scored by that one."""
    rows = Memory.objects.filter(stretch.where("at"), bank=bank, state=State.HELD)
    rows = rows.filter(adapter=adapter) if adapter else rows
    told = rows.values_list("at", "kind", "role", "pinned", "tokens", "importance")
    each = [
        CompositionRow(age_of(at, now), group_of(kind, role), 1, int(pinned), tokens, importance)
        for at, kind, role, pinned, tokens, importance in told
        if not group or group_of(kind, role) == group
    ]
    return summed_composition(each)


def summed_composition(rows: Iterable[CompositionRow]) -> list[CompositionRow]:
    """Rows of the same age and group as one, the youngest first."""
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0, 0, 0.0])
    for row in rows:
        parts = (row.memories, row.pinned, row.tokens, row.importance * row.memories)
        one = sums[row.age, row.group]
        for place, part in enumerate(parts):
            one[place] += part
    order = [name for name, _end in AGES]
    return [
        CompositionRow(age, group, int(n), int(pinned), int(tokens), round(importance / n, 6))
        for (age, group), (n, pinned, tokens, importance) in sorted(
            sums.items(), key=lambda item: (order.index(item[0][0]), item[0][1])
        )
    ]


# --- how full it was -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FullnessRow:
    """How full one bank was at the end of an hour, day or week in which it changed, and how full at most."""

    bank: UUID
    at: datetime  # its beginning
    memories: int
    budget_memories: int
    share: float  # of the memories, at the end
    most: float  # the largest share in between
    tokens: int
    budget_tokens: int
    tokens_share: float
    tokens_most: float


def fullness_rows(past: BankPast, step: str, stretch: Stretch, *, adapter: str = "") -> list[FullnessRow]:
    """One row a step in which something happened, in order; with `adapter`, while that one judged."""
    stretch = past.while_judged_by(adapter, stretch)
    out: dict[datetime, FullnessRow] = {}
    events = past.history.events
    for number, event in enumerate(events, 1):
        if number < len(events) and events[number].at == event.at:
            continue  # what is written leaves again within one act: between two of its events the bank was never read
        if not stretch.has(event.at):
            continue
        at, fill = begins(event.at, step, stretch.zone), past.history.fill_at(number)
        share, tokens = _share(fill.held, fill.budget_memories), _share(fill.tokens, fill.budget_tokens)
        known = out.get(at)
        out[at] = FullnessRow(
            past.bank.pk, at, fill.held, fill.budget_memories, share, max(share, known.most if known else 0.0),
            fill.tokens, fill.budget_tokens, tokens, max(tokens, known.tokens_most if known else 0.0),
        )  # fmt: skip
    return sorted(out.values(), key=lambda row: row.at)


def _share(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


# --- what came and what left -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TurnoverRow:
    """What came and what left in one hour, day or week, over the banks asked for."""

    at: datetime
    written: int
    back: int  # restored, or no longer forgotten
    evicted: int  # for room
    merged: int
    gone: int  # withdrawn, twins, forgotten, erased


def turnover_rows(pasts: Iterable[BankPast], step: str, stretch: Stretch, *, adapter: str = "") -> list[TurnoverRow]:
    """One row a step in which something came or left, in order; with `adapter`, while that one judged."""
    sums: dict[datetime, list[int]] = defaultdict(lambda: [0] * 5)
    for past in pasts:
        during = past.while_judged_by(adapter, stretch)
        for span in past.history.spans:
            if during.has(span.came_at):
                sums[begins(span.came_at, step, stretch.zone)][0 if span.how == "written" else 1] += 1
            if span.left_at is not None and during.has(span.left_at):
                place = 2 if span.reason in FOR_ROOM else 3 if span.reason == "merged" else 4
                sums[begins(span.left_at, step, stretch.zone)][place] += 1
    return [TurnoverRow(at, *counts) for at, counts in sorted(sums.items())]


@dataclass(frozen=True)
class LeavingRow:
    """One memory that left, when and why."""

    bank: UUID
    memory: UUID
    left_at: datetime
    came_at: datetime
    days: float  # that it was in the bank
    reason: str
    policy: str
    adapter: str
    score: float | None  # what the policy ranked it by
    text: str = ""


def leaving_rows(past: BankPast, stretch: Stretch, *, reason: str = "", adapter: str = "") -> list[LeavingRow]:
    """What left in this time, the last on top."""
    out = [
        _leaving(past.bank.pk, span)
        for span in past.history.spans
        if span.left_at is not None
        and stretch.has(span.left_at)
        and (not reason or span.reason == reason)
        and (not adapter or span.adapter == adapter)
    ]
    return sorted(out, key=lambda row: (row.left_at, str(row.memory)), reverse=True)


def _leaving(bank: UUID, span: Span) -> LeavingRow:
    assert span.left_at is not None
    days = round((span.left_at - span.came_at).total_seconds() / 86_400, 4)
    return LeavingRow(bank, span.memory, span.left_at, span.came_at, days, span.reason, span.policy, span.adapter,
                      span.score)  # fmt: skip


# --- banks beside each other -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BankRow:
    """One bank as a line of the list."""

    bank: UUID
    name: str
    opened: bool  # by somebody else, to analysts
    held: int
    budget_memories: int
    share: float
    tokens: int
    budget_tokens: int
    archived: int
    written: int  # in the time asked for, as are the next
    evicted: int
    recalls: int
    last: datetime  # when its ledger grew last


def bank_row(past: BankPast, stretch: Stretch, *, name: str, opened: bool, adapter: str = "") -> BankRow:
    """One bank's line; with `adapter`, what came, left and was recalled while that one judged."""
    stretch = past.while_judged_by(adapter, stretch)
    state, spans, events = past.history.state, past.history.spans, past.history.events
    return BankRow(
        past.bank.pk, name, opened, state.held, state.budget.memories, _share(state.held, state.budget.memories),
        state.held_tokens, state.budget.tokens, sum(mark.state is State.ARCHIVED for mark in state.marks.values()),
        sum(span.how == "written" and stretch.has(span.came_at) for span in spans),
        sum(span.reason in FOR_ROOM and span.left_at is not None and stretch.has(span.left_at) for span in spans),
        sum(event.kind == "recalled" and stretch.has(event.at) for event in events),
        events[-1].at if events else past.bank.created_at,
    )  # fmt: skip
