"""A bank's past: its whole ledger folded once, with states kept along the way, so that any moment is near.

What is kept is ids and numbers, as the ledger is. A history comes out of here only with a `Bank` row that the caller
read as the acting user, like a hot bank; the events that came since are folded in first.
"""

from __future__ import annotations

import gc
import json
import threading
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from memory.engine.bank import BankEvent, BankState, Kind, apply
from memory.engine.types import BankError, State
from memory.models import Bank

LIVES = 4  # conversations of one bank whose turns are kept beside its history
EVERY = 4_000  # events between two kept states: at most so many are folded to reach a moment
MOST_EVENTS = 300_000  # that a process keeps, over all banks: some 200 MB
# A recall changes no more than how often and how late: left out, as are the features, which are most of the bytes.
# Instants as whole numbers, since most of them are read again and again, and none needs a calendar.
_READ = (
    "SELECT seq, kind, (extract(epoch FROM at) * 1000000)::bigint, memory, turn, "
    "CASE WHEN kind = 'recalled' THEN '{\"memories\": []}' ELSE (data - %s::text[])::text END "
    "FROM memory_event WHERE bank_id = %s AND seq > %s AND seq <= %s ORDER BY seq"
)
_UNREAD = ["features", "instead", "over", "budget", "turn", "side", "piece"]
_AT_ONCE = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# To look a member of an enumeration up takes longer than all else that is done with it.
_CONFIGURED, _WRITTEN, _HELD = Kind.CONFIGURED, Kind.WRITTEN, State.HELD


class Span(NamedTuple):
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


class Fill(NamedTuple):
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
        self.first_of: dict[UUID, int] = {}  # turn: the first event that it made
        self.written_by: dict[UUID, UUID | None] = {}  # memory: the turn that wrote it
        self.spans: list[Span] = []  # in the order in which they began
        self.first_scores: dict[UUID, float] = {}  # importance as it was written
        self.adapters: list[AdapterChange] = []
        self.lives: OrderedDict[UUID, tuple[Any, Any]] = OrderedDict()  # what `memory.life` read, by conversation
        self._open: dict[UUID, int] = {}  # memory: its open span
        self._kept: list[BankState] = [copy_of(self.state)]
        self._adapter = ""
        self._fills = array("q")  # four numbers an event

    @property
    def seq(self) -> int:
        return self.state.seq

    def extend(self, events: Iterable[tuple[BankEvent, UUID | None]]) -> None:
        """Fold in what came after the last event seen. Raises `BankError` on a gap."""
        for event, turn in events:
            apply(self.state, event)
            self.events.append(event)
            state = self.state
            self._fills.extend((state.held, state.held_tokens, state.budget.memories, state.budget.tokens))
            if turn is not None:
                self.first_of.setdefault(turn, event.seq)
            if event.kind is _WRITTEN and event.memory:
                self.written_by.setdefault(event.memory, turn)
                self.first_scores[event.memory] = event.data["importance"]
            self._note(event)
            if state.seq % EVERY == 0:
                self._kept.append(copy_of(state))

    def fill_at(self, seq: int) -> Fill:
        """How full the bank was after event `seq`, from 1."""
        return Fill(*self._fills[4 * (seq - 1) : 4 * seq])

    def state_at(self, seq: int) -> BankState:
        """The bank as it stood after event `seq` (0: before the first; at most the last). Recalls are not counted."""
        seq = max(0, seq)
        if seq >= self.seq:
            return copy_of(self.state)
        state = copy_of(self._kept[min(seq // EVERY, len(self._kept) - 1)])
        for event in self.events[state.seq : seq]:
            apply(state, event)
        return state

    def keep_life(self, conversation: UUID, key: Any, life: Any) -> None:
        """Keep what was read of one conversation, for as long as `key` says that nothing has changed."""
        self.lives[conversation] = (key, life)
        self.lives.move_to_end(conversation)
        while len(self.lives) > LIVES:
            self.lives.popitem(last=False)

    def _note(self, event: BankEvent) -> None:
        memory, data = event.memory, event.data
        if event.kind is _CONFIGURED:
            adapter = data.get("adapter", "")
            if event.seq > 1 and adapter != self._adapter:
                self.adapters.append(AdapterChange(event.seq, event.at, adapter, self._adapter))
            self._adapter = adapter
        if memory is None:
            return
        inside = self.state.marks[memory].state is _HELD
        if inside and memory not in self._open:
            self._open[memory] = len(self.spans)
            how = f"{event.kind}.{data['reason']}" if "reason" in data else str(event.kind)
            self.spans.append(Span(memory, event.seq, how, event.at))
        elif not inside and memory in self._open:
            self._close(self._open.pop(memory), event)

    def _close(self, number: int, event: BankEvent) -> None:
        data = event.data
        into = data.get("into")
        self.spans[number] = self.spans[number]._replace(
            left=event.seq, left_at=event.at, reason=data.get("reason") or str(event.kind),
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
    earlier one, whoever did it."""

    starts: Sequence[int]  # the first event of each turn that made one, rising
    ordinals: Sequence[int]  # of those turns, never falling

    def turn_of(self, seq: int) -> int:
        """The turn at which an event happened; 0 before the first."""
        place = bisect_right(self.starts, seq)
        return self.ordinals[place - 1] if place else 0

    def after(self, ordinal: int) -> int | None:
        """The last event before a later turn than `ordinal` began; None where no later one made any."""
        place = bisect_right(self.ordinals, ordinal)
        return self.starts[place] - 1 if place < len(self.starts) else None


def clock_of(history: BankHistory, ordinals: Mapping[UUID, int]) -> Clock:
    """The clock of a conversation with these turns."""
    first_of = history.first_of
    begun = sorted((first_of[turn], ordinal) for turn, ordinal in ordinals.items() if turn in first_of)
    return Clock([seq for seq, _ in begun], list(accumulate((ordinal for _, ordinal in begun), max)))


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
            with history.lock, uncollected():
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


@contextmanager
def uncollected() -> Iterator[None]:
    """Build many things that are kept: to look for garbage among them again and again doubles the time."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


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
    if len(came) >= EVERY:
        gc.freeze()  # or the next look for garbage goes through all of it: half a second that some request would wait
    return True


def _last_seq(bank: UUID) -> int:
    return Bank.objects.values_list("last_seq", flat=True).get(pk=bank)


def read_lean(bank: UUID, after: int, upto: int) -> list[tuple[BankEvent, UUID | None]]:
    """Events `after` < seq <= `upto` with their turns, without features and without what recalls handed on."""
    out: list[tuple[BankEvent, UUID | None]] = []
    ids: dict[UUID | None, UUID | None] = {}  # each once, so that they are told apart by what they are
    moments: dict[int, datetime] = {}  # what one turn does has one of them
    kinds = {kind.value: kind for kind in Kind}
    with connection.cursor() as cursor:
        for start in range(after, upto, _AT_ONCE):
            cursor.execute(_READ, [_UNREAD, bank, start, min(upto, start + _AT_ONCE)])
            rows = cursor.fetchall()
            told = json.loads(f"[{','.join(row[5] for row in rows)}]")
            for (seq, kind, at, memory, turn, _), data in zip(rows, told, strict=True):
                if at not in moments:
                    moments[at] = moment(at)
                memory, turn = ids.setdefault(memory, memory), ids.setdefault(turn, turn)
                out.append((BankEvent(seq, kinds[kind], moments[at], memory, data), turn))
    return out


def moment(microseconds: int) -> datetime:
    """The instant so long after 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)
