"""A bank's past: its whole ledger folded once, with states kept along the way, so that any moment is near.

What is kept is ids and numbers, as the ledger is. A history comes out of here only with a `Bank` row that the caller
read as the acting user, like a hot bank; the events that came since are folded in first.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import connection

from memory.engine.bank import BankEvent, BankState, Kind, apply
from memory.engine.types import BankError, State
from memory.models import Bank

EVERY = 4_000  # events between two kept states: at most so many are folded to reach a moment
MOST_EVENTS = 300_000  # that a process keeps, over all banks: some 200 MB
# A recall changes no more than how often and how late: left out, as are the features, which are most of the bytes.
_READ = (
    "SELECT seq, kind, at, memory, turn, CASE WHEN kind = 'recalled' THEN '{\"memories\": []}'::jsonb "
    "ELSE data - 'features' - 'instead' END "
    "FROM memory_event WHERE bank_id = %s AND seq > %s AND seq <= %s ORDER BY seq"
)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch that one memory was in the bank, from one event to another; open (`left` None) while it still is."""

    memory: UUID
    came: int  # sequence number
    how: str  # "written", "restored" (and why: "restored.asked"), "unforgotten"
    came_at: datetime
    left: int | None = None
    left_at: datetime | None = None
    reason: str = ""  # why it left: an eviction's reason, "forgotten" or "erased"
    policy: str = ""
    adapter: str = ""
    score: float | None = None  # what the policy ranked it by
    into: UUID | None = None  # where its words went


@dataclass(frozen=True, slots=True)
class Fill:
    """How full a bank was after an event."""

    held: int
    tokens: int
    budget_memories: int
    budget_tokens: int


@dataclass(frozen=True, slots=True)
class AdapterChange:
    """From this event on another adapter served the bank."""

    seq: int
    at: datetime
    adapter: str  # "" is the shipped one
    former: str


