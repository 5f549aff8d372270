"""Writing to a bank: events first, and the tables as their projection. Every change of a bank goes through here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from memory.engine.bank import BankEvent, Kind
from memory.engine.hot import HotBank, Loaded
from memory.engine.lexical import terms
from memory.engine.remember import WritingPlan
from memory.engine.types import BankError, Recollection, State
from memory.hot_banks import AfterCommit, hot_banks, load, private_bank
from memory.models import Bank, Event, Memory, MemorySource, Posting, Recall
from memory.services.statements import insert_trace

_TERM_LENGTH = 80


class BankMissing(BankError):
    """There is no such bank, or it is somebody else's."""


def lock_bank(bank_id: UUID) -> Bank:
    """Read a bank for change: writers of one bank wait for each other, so that its ledger has no gaps."""
    bank = Bank.objects.select_for_update(of=("self",)).select_related("space").filter(pk=bank_id).first()
    if bank is None:
        raise BankMissing("There is no such memory bank.")
    return bank


class LedgerWriter:
    """Collects what one transaction does to a bank and writes it in a few bulk statements."""

    def __init__(self, bank: Bank, hot: HotBank, *, private: bool) -> None:
        self.bank, self.hot, self._private = bank, hot, private
        self.events: list[BankEvent] = []
        self._turn_of: dict[int, UUID | None] = {}
        self._new: dict[UUID, Memory] = {}
        self._loaded: dict[UUID, Loaded] = {}
        self._changes: dict[UUID, dict[str, Any]] = {}
        self._sources: list[MemorySource] = []

    @property
    def next_seq(self) -> int:
        return self.bank.last_seq + len(self.events) + 1

    def add(self, kind: Kind, memory: UUID | None, at: datetime, turn: UUID | None = None, **data: Any) -> BankEvent:
        """Record one event and what it changes in the table."""
        event = BankEvent(self.next_seq, kind, at, memory, data)
        self._record(event, turn)
        return event

    def take(self, plan: WritingPlan, turn: UUID) -> None:
        """Record the plan of one turn. A private bank runs ahead at once; the shared one waits for the commit."""
        for write in plan.writes:
            self._new[write.item.id] = self._row(write)
            self._loaded[write.item.id] = Loaded(write.item, write.new.vector, write.new.content, write.words)
        for event in plan.events:
            self._record(event, turn)
        for memory, side, how in plan.sources:
            self._sources.append(
                MemorySource(
                    owner_id=self.bank.owner_id, memory_id=memory, turn_id=side.turn, side=side.side.value,
                    piece=side.piece, how=how,
                )
            )  # fmt: skip
        if self._private:
            back = {event.memory for event in plan.events if event.kind is Kind.RESTORED and event.memory}
            self.hot.apply(plan.events, self._loaded | load(back - self._loaded.keys()))

    def flush(self) -> None:
        """Write everything; after the commit the shared hot bank follows."""
        if not self.events:
            return
        self._write_changes()
        Memory.objects.bulk_create(self._new.values(), batch_size=500)
        Event.objects.bulk_create(map(self._event_row, self.events), batch_size=2000)
        MemorySource.objects.bulk_create(self._sources, batch_size=2000)
        self._write_postings()
        self.bank.last_seq = self.events[-1].seq
        Bank.objects.filter(pk=self.bank.pk).update(last_seq=self.bank.last_seq)
        transaction.on_commit(AfterCommit(self.bank.pk, self._advance))

    def _advance(self) -> None:
        """Spare the next reader a query: fold the committed events into the hot bank, unless someone already did.

        (A bank of this transaction's own is thrown away; whether it follows does not matter.)
        """
        with self.hot.lock:
            if self.hot.state.seq == self.events[0].seq - 1 and not self._restores():
                self.hot.apply(self.events, self._loaded)

    def _restores(self) -> bool:
        """Whether an event brought back a memory whose words are not at hand: then the next reader loads it."""
        return any(
            event.memory not in self._loaded and (event.kind is Kind.RESTORED or event.data.get("to") == State.HELD)
            for event in self.events
        )

    def _record(self, event: BankEvent, turn: UUID | None) -> None:
        if event.seq != self.next_seq:
            raise BankError(f"An event is numbered {event.seq}, the ledger expects {self.next_seq}.")
        self.events.append(event)
        self._turn_of[event.seq] = turn
        if event.memory is None:
            return
        fields = table_change(event)
        row = self._new.get(event.memory)
        if row is not None:
            for name, value in fields.items():
                setattr(row, name, value)
        elif fields:
            self._changes.setdefault(event.memory, {}).update(fields)

    def _row(self, write: Any) -> Memory:
        item, new = write.item, write.new
        return Memory(
            id=item.id, owner_id=self.bank.owner_id, bank=self.bank, text=item.text, content=new.content,
            role=item.role.value, speaker=item.speaker, at=item.at, conversation_id=item.place.conversation,
            turn_id=item.turn, side=item.side.value, place_conversation=item.place.conversation,
            session=item.place.session, position=item.place.position, piece=item.piece, tokens=item.tokens,
            importance=item.importance, features=[round(float(x), 5) for x in write.features], space=self.bank.space,
            vector=new.vector,
        )  # fmt: skip

    def _event_row(self, event: BankEvent) -> Event:
        return Event(
            owner_id=self.bank.owner_id, bank=self.bank, seq=event.seq, kind=event.kind.value, memory=event.memory,
            turn=self._turn_of[event.seq], at=event.at, data=dict(event.data),
        )  # fmt: skip

    def _write_changes(self) -> None:
        """One statement for the memories that change alike (evictions of one turn do, but for nothing)."""
        alike: dict[tuple[tuple[str, Any], ...], list[UUID]] = {}
        for memory, fields in self._changes.items():
            alike.setdefault(tuple(sorted(fields.items())), []).append(memory)
        # what leaves goes first: a memory that comes back may not meet its twin
        for fields_key, memories in sorted(alike.items(), key=lambda entry: dict(entry[0]).get("state") == "held"):
            Memory.objects.filter(pk__in=memories).update(**dict(fields_key))

    def _write_postings(self) -> None:
        """Index the words of what is archived now, and of nothing else."""
        changed = {memory: fields["state"] for memory, fields in self._changes.items() if "state" in fields}
        # what was in the bank has none yet; what came back and left again in one step has its words there already
        stale = [m for m, state in changed.items() if state != State.ARCHIVED or self.hot.get(m) is None]
        if stale:
            Posting.objects.filter(memory__in=stale).delete()
        words = {row.pk: terms(row.text) for row in self._new.values() if row.state == State.ARCHIVED}
        archived = [memory for memory, state in changed.items() if state == State.ARCHIVED]
        with self.hot.lock:
            at_hand = {memory: self.hot.words(memory) for memory in archived if self.hot.get(memory)}
        unread = [memory for memory in archived if memory not in at_hand]
        words |= at_hand | {
            pk: terms(text) for pk, text in Memory.objects.filter(pk__in=unread).values_list("pk", "text") if unread
        }
        self._insert_postings(words)

    def _insert_postings(self, words: Mapping[UUID, Sequence[str]]) -> None:
        """One plain statement: an eviction adds dozens of rows, and an object for each costs more than they do."""
        rows = [
            (memory, term, tf)
            for memory, found in words.items()
            for term, tf in Counter(word[:_TERM_LENGTH] for word in found).items()
        ]
        if not rows:
            return
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO memory_posting (owner_id, bank_id, memory_id, term, tf) SELECT %s, %s, memory, term, tf "
                "FROM unnest(%s::uuid[], %s::text[], %s::int[]) AS new(memory, term, tf)",
                [self.bank.owner_id, self.bank.pk, *(list(column) for column in zip(*rows, strict=True))],
            )


