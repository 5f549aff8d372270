"""Reads of one memory's whole life: its scores, its recalls, what happened to it, and the turns that told it.

No request and no user here: whoever acts sees what they may. Words go through `shown`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import Q

from memory import selectors
from memory.engine.bank import Kind
from memory.engine.types import State
from memory.life_recalls import BELOW, NEAR, RECALLED
from memory.models import Bank, Event, Memory, MemorySource, Turn
from memory.why import Shown, as_is

MOST_SOURCES = 20  # tellings that are shown in context


@dataclass(frozen=True)
class Story:
    """One memory, its bank, and what the ledger tells of it."""

    memory: Memory
    bank: Bank
    events: Sequence[Event]  # that name it, in order


def story_of(memory_id: UUID) -> Story:
    """One memory's story. Raises `NotFound`."""
    memory = selectors.memory(memory_id)
    events = Event.objects.filter(bank=memory.bank_id, memory=memory_id).order_by("seq")
    return Story(memory, memory.bank, list(events))


# --- scores ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoreRow:
    """One score of the memory, in force until the next."""

    seq: int
    at: datetime
    importance: float
    adapter: str
    what: str  # "written" or "rescored"
    turn: UUID | None  # that wrote it
    low: float | None = None  # with its logit one standard deviation lower, by what judges the bank when this is read
    high: float | None = None
    unsure: str = ""  # a code: why there are no such two


def score_rows(story: Story) -> list[ScoreRow]:
    """The memory's scores in order, each by its adapter's version."""
    return [
        ScoreRow(one.seq, one.at, one.data["importance"], one.data["adapter"], one.kind, one.turn)
        for one in story.events
        if one.kind in (Kind.WRITTEN, Kind.RESCORED)
    ]


# --- recalls ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartRow:
    """One recall in which the memory was among the stored rows."""

    recall: UUID
    at: datetime
    conversation: UUID
    turn: int
    rank: int  # from 1
    weight: float
    fit: float
    floor: float
    logit: float
    what: str  # "recalled", "near" or "below"
    injected: bool
    cited: bool
    adapter: str


# Of each trace only the memory's own three numbers leave the database: a trace is kilobytes, and there are many.
_PARTS = """
WITH found AS MATERIALIZED (
    SELECT *, array_position(memories, %(memory)s) AS place FROM memory_recall
    WHERE bank_id = %(bank)s AND %(memory)s = ANY (memories)
)
SELECT r.id, r.at, t.conversation_id, t.ordinal, r.place,
       substring(r.numbers FROM (r.place - 1) * 4 * (3 + 2 * cardinality(r.signals)) + 1 FOR 12), r.floor,
       %(memory)s = ANY (r.recalled), %(memory)s = ANY (r.injected), %(memory)s = ANY (r.cited), r.adapter
FROM found r JOIN memory_turn t ON t.id = r.turn_id JOIN memory_conversation c ON c.id = t.conversation_id
WHERE c.forgotten_until IS NULL
ORDER BY r.at, r.id
"""