class BankHistory:
    """The fold of a ledger with what happened on the way. Not changed by readers; `extend` is under `lock`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.state = BankState()
        self.events: list[BankEvent] = []
        self.turns: list[UUID | None] = []  # of each event
        self.fills: list[Fill] = []  # after each event
        self.spans: list[Span] = []  # in the order in which they began
        self.first_scores: dict[UUID, float] = {}  # importance as it was written
        self.adapters: list[AdapterChange] = []
        self._open: dict[UUID, int] = {}  # memory: its open span
        self._kept: list[BankState] = [copy_of(self.state)]
        self._adapter = ""

    @property
    def seq(self) -> int:
        return self.state.seq

    def extend(self, events: Iterable[tuple[BankEvent, UUID | None]]) -> None:
        """Fold in what came after the last event seen. Raises `BankError` on a gap."""
        for event, turn in events:
            apply(self.state, event)
            self.events.append(event)
            self.turns.append(turn)
            state = self.state
            self.fills.append(Fill(state.held, state.held_tokens, state.budget.memories, state.budget.tokens))
            self._note(event)
            if state.seq % EVERY == 0:
                self._kept.append(copy_of(state))

    def state_at(self, seq: int) -> BankState:
        """The bank as it stood after event `seq` (0: before the first; at most the last). Recalls are not counted."""
        seq = min(max(0, seq), self.seq)
        state = copy_of(self._kept[min(seq // EVERY, len(self._kept) - 1)])
        for event in self.events[state.seq : seq]:
            apply(state, event)
        return state

    def _note(self, event: BankEvent) -> None:
        memory, data = event.memory, event.data
        if event.kind is Kind.CONFIGURED:
            adapter = data.get("adapter", "")
            if event.seq > 1 and adapter != self._adapter:
                self.adapters.append(AdapterChange(event.seq, event.at, adapter, self._adapter))
            self._adapter = adapter
        if memory is None:
            return
        if event.kind is Kind.WRITTEN:
            self.first_scores[memory] = data["importance"]
        inside = self.state.marks[memory].state is State.HELD
        if inside and memory not in self._open:
            self._open[memory] = len(self.spans)
            how = ".".join(part for part in (event.kind.value, data.get("reason", "")) if part)
            self.spans.append(Span(memory, event.seq, how, event.at))
        elif not inside and memory in self._open:
            self._close(self._open.pop(memory), event)

    def _close(self, number: int, event: BankEvent) -> None:
        data = event.data
        into = data.get("into")
        self.spans[number] = replace(
            self.spans[number], left=event.seq, left_at=event.at, reason=data.get("reason") or event.kind.value,
            policy=data.get("policy", ""), adapter=data.get("adapter", ""), score=data.get("score"),
            into=UUID(into) if into else None,
        )  # fmt: skip


def copy_of(state: BankState) -> BankState:
    """A state that can be folded further without changing the first. (Marks are frozen; what is standardised with
    is shared, since without features it stays as it is.)"""
    other = copy(state)
    other.marks = dict(state.marks)
    return other


@dataclass(frozen=True)
class Clock:
    """Sequence numbers as numbers of turns of one conversation: what happened between two turns belongs to the
    earlier one."""

    seqs: Sequence[int]  # of events that a turn of the conversation made, rising
    ordinals: Sequence[int]  # of those turns, never falling

    def turn_of(self, seq: int) -> int:
        """The turn at which an event happened; 0 before the first."""
        place = bisect_right(self.seqs, seq)
        return self.ordinals[place - 1] if place else 0

    def after(self, ordinal: int) -> int:
        """The last event that a turn up to `ordinal` made; 0 where none did."""
        place = bisect_right(self.ordinals, ordinal)
        return self.seqs[place - 1] if place else 0


def clock_of(history: BankHistory, ordinals: Mapping[UUID, int]) -> Clock:
    """The clock of a conversation with these turns."""
    seqs: list[int] = []
    turns: list[int] = []
    last = 0
    for number, turn in enumerate(history.turns, 1):
        if turn is not None and (ordinal := ordinals.get(turn)) is not None:
            last = max(last, ordinal)
            seqs.append(number)
            turns.append(last)
    return Clock(seqs, turns)


class Histories:
    """The histories that this process keeps, least recently used first, bounded in events."""

    def __init__(self, most_events: int) -> None:
        self._most = most_events
        self._of: OrderedDict[UUID, BankHistory] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, bank: Bank) -> BankHistory:
        """The history of `bank`, at least up to `bank.last_seq` as the caller read it."""
        history = self._kept(bank.pk)
        try:
            with history.lock:
                if _follows(history, bank):
                    return history
        except BankError:  # half folded: the next reader begins anew
            self.drop(bank.pk)
            raise
        self.drop(bank.pk)
        return self.open(bank)

    def drop(self, bank: UUID) -> None:
        """Forget a bank's history: the next `open` reads it anew."""
        with self._lock:
            self._of.pop(bank, None)

    def clear(self) -> None:
        with self._lock:
            self._of.clear()

    def _kept(self, bank: UUID) -> BankHistory:
        with self._lock:
            history = self._of.setdefault(bank, BankHistory())
            self._of.move_to_end(bank)
            while len(self._of) > 1 and sum(one.seq for one in self._of.values()) > self._most:
                self._of.popitem(last=False)
            return history


histories = Histories(MOST_EVENTS)


def _follows(history: BankHistory, bank: Bank) -> bool:
    """Fold in what came since; False where the ledger is not the one that was folded.

    So it is after a crash that lost a commit which need not be durable (a trace's): what followed it is void.
    """
    if history.seq >= bank.last_seq:
        return history.seq == bank.last_seq or history.seq <= _last_seq(bank.pk)
    known = history.events[-1:]
    came = read_lean(bank.pk, history.seq - len(known), bank.last_seq)
    if known and (known[0].at, known[0].kind) != (came[0][0].at, came[0][0].kind):
        return False
    history.extend(came[len(known) :])
    return True


def _last_seq(bank: UUID) -> int:
    return Bank.objects.values_list("last_seq", flat=True).get(pk=bank)


def read_lean(bank: UUID, after: int, upto: int) -> list[tuple[BankEvent, UUID | None]]:
    """Events `after` < seq <= `upto` with their turns, without features and without what recalls handed on."""
    with connection.cursor() as cursor:
        cursor.execute(_READ, [bank, after, upto])  # Django's connections hand JSON on as text
        return [
            (BankEvent(seq, Kind(kind), at, memory, json.loads(data)), turn)
            for seq, kind, at, memory, turn, data in cursor.fetchall()
        ]
