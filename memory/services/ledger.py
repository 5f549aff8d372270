"""Writing to a bank: events first, and the tables as their projection. Every change of a bank goes through here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from memory.engine.bank import BankEvent, Kind
from memory.engine.hot import HotBank, Loaded
from memory.engine.lexical import terms
from memory.engine.remember import Write, WritingPlan
from memory.engine.types import BankError, Recollection, State
from memory.hot_banks import AfterCommit, hot_banks, load, private_bank
from memory.models import Bank, Memory, MemorySource, Recall
from memory.services.erasures import keep_receipt
from memory.services.flush import Flush, Record, Used, rescore
from memory.services.statements import archived_twins, insert_trace, lock_bank

_TERM_LENGTH = 80


class BankMissing(BankError):
    """There is no such bank, or it is somebody else's."""


class LedgerWriter:
    """Collects what one transaction does to a bank and writes it in one statement."""

    def __init__(self, bank: Bank, hot: HotBank, *, private: bool, twins: Sequence[UUID] = ()) -> None:
        self.bank, self.hot, self._private = bank, hot, private
        self.twins = twins  # archived memories with the contents that `writing` was asked for
        self.events: list[BankEvent] = []
        self.remembered: list[UUID] = []  # turns whose sides are in
        self.used: Used | None = None
        self.erased: Counter[str] = Counter()  # what left the tables for good, by model
        self.erasing = "merged"  # what was asked to be erased: with it goes what held words of it
        self._turn_of: dict[int, UUID | None] = {}
        self._new: dict[UUID, dict[str, Any]] = {}
        self._loaded: dict[UUID, Loaded] = {}
        self._changes: dict[UUID, dict[str, Any]] = {}
        self._sources: list[Record] = []

    @property
    def next_seq(self) -> int:
        return self.bank.last_seq + len(self.events) + 1

    def add(self, kind: Kind, memory: UUID | None, at: datetime, turn: UUID | None = None, **data: Any) -> BankEvent:
        """Record one event and what it changes in the table."""
        event = BankEvent(self.next_seq, kind, at, memory, data)
        self._record(event, turn)
        return event

    def left(self) -> set[UUID]:
        """Memories that events of this transaction took out of the bank, and none brought back."""
        out: set[UUID] = set()
        for event in self.events:
            if event.memory is None:
                continue
            if event.kind in (Kind.EVICTED, Kind.FORGOTTEN, Kind.ERASED):
                out.add(event.memory)
            elif event.kind is Kind.RESTORED or event.data.get("to") == State.HELD:
                out.discard(event.memory)
        return out

    def take(self, plan: WritingPlan, turn: UUID) -> None:
        """Record the plan of one turn. A private bank runs ahead at once; the shared one waits for the commit."""
        for write in plan.writes:
            self._new[write.item.id] = self._row(write)
            self._loaded[write.item.id] = Loaded(write.item, write.new.vector, write.new.content, write.words)
        for event in plan.events:
            self._record(event, turn)
        for memory, side, how in plan.sources:
            self._sources.append(
                {"memory_id": memory, "turn_id": side.turn, "side": side.side, "piece": side.piece, "how": how}
            )
        for merged, parts in plan.merged.items():
            self._take_over(merged, parts)
        if self._private:
            restored = {event.memory for event in plan.events if event.kind is Kind.RESTORED and event.memory}
            if back := {memory for memory in restored if memory not in self._loaded}:
                self._loaded |= load(back)
            self.hot.apply(plan.events, self._loaded)

    def _take_over(self, merged: UUID, parts: Sequence[UUID]) -> None:
        """A merged memory has all sources of its parts, and the conversation and turn that its first part has now."""
        named = ("turn_id", "side", "piece")
        told = list(MemorySource.objects.filter(memory__in=parts).values(*named))
        told += [{name: source[name] for name in named} for source in self._sources if source["memory_id"] in parts]
        for turn, side, piece in sorted({tuple(one.values()) for one in told}, key=str):
            self._sources.append({"memory_id": merged, "turn_id": turn, "side": side, "piece": piece, "how": "formed"})
        where = ("conversation_id", "turn_id")
        row = self._new.get(parts[0]) or Memory.objects.filter(pk=parts[0]).values(*where).get()
        self._new[merged] |= {name: row[name] for name in where}

    def flush(self) -> None:
        """Write everything; after the commit the shared hot bank follows."""
        Flush(
            self.bank.owner_id, self.bank.pk, self.bank.space_id,
            last_seq=self.events[-1].seq if self.events else None,
            archived=self._write_changes(),
            memories=list(self._new.values()),
            vectors=[self._loaded[memory].vector for memory in self._new],
            events=[self._event_row(event) for event in self.events],
            sources=self._sources,
            unindexed=self._unindexed(),
            postings=self._postings(),
            remembered=self.remembered,
            used=self.used,
        ).write()  # fmt: skip
        if self.events:
            self.bank.last_seq = self.events[-1].seq
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
            row.update(fields)
        elif fields:
            self._changes.setdefault(event.memory, {}).update(fields)

    def _row(self, write: Write) -> dict[str, Any]:
        item = write.item
        return {
            "id": item.id, "text": item.text, "content": write.new.content.hex(), "role": item.role,
            "speaker": item.speaker, "at": item.at, "conversation_id": item.place.conversation, "turn_id": item.turn,
            "side": item.side, "place_conversation": item.place.conversation, "session": item.place.session,
            "position": item.place.position, "piece": item.piece, "tokens": item.tokens,
            "importance": item.importance, "features": [round(x, 5) for x in write.features.tolist()],
            "pinned": False, "archived_at": None, "archive_reason": "", "kind": item.kind,
        }  # fmt: skip

    def _event_row(self, event: BankEvent) -> dict[str, Any]:
        return {
            "seq": event.seq, "kind": event.kind, "memory": event.memory, "turn": self._turn_of[event.seq],
            "at": event.at, "data": event.data,
        }  # fmt: skip

    def _write_changes(self) -> tuple[datetime, str, list[UUID]] | None:
        """Change the rows of known memories; what merely leaves goes into the one statement.

        What leaves goes first: a memory that comes back may not meet its twin.
        """
        rescored = {memory: fields for memory, fields in self._changes.items() if "importance" in fields}
        rescore((memory, fields.pop("importance"), fields.pop("adapter")) for memory, fields in rescored.items())
        alike: dict[tuple[tuple[str, Any], ...], list[UUID]] = {}
        for memory, fields in self._changes.items():
            if fields:
                alike.setdefault(tuple(sorted(fields.items())), []).append(memory)
        if len(alike) == 1:
            ((key, memories),) = alike.items()
            fields = dict(key)
            if fields.get("state") == State.ARCHIVED and "archived_at" in fields and "before" not in fields:
                return fields["archived_at"], fields["archive_reason"], memories
        for key, memories in sorted(alike.items(), key=lambda entry: dict(entry[0]).get("state") == "held"):
            Memory.objects.filter(pk__in=memories).update(**dict(key))
        return None

    def _unindexed(self) -> list[UUID]:
        """What was in the bank has no postings yet; what came back and left again in one step has its words there."""
        states = self._changed_states()
        return [memory for memory, state in states.items() if state != State.ARCHIVED or self.hot.get(memory) is None]

    def _postings(self) -> dict[UUID, Counter[str]]:
        """The words of what is archived now, and of nothing else."""
        words = {pk: terms(row["text"]) for pk, row in self._new.items() if row["state"] == State.ARCHIVED}
        archived = [memory for memory, state in self._changed_states().items() if state == State.ARCHIVED]
        with self.hot.lock:
            words |= {memory: self.hot.words(memory) for memory in archived if self.hot.get(memory)}
        if unread := [memory for memory in archived if memory not in words]:
            texts = Memory.objects.filter(pk__in=unread).values_list("pk", "text")
            words |= {pk: terms(text) for pk, text in texts}
        return {memory: Counter(word[:_TERM_LENGTH] for word in found) for memory, found in words.items()}

    def _changed_states(self) -> dict[UUID, State]:
        return {memory: fields["state"] for memory, fields in self._changes.items() if "state" in fields}


