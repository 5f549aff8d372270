"""The banks that this process keeps in memory: brought up to date by the events after the last one seen.

A bank comes out of here only with a `Bank` row that the caller read as the acting user: the database has said that
this user may.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import connection
from django.db.models import BinaryField, F, Func

from memory.engine.bank import BankEvent, Kind
from memory.engine.hot import HotBank, Loaded
from memory.engine.types import BankError, MemoryItem, Place, Role, Side, State
from memory.models import Bank, Event, Memory

_CHUNK = 2_000


class HotBanks:
    """Hot banks by id, least recently used first, bounded in bytes."""

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity = capacity_bytes
        self._banks: OrderedDict[UUID, HotBank] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, bank: Bank) -> HotBank:
        """The hot bank of `bank`, up to date with `bank.last_seq` as the caller read it.

        A transaction that has written to the bank gets one of its own: what is not committed may yet be rolled back.
        """
        if _written_here(bank.pk):
            return private_bank(bank)
        with self._lock:
            hot = self._banks.get(bank.pk)
            if hot is None:
                hot = self._banks[bank.pk] = HotBank(bank.space.width)
            self._banks.move_to_end(bank.pk)
        try:
            bring_up_to_date(hot, bank)
        except BankError:  # half folded: the next reader begins anew
            self.drop(bank.pk)
            raise
        self._shrink(keep=bank.pk)
        return hot

    def seen(self, bank: UUID) -> int:
        """The last event of a bank that this process has folded in; 0 for one that it does not hold."""
        hot = self._banks.get(bank)
        return hot.state.seq if hot else 0

    def drop(self, bank: UUID) -> None:
        """Forget a bank: the next `open` reads it anew."""
        with self._lock:
            self._banks.pop(bank, None)

    def clear(self) -> None:
        with self._lock:
            self._banks.clear()

    def _shrink(self, keep: UUID) -> None:
        with self._lock:
            while len(self._banks) > 1 and sum(hot.size for hot in self._banks.values()) > self._capacity:
                oldest = next(iter(self._banks))
                if oldest == keep:
                    return
                del self._banks[oldest]


@dataclass(frozen=True)
class AfterCommit:
    """Lets the shared hot bank follow a commit. While it waits, its transaction has changed the bank."""

    bank: UUID
    follow: Callable[[], None]

    def __call__(self) -> None:
        self.follow()


def _written_here(bank: UUID) -> bool:
    """Whether this transaction has written to the bank; a rollback, of a savepoint too, takes the hook with it."""
    hooks = (waiting[1] for waiting in connection.run_on_commit)
    return any(isinstance(hook, AfterCommit) and hook.bank == bank for hook in hooks)


hot_banks = HotBanks(settings.HOT_BANK_BYTES)


def private_bank(bank: Bank) -> HotBank:
    """A hot bank for one transaction alone (an import), which may run ahead of what is committed."""
    hot = HotBank(bank.space.width)
    bring_up_to_date(hot, bank)
    return hot


def bring_up_to_date(hot: HotBank, bank: Bank) -> None:
    """Fold in the events up to `bank.last_seq` that `hot` has not seen, and load the memories that they brought."""
    with hot.lock:
        if hot.state.seq >= bank.last_seq:
            return
        events = read_events(bank, after=hot.state.seq, upto=bank.last_seq)
        hot.apply(events, load(_brought(events)))


def read_events(bank: Bank, *, after: int = 0, upto: int | None = None) -> list[BankEvent]:
    """The ledger of a bank after one sequence number, in order."""
    rows = Event.objects.filter(bank=bank, seq__gt=after).order_by("seq")
    if upto is not None:
        rows = rows.filter(seq__lte=upto)
    fields = rows.values_list("seq", "kind", "at", "memory", "data")
    return [BankEvent(seq, Kind(kind), at, memory, data) for seq, kind, at, memory, data in fields.iterator(_CHUNK)]


def _brought(events: Collection[BankEvent]) -> set[UUID]:
    """Memories that these events put into the bank and did not take out again."""
    brought: set[UUID] = set()
    for event in events:
        if event.memory is None:
            continue
        if event.kind in (Kind.WRITTEN, Kind.RESTORED) or event.data.get("to") == State.HELD:
            brought.add(event.memory)
        elif event.kind in (Kind.EVICTED, Kind.FORGOTTEN, Kind.ERASED):
            brought.discard(event.memory)
    return brought


def load(memories: Collection[UUID]) -> dict[UUID, Loaded]:
    """Read memories with their vectors; those that are gone are not in the answer."""
    rows = (
        Memory.objects.filter(pk__in=memories)
        .annotate(packed=Func(F("vector"), function="vector_send", output_field=BinaryField()))
        .defer("vector", "features")
    )
    return {row.pk: loaded(row) for row in rows.iterator(_CHUNK)} if memories else {}


def loaded(row: Memory) -> Loaded:
    """One row with its `packed` vector (pgvector's binary form: two 16-bit numbers, then big-endian floats)."""
    vector = np.frombuffer(bytes(row.packed), dtype=">f4", offset=4).astype(np.float32)  # type: ignore[attr-defined]
    return Loaded(memory_item(row), vector, bytes(row.content))


def memory_item(row: Memory) -> MemoryItem:
    """The engine's view of a row."""
    return MemoryItem(
        id=row.pk, text=row.text, role=Role(row.role), speaker=row.speaker, at=row.at, tokens=row.tokens,
        importance=row.importance, turn=row.turn_id or row.pk, side=Side(row.side),
        place=Place(row.place_conversation, row.session, row.position), piece=row.piece, kind=row.kind,
        pinned=row.pinned, written=row.written_seq, written_at=row.written_at,
    )  # fmt: skip
