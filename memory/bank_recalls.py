"""Reads of what one bank recalled: which memories do the work, which are never needed, which were missed."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import connection

from memory.bank_past import AGES, BankPast, age_of, begins, group_of
from memory.engine.types import State
from memory.history import Span
from memory.models import Memory, Recall
from memory.stretch import Stretch

_WORK = """
SELECT handed.memory::uuid, count(*), sum(handed.weight::float8)
FROM memory_event event {join}
CROSS JOIN LATERAL ROWS FROM (
    jsonb_array_elements_text(event.data->'memories'), jsonb_array_elements_text(event.data->'weights')
) AS handed(memory, weight)
WHERE event.bank_id = %(bank)s AND event.kind = 'recalled'
  AND (%(since)s::timestamptz IS NULL OR event.at >= %(since)s)
  AND (%(until)s::timestamptz IS NULL OR event.at < %(until)s) {where}
GROUP BY 1
"""
_BY_ADAPTER = "JOIN memory_recall recall ON recall.id = (event.data->>'recall')::uuid"


@dataclass(frozen=True)
class WorkRow:
    """One memory and the weight that it was recalled with, over all recalls of a time."""

    bank: UUID
    memory: UUID
    state: str
    recalls: int
    mass: float
    share: float = 0.0  # of the weight of all
    cumulative: float = 0.0  # with that of all above it
    text: str = ""


def work_rows(bank: UUID, stretch: Stretch, *, adapter: str = "") -> list[WorkRow]:
    """Every memory that is in the bank or its archive, those with most weight first; `ranked_work` adds the shares."""
    recalled = recalls_of(bank, stretch, adapter)
    there = Memory.objects.filter(bank=bank, state__in=(State.HELD, State.ARCHIVED)).values_list("pk", "state")
    return [
        WorkRow(bank, memory, state, *(recalled.get(memory) or (0, 0.0)))
        for memory, state in there
        if state == State.HELD or memory in recalled
    ]


def ranked_work(rows: Sequence[WorkRow]) -> list[WorkRow]:
    """Rows of one bank or several in order of their weight, with their share of all of it."""
    total, done, out = sum(row.mass for row in rows), 0.0, []
    for row in sorted(rows, key=lambda row: (-row.mass, -row.recalls, str(row.memory))):
        done += row.mass
        share, upto = (row.mass / total, done / total) if total else (0.0, 0.0)
        out.append(replace(row, mass=round(row.mass, 6), share=round(share, 6), cumulative=round(upto, 6)))
    return out


def recalls_of(bank: UUID, stretch: Stretch, adapter: str = "") -> dict[UUID, tuple[int, float]]:
    """By memory: how often it was recalled, and with what weight in all."""
    values = {"bank": bank, "since": stretch.since, "until": stretch.until, "adapter": adapter}
    join, where = (_BY_ADAPTER, "AND recall.adapter = %(adapter)s") if adapter else ("", "")
    with connection.cursor() as cursor:
        cursor.execute(_WORK.format(join=join, where=where), values)
        return {memory: (recalls, mass) for memory, recalls, mass in cursor.fetchall()}


@dataclass(frozen=True)
class NeverRow:
    """Memories in the bank for so long, and how many of them no recall ever handed on."""

    age: str  # since it came into the bank
    memories: int
    never: int
    share: float


def never_rows(
    bank: UUID, now: datetime, stretch: Stretch, *, group: str = "", adapter: str = ""
) -> dict[str, tuple[int, int]]:
    """By age: how many memories the bank holds, and how many of them were not recalled in this time."""
    recalled = recalls_of(bank, stretch)
    rows = Memory.objects.filter(bank=bank, state=State.HELD)
    rows = rows.filter(adapter=adapter) if adapter else rows
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for memory, written_at, kind, role in rows.values_list("pk", "written_at", "kind", "role"):
        if not group or group_of(kind, role) == group:
            one = sums[age_of(written_at, now)]
            one[0] += 1
            one[1] += memory not in recalled
    return {age: (counts[0], counts[1]) for age, counts in sums.items()}


def summed_never(parts: Sequence[dict[str, tuple[int, int]]]) -> list[NeverRow]:
    """The counts of several banks as rows, the youngest first."""
    out = []
    for age, _end in AGES:
        held, never = (sum(part.get(age, (0, 0))[place] for part in parts) for place in (0, 1))
        if held:
            out.append(NeverRow(age, held, never, round(never / held, 6)))
    return out


# --- regret ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RegretRow:
    """What one policy under one adapter let go in an hour, day or week, and how much of it was missed later."""

    at: datetime
    policy: str
    adapter: str
    left: int
    missed: int  # of those, how many a later cue would have recalled
    said_again: int  # of those, how many their person then said again
    share: float  # missed of left


@dataclass(frozen=True)
class Departure:
    """One memory that a policy let go, and whether it was missed before it came back or left again."""

    left_at: datetime
    policy: str
    adapter: str
    missed: bool
    said_again: bool


def departures(past: BankPast, stretch: Stretch, told: Collection[tuple[UUID, UUID]] = ()) -> list[Departure]:
    """What policies let go in this time. `told`: (recall, memory) of what its person then said again.

    A memory counts for the policy and the adapter that let it go last before the cue came.
    """
    gone: dict[UUID, list[Span]] = defaultdict(list)
    for span in past.history.spans:
        if span.policy and span.left_at is not None:
            gone[span.memory].append(span)
    missed: dict[tuple[UUID, int], bool] = {}  # (memory, which departure): said again
    for recall, at, rows in _regretted(past.bank.pk):
        for memory in (UUID(row["memory"]) for row in rows):
            place = bisect_right([span.left_at for span in gone[memory] if span.left_at], at) - 1
            if place >= 0:
                missed[memory, place] = missed.get((memory, place), False) or (recall, memory) in told
    return [
        Departure(
            span.left_at, span.policy, span.adapter, (memory, place) in missed, missed.get((memory, place), False)
        )
        for memory, spans in gone.items()
        for place, span in enumerate(spans)
        if span.left_at is not None and stretch.has(span.left_at)
    ]


def regret_rows(
    found: Sequence[Departure], step: str, stretch: Stretch, *, policy: str = "", adapter: str = ""
) -> list[RegretRow]:
    """Departures by time, policy and adapter, in order of time."""
    sums: dict[tuple[datetime, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for one in found:
        if (not policy or one.policy == policy) and (not adapter or one.adapter == adapter):
            counts = sums[begins(one.left_at, step, stretch.zone), one.policy, one.adapter]
            for place, part in enumerate((1, one.missed, one.said_again)):
                counts[place] += part
    return [
        RegretRow(at, policy, adapter, left, missed, again, round(missed / left, 6))
        for (at, policy, adapter), (left, missed, again) in sorted(sums.items())
    ]


def _regretted(bank: UUID) -> list[tuple[UUID, datetime, list[dict[str, str]]]]:
    found = Recall.objects.filter(bank=bank).exclude(regretted=[])
    return list(found.order_by("at").values_list("pk", "at", "regretted"))
