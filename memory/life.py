"""Reads of one conversation's memory over time. No request and no user here: whoever acts sees what they may.

Time is the number of the turn. What another conversation of the same bank did stands at the turn before it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection
from django.db.models import BooleanField, Count, ExpressionWrapper, Q, QuerySet

from memory import selectors
from memory.engine.statistics import RoleStatistics
from memory.engine.types import State
from memory.handed_on import HandedOn, handed_on
from memory.history import AdapterChange, BankHistory, Clock, Span, clock_of, histories, moment, uncollected
from memory.models import Conversation, Memory, Turn
from memory.usual import usual_in

R = TypeVar("R")
Judgements = Mapping[UUID, tuple[float, float]]  # memory: value, weight


@dataclass(frozen=True)
class Life:
    """A conversation, its turns in order, and the history of the bank that it is told to.

    What its figures are made of is read once, by the first of them: rows change with the ledger alone, and then
    another life is read. It is ids and numbers, as the history is.
    """

    conversation: Conversation
    ordinals: Mapping[UUID, int]  # of all turns, replaced ones too
    present: Mapping[UUID, int]  # of those of the present branch
    turns: int  # the number of the last turn of the present branch; 0 for a conversation without any
    history: BankHistory
    clock: Clock
    written: Mapping[UUID, int]  # memories that turns of this conversation wrote, and the turn that did

    @cached_property
    def at(self) -> Mapping[int, datetime]:
        """When each turn of the present branch began."""
        present = Turn.objects.filter(conversation=self.conversation.pk, replaced_at=None)
        return dict(present.values_list("ordinal", "created_at"))

    @cached_property
    def memories(self) -> Sequence[ImportanceRow]:
        """All its memories that are not forgotten, by turn, without what was judged of them."""
        with uncollected():
            return _memories(self)

    @cached_property
    def spans(self) -> Sequence[SpanRow]:
        """All stretches that its memories were in the bank, in the order in which they began."""
        written = self.written
        with uncollected():
            return [_span_row(self, span) for span in self.history.spans if span.memory in written]

    @cached_property
    def fullness(self) -> Sequence[BudgetRow]:
        """How full the bank was after each turn of the present branch."""
        with uncollected():
            return _fullness(self)

    @cached_property
    def usual(self) -> tuple[RoleStatistics, str]:
        """What is usual in the bank, and its kind."""
        return usual_in(self.conversation.bank)

    @cached_property
    def handed_on(self) -> HandedOn:
        """What the turns of the present branch recalled."""
        first_of = self.history.first_of
        begun = min((first_of[turn] for turn in self.present if turn in first_of), default=self.history.seq + 1)
        with uncollected():
            return handed_on(self.conversation.bank_id, begun, self.history.seq, self.present)

    def stretch(self, first: int | None, last: int | None) -> tuple[int, int]:
        """A range of turns that there are, from what was asked for."""
        low = min(max(1, first or 1), max(1, self.turns))
        return low, max(low, min(last or self.turns, self.turns))


def life_of(conversation_id: UUID) -> Life:
    """One conversation's life. Raises `NotFound`."""
    found = selectors.conversation(conversation_id)
    history = histories.open(found.bank)
    turns = Turn.objects.filter(conversation=conversation_id)
    counted = turns.aggregate(all=Count("pk"), present=Count("pk", filter=Q(replaced_at=None)))
    key = (history.seq, counted["all"], counted["present"])
    with history.lock, uncollected():  # the figures of a page come at once: one reads, the others wait for it
        known, kept = history.lives.get(conversation_id, (None, None))
        life: Life = kept if known == key else _read(found, history, turns)
        history.keep_life(conversation_id, key, life)
        return life


def _read(found: Conversation, history: BankHistory, turns: QuerySet[Turn]) -> Life:
    there = ExpressionWrapper(Q(replaced_at=None), BooleanField())
    told = list(turns.order_by("ordinal", "created_at").values_list("pk", "ordinal", there))
    ordinals = {turn: ordinal for turn, ordinal, _ in told}
    present = {turn: ordinal for turn, ordinal, there in told if there}
    written = {
        memory: ordinals[turn] for memory, turn in history.written_by.items() if turn is not None and turn in ordinals
    }
    last = max(present.values(), default=0)
    return Life(found, ordinals, present, last, history, clock_of(history, ordinals), written)


# --- 1. importance ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ImportanceRow:
    """A memory at the turn that wrote it. No uncertainty is stored with a score: what judges the bank when the row is
    read says how sure it is of it, where the score is its own."""

    turn: int
    at: datetime
    memory: UUID
    kind: str
    role: str
    importance: float  # by the adapter below
    first: float  # when it was written
    adapter: str
    state: str
    reason: str
    pinned: bool
    tokens: int
    label: float | None  # what judgements of it say together, 0 to 1
    label_weight: float | None  # full judgements that counts for
    low: float | None = None  # the score with its logit one standard deviation lower
    high: float | None = None  # and one higher
    unsure: str = ""  # a code: why there are no such two
    speaker: str = ""
    text: str = ""


def importance_rows(
    life: Life, first: int, last: int, *, labels: Judgements, kinds: Collection[str] = (), adapter: str = "",
    only_judged: bool = False,
) -> list[ImportanceRow]:  # fmt: skip
    """Memories of turns `first` to `last` that are not forgotten, in order; `kinds` are roles or kinds of memory."""
    if only_judged and not labels:
        return []
    rows = life.memories[bisect_left(life.memories, first, key=_turn) : bisect_right(life.memories, last, key=_turn)]
    if kinds:
        rows = [row for row in rows if row.role in kinds or row.kind in kinds]
    if adapter:
        rows = [row for row in rows if row.adapter == adapter]
    if only_judged:
        rows = [row for row in rows if row.memory in labels]
    if not labels:
        return list(rows)
    return [
        replace(row, label=labels[row.memory][0], label_weight=labels[row.memory][1]) if row.memory in labels else row
        for row in rows
    ]