def table_change(event: BankEvent) -> dict[str, Any]:
    """What an event changes in its memory's row: the table is a projection of the ledger."""
    data = event.data
    match event.kind:
        case Kind.WRITTEN:
            written = data.get("written", event.seq)
            return {"state": State.HELD, "adapter": data["adapter"], "written_seq": written, "written_at": event.at}
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
            else:
                fields |= {"archived_at": None, "archive_reason": ""}
            if "reason" in data:  # it was in the bank and goes to the archive
                fields |= {"archived_at": event.at, "archive_reason": data["reason"]}
            return fields
        case Kind.RESCORED:
            return {"importance": data["importance"], "adapter": data["adapter"]}
        case _:
            return {}


@contextmanager
def writing(
    bank_id: UUID, *, private: bool = False, contents: Sequence[bytes] = (), savepoint: bool = True
) -> Iterator[LedgerWriter]:
    """One transaction that changes one bank: locked, up to date, written at once at the end.

    `private` works on a hot bank of its own that follows each step at once, for many turns in one transaction. The
    writer's `twins` are the archived memories with these `contents`. Without a savepoint an error inside leaves the
    caller's transaction as it is: for callers that write nothing by themselves. Raises `BankMissing`.
    """
    with transaction.atomic() if savepoint or not connection.in_atomic_block else nullcontext():
        seen = hot_banks.seen(bank_id)
        locked = lock_bank(bank_id, contents)
        if locked is None:
            raise BankMissing("There is no such memory bank.")
        bank, twins = locked
        if contents and bank.last_seq != seen:  # others wrote meanwhile: the lock may have waited for them
            twins = archived_twins(bank_id, contents)
        hot = private_bank(bank) if private else hot_banks.open(bank)
        if hot.state.seq > bank.last_seq:
            # the server crashed and lost a commit that need not be durable (a trace's): what followed it is void
            hot_banks.drop(bank_id)
            hot = hot_banks.open(bank)
        writer = LedgerWriter(bank, hot, private=private, twins=twins)
        first = writer.next_seq
        yield writer
        writer.flush()
        if writer.erased:
            keep_receipt(bank, writer.erasing, writer.erased, (first, bank.last_seq))


def record_recall(trace: Recall, hot: HotBank, found: Recollection) -> None:
    """Save a trace and, where it handed something on, the one event that changes nothing but the ledger.

    After the commit the hot bank that was read follows.
    """
    if not found.chosen:
        insert_trace(trace, None)
        return
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
                hot_banks.drop(trace.bank_id)

    transaction.on_commit(AfterCommit(trace.bank_id, follow))
