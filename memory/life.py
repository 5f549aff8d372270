"""Reads of one conversation's memory over time. No request and no user here: whoever acts sees what they may.

Time is the number of the turn. What another conversation of the same bank did stands at the turn before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import BooleanField, Count, ExpressionWrapper, Q, QuerySet

from memory import selectors
from memory.engine.types import State
from memory.history import AdapterChange, BankHistory, Clock, Span, clock_of, histories
from memory.models import Conversation, Memory, Turn

R = TypeVar("R")
Judgements = Mapping[UUID, tuple[float, float]]  # memory: value, weight


@dataclass(frozen=True)
class Life:
    """A conversation, its turns in order, and the history of the bank that it is told to."""

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
    with history.lock:  # the figures of a page come at once: one reads, the others wait for it
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


@dataclass(frozen=True)
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
    fields = ("pk", "at", "kind", "role", "importance", "adapter", "state", "archive_reason", "pinned", "tokens")
    rows = Memory.objects.filter(conversation=life.conversation.pk).exclude(state=State.FORGOTTEN)
    if only_judged:
        rows = rows.filter(pk__in=list(labels))
    if last - first + 1 < life.turns:
        rows = rows.filter(turn__ordinal__gte=first, turn__ordinal__lte=last)
    written, first_scores, out = life.written, life.history.first_scores, []
    for memory, at, kind, role, importance, version, state, reason, pinned, tokens in rows.values_list(
        *fields
    ).iterator(5_000):
        turn = written.get(memory, 0)
        if not first <= turn <= last or (kinds and role not in kinds and kind not in kinds):
            continue
        if adapter and version != adapter:
            continue
        value, weight = labels.get(memory, (None, None))
        out.append(
            ImportanceRow(
                turn, at, memory, kind, role, importance, first_scores.get(memory, importance), version, state, reason,
                pinned, tokens, value, weight,
            )
        )  # fmt: skip
    return sorted(out, key=lambda row: (row.turn, row.at, row.memory.int))


def adapter_changes(life: Life, first: int, last: int) -> list[tuple[int, AdapterChange]]:
    """The changes of adapter in these turns, each with its turn."""
    found = [(max(1, life.clock.turn_of(change.seq)), change) for change in life.history.adapters]
    return [(turn, change) for turn, change in found if first <= turn <= last]


@dataclass(frozen=True)
class CalibrationRow:
    """Memories whose importance lies in one tenth, and what judgements of them say."""

    low: float
    high: float
    memories: int
    importance: float  # mean
    label: float  # mean by weight


def calibration_rows(rows: Sequence[ImportanceRow], bins: int = 10) -> list[CalibrationRow]:
    """Judged memories by importance, in `bins` of the same width; empty ones are left out."""
    groups: dict[int, list[ImportanceRow]] = {}
    for row in rows:
        if row.label is not None and row.label_weight:
            groups.setdefault(min(bins - 1, int(row.importance * bins)), []).append(row)
    out = []
    for number, group in sorted(groups.items()):
        weights = [row.label_weight or 0.0 for row in group]
        label = sum((row.label or 0.0) * weight for row, weight in zip(group, weights, strict=True)) / sum(weights)
        mean = sum(row.importance for row in group) / len(group)
        out.append(CalibrationRow(number / bins, (number + 1) / bins, len(group), mean, label))
    return out


# --- 3. evictions and the budget -------------------------------------------------------------------------------------


@dataclass(frozen=True)
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
    for span in life.history.spans:
        if span.memory not in life.written:
            continue
        row = _span_row(life, span)
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


@dataclass(frozen=True)
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
    out = []
    for turn in range(first, last + 1):
        seq = seq_after(life, turn)
        if turn not in life.at or not seq:
            continue
        fill = life.history.fill_at(seq)
        out.append(
            BudgetRow(
                turn, life.at[turn], fill.held, fill.budget_memories, _share(fill.held, fill.budget_memories),
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