def _turn(row: ImportanceRow) -> int:
    return row.turn


_MEMORIES = (
    "SELECT id, (extract(epoch FROM at) * 1000000)::bigint, kind, role, importance, adapter, state, archive_reason, "
    "pinned, tokens FROM memory_memory WHERE conversation_id = %s AND state <> %s"
)


def _memories(life: Life) -> list[ImportanceRow]:
    with connection.cursor() as cursor:
        cursor.execute(_MEMORIES, [life.conversation.pk, State.FORGOTTEN])
        found = cursor.fetchall()
    written, first_scores, out = life.written, life.history.first_scores, []
    for memory, at, kind, role, importance, adapter, state, reason, pinned, tokens in found:
        out.append(
            ImportanceRow(
                written.get(memory, 0), moment(at), memory, kind, role, importance,
                first_scores.get(memory, importance), adapter, state, reason, pinned, tokens, None, None,
            )
        )  # fmt: skip
    return sorted(out, key=lambda row: (row.turn, row.at, row.memory.int))


def adapter_changes(life: Life, first: int, last: int) -> list[tuple[int, AdapterChange]]:
    """The changes of adapter in these turns, each with its turn."""
    found = [(max(1, life.clock.turn_of(change.seq)), change) for change in life.history.adapters]
    return [(turn, change) for turn, change in found if first <= turn <= last]


# --- 3. evictions and the budget -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpanRow:
    """A stretch that one memory was in the bank. A memory that was restored has several."""

    memory: UUID
    came: int  # turn
    came_at: datetime
    how: str  # "written", "restored.asked", "unforgotten" …
    left: int | None  # turn; None while it is in the bank
    left_at: datetime | None
    reason: str
    policy: str
    adapter: str
    score: float | None
    into: UUID | None  # what it was merged into
    text: str = ""


def span_rows(life: Life, first: int, last: int, *, reasons: Collection[str] = (), adapter: str = "") -> list[SpanRow]:
    """What this conversation's memories lived through in turns `first` to `last`, in the order in which it began.

    With `reasons` (or `adapter`) only stretches that ended so; the reason "held" means those that have not ended.
    """
    out = []
    for row in life.spans:
        if row.came > last or (row.left is not None and row.left < first):
            continue
        if reasons and (row.reason or "held") not in reasons:
            continue
        if not adapter or row.adapter == adapter:
            out.append(row)
    return out


def _span_row(life: Life, span: Span) -> SpanRow:
    came = life.written[span.memory] if span.how == "written" else life.clock.turn_of(span.came)
    return SpanRow(
        span.memory, came, span.came_at, span.how,
        None if span.left is None else max(came, life.clock.turn_of(span.left)),
        span.left_at, span.reason, span.policy, span.adapter, span.score, span.into,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """How full the bank was after a turn, over all its conversations. Shares are of the budget in force then."""

    turn: int
    at: datetime
    memories: int
    budget_memories: int
    memories_share: float
    tokens: int
    budget_tokens: int
    tokens_share: float


def budget_rows(life: Life, first: int, last: int) -> list[BudgetRow]:
    """One row a turn of the present branch."""
    rows = life.fullness
    return list(
        rows[bisect_left(rows, first, key=lambda row: row.turn) : bisect_right(rows, last, key=lambda row: row.turn)]
    )


def _fullness(life: Life) -> list[BudgetRow]:
    out = []
    for turn, at in sorted(life.at.items()):
        seq = seq_after(life, turn)
        if not 1 <= turn <= life.turns or not seq:
            continue
        fill = life.history.fill_at(seq)
        out.append(
            BudgetRow(
                turn, at, fill.held, fill.budget_memories, _share(fill.held, fill.budget_memories),
                fill.tokens, fill.budget_tokens, _share(fill.tokens, fill.budget_tokens),
            )
        )  # fmt: skip
    return out


def _share(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


def seq_after(life: Life, turn: int) -> int:
    """The last event that belongs to turn `turn`; the last turn's reach to the present."""
    found = None if turn >= life.turns else life.clock.after(turn)
    return life.history.seq if found is None else found


# --- words -----------------------------------------------------------------------------------------------------------


def with_words(rows: Sequence[Any], fields: Sequence[str] = ("text",)) -> list[Any]:
    """Rows of memories with their words (`text`, `speaker`), which only those that are shown need.

    What is forgotten or erased has none.
    """
    found = {row.memory for row in rows}
    known = Memory.objects.filter(pk__in=found).exclude(state=State.FORGOTTEN).only("pk", *fields).in_bulk()
    return [
        replace(row, **{name: getattr(known[row.memory], name) for name in fields}) if row.memory in known else row
        for row in rows
    ]


def by_turn(rows: Sequence[R], turn: Callable[[R], int], first: int, last: int, most: int) -> list[tuple[int, list[R]]]:
    """Rows in at most `most` bins of equally many turns: the first turn of each bin with its rows; empty ones too."""
    width = max(1, -(-(last - first + 1) // most))
    bins: list[tuple[int, list[R]]] = [(start, []) for start in range(first, last + 1, width)]
    for row in rows:
        bins[(turn(row) - first) // width][1].append(row)
    return bins