def part_rows(story: Story, *, what: Collection[str] = (), adapter: str = "") -> list[PartRow]:
    """The recalls that the memory took part in, in order; none of a conversation that is being forgotten."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTS, {"memory": story.memory.pk, "bank": story.bank.pk})
        rows = [_part(*row) for row in cursor.fetchall()]
    return [row for row in rows if (not what or row.what in what) and (not adapter or row.adapter == adapter)]


def _part(
    recall: UUID, at: datetime, conversation: UUID, turn: int, rank: int, three: bytes, floor: float, recalled: bool,
    injected: bool, cited: bool, adapter: str,
) -> PartRow:  # fmt: skip
    logit, weight, fit = np.frombuffer(bytes(three), dtype="<f4").tolist()
    return PartRow(
        recall, at, conversation, turn, rank, round(weight, 6), round(fit, 5), round(floor, 5), round(logit, 5),
        RECALLED if recalled else NEAR if fit >= floor else BELOW, injected, cited, adapter,
    )  # fmt: skip


# --- what happened ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HappenedRow:
    """One event of the ledger that names the memory."""

    seq: int
    at: datetime
    what: str  # "written", "told", "evicted", "restored" …
    reason: str  # of an eviction or a restore; of a telling how it was told
    turn: UUID | None  # that made it happen
    policy: str
    adapter: str
    score: float | None  # what the policy ranked it by; of a score itself the importance
    over: str  # the budget that was exceeded: "memories" or "tokens"
    budget_memories: int | None
    budget_tokens: int | None
    instead: UUID | None  # what was kept instead
    into: UUID | None  # what it was merged into
    cosine: float | None  # of a telling, with the words that were there
    instead_text: str = ""


def happened_rows(story: Story, *, shown: Shown = as_is) -> list[HappenedRow]:
    """All that the ledger tells of the memory, in order."""
    rows = [_happened(event) for event in story.events]
    kept = selectors.memory_rows({row.instead for row in rows if row.instead})
    return [
        replace(row, instead_text=shown(selectors.shown_text(kept[row.instead]))) if row.instead in kept else row
        for row in rows
    ]


def _happened(event: Event) -> HappenedRow:
    data: dict[str, Any] = event.data
    budget = data.get("budget") or [None, None]
    reason = data.get("reason") or data.get("how") or ""
    return HappenedRow(
        event.seq, event.at, event.kind, reason, event.turn, data.get("policy", ""), data.get("adapter", ""),
        data.get("score", data.get("importance")), data.get("over") or "", budget[0], budget[1],
        _uuid(data.get("instead")), _uuid(data.get("into")), data.get("cosine"),
    )  # fmt: skip


def _uuid(text: str | None) -> UUID | None:
    return UUID(text) if text else None


@dataclass(frozen=True)
class Stretch:
    """A time in which the memory was at one place."""

    state: str  # "held", "archived" or "forgotten"
    reason: str  # why it was archived
    came: datetime
    left: datetime | None  # None: it still is


def stretches(story: Story) -> list[Stretch]:
    """Where the memory was, in order."""
    out: list[Stretch] = []
    for event in story.events:
        state = _state_after(event)
        if state is None:
            continue
        if out:
            out[-1] = replace(out[-1], left=event.at)
        reason = event.data.get("reason", "") if state == State.ARCHIVED else ""
        out.append(Stretch(state, reason, event.at, None))
    return out


def _state_after(event: Event) -> str | None:
    match event.kind:
        case Kind.WRITTEN | Kind.RESTORED:
            return State.HELD.value
        case Kind.EVICTED:
            return State.ARCHIVED.value
        case Kind.FORGOTTEN:
            return State.FORGOTTEN.value
        case Kind.UNFORGOTTEN:
            return str(event.data["to"])
        case _:
            return None


# --- where it comes from, and what belongs together -----------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """One side of a turn in context."""

    turn: UUID
    ordinal: int
    speaker: str
    text: str
    at: datetime | None
    side: str
    itself: bool  # the side that told the memory


@dataclass(frozen=True)
class Telling:
    """A turn that told the memory, between the turn before and the turn after."""

    conversation: UUID
    title: str
    turn: UUID
    ordinal: int
    how: str  # "written", "retold", "merged" or "formed"
    sides: Sequence[Told]


def tellings(story: Story, *, shown: Shown = as_is) -> list[Telling]:
    """The turns that told the memory, the first first, each with the turn before it and the turn after it.

    Nothing of a conversation that is being forgotten; nothing while the memory itself is.
    """
    if story.memory.state == State.FORGOTTEN:
        return []
    sources = MemorySource.objects.filter(memory=story.memory.pk, turn__conversation__forgotten_until=None)
    found = sources.select_related("turn__conversation").order_by("turn__created_at", "side", "piece")
    out: dict[tuple[UUID, str], Telling] = {}
    for source in found[:MOST_SOURCES]:
        turn = source.turn
        if (turn.pk, source.side) not in out:
            sides = _around(turn, source.side, shown)
            title = shown(turn.conversation.title)
            out[turn.pk, source.side] = Telling(
                turn.conversation_id, title, turn.pk, turn.ordinal, source.how, sides
            )  # fmt: skip
    return list(out.values())


def _around(turn: Turn, side: str, shown: Shown) -> list[Told]:
    near = Q(pk=turn.pk) | Q(replaced_at=None, ordinal__in=[turn.ordinal - 1, turn.ordinal + 1])
    out = []
    for one in Turn.objects.filter(near, conversation=turn.conversation_id).order_by("ordinal"):
        for name in ("observation", "action"):
            text = getattr(one, name)
            if text.strip():
                speaker, at = getattr(one, f"{name}_speaker"), getattr(one, f"{name}_at")
                itself = one.pk == turn.pk and name == side
                out.append(Told(one.pk, one.ordinal, speaker, shown(text), at, name, itself))
    return out