def table_change(event: BankEvent) -> dict[str, Any]:
    """What an event changes in its memory's row: the table is a projection of the ledger."""
    data = event.data
    match event.kind:
        case Kind.WRITTEN:
            return {"state": State.HELD, "adapter": data["adapter"], "written_seq": event.seq, "written_at": event.at}
        case Kind.EVICTED:
            return {
                "state": State.ARCHIVED, "archived_at": event.at, "archive_reason": data["reason"], "pinned": False,
            }  # fmt: skip
        case Kind.RESTORED:
            return {"state": State.HELD, "archived_at": None, "archive_reason": ""}
        case Kind.PINNED | Kind.UNPINNED:
            return {"pinned": event.kind is Kind.PINNED}
        case Kind.FORGOTTEN:
            until = datetime.fromisoformat(data["until"])
            return {"state": State.FORGOTTEN, "forgotten_until": until, "before": State(data["before"])}
        case Kind.UNFORGOTTEN:
            fields: dict[str, Any] = {"state": State(data["to"]), "forgotten_until": None, "before": ""}
            if data["to"] == State.ARCHIVED:
                fields["pinned"] = False
            if "reason" in data:  # it was in the bank and goes to the archive
                fields |= {"archived_at": event.at, "archive_reason": data["reason"]}
            return fields
        case Kind.RESCORED:
            return {"importance": data["importance"], "adapter": data["adapter"]}
        case _:
            return {}


@contextmanager
def writing(bank_id: UUID, *, private: bool = False) -> Iterator[LedgerWriter]:
    """One transaction that changes one bank: locked, up to date, written in bulk at the end.

    `private` works on a hot bank of its own that follows each step at once, for many turns in one transaction.
    """
    with transaction.atomic():
        bank = lock_bank(bank_id)
        hot = private_bank(bank) if private else hot_banks.open(bank)
        if hot.state.seq > bank.last_seq:
            # the server crashed and lost a commit that need not be durable (a trace's): what followed it is void
            hot_banks.drop(bank_id)
            hot = hot_banks.open(bank)
        writer = LedgerWriter(bank, hot, private=private)
        yield writer
        writer.flush()


def record_recall(trace: Recall, bank: Bank, found: Recollection) -> None:
    """Save a trace and, where it handed something on, the one event that changes nothing but the ledger."""
    if not found.chosen:
        insert_trace(trace, None)
        return
    hot = hot_banks.open(bank)
    data = {
        "recall": str(trace.pk),
        "memories": [str(found.items[row].id) for row in found.chosen],
        "weights": [round(float(found.weights[row]), 5) for row in found.chosen],
    }
    seq = insert_trace(trace, data)
    if seq is None:
        raise BankMissing("There is no such memory bank.")
    event = BankEvent(seq, Kind.RECALLED, trace.at, None, data)

    def follow() -> None:
        with hot.lock:
            if hot.state.seq == event.seq - 1:
                hot.apply([event], {})
            elif hot.state.seq >= event.seq:  # it saw commits that a crashed server lost, as in `writing`
                hot_banks.drop(bank.pk)

    transaction.on_commit(AfterCommit(bank.pk, follow))
