"""What a turn asks and writes, one round trip each. Each runs as the acting user, in the transaction that is open."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from memory.models import Bank, EncoderSpace, Recall
from memory.prepared import array, contents, run

_BANK = [field.attname for field in Bank._meta.concrete_fields]
_SPACE = [field.attname for field in EncoderSpace._meta.concrete_fields]
_BANK_AND_SPACE = ", ".join([*(f"b.{name}" for name in _BANK), *(f"s.{name}" for name in _SPACE)])
_SPACE_OF_BANK = "JOIN memory_encoderspace s ON s.id = b.space_id"

_BANK_OF_CONVERSATION = (
    f"SELECT {_BANK_AND_SPACE} FROM memory_conversation c JOIN memory_bank b ON b.id = c.bank_id {_SPACE_OF_BANK} "
    "WHERE c.id = %s"
)
_ARCHIVED_TWINS = (
    "SELECT m.id FROM memory_memory m WHERE m.bank_id = {bank} AND m.state = 'archived' "
    "AND m.content = ANY(%s::bytea[])"
)
_BANK_LOCKED = (
    f"SELECT ARRAY({_ARCHIVED_TWINS.format(bank='b.id')}), {_BANK_AND_SPACE} FROM memory_bank b {_SPACE_OF_BANK} "
    "WHERE b.id = %s FOR UPDATE OF b"
)

_TRACE_VALUES: dict[str, str] = {  # column: how its parameter is written
    "id": "%s", "owner_id": "%s", "bank_id": "%s", "turn_id": "%s", "at": "%s", "seq": "%s", "adapter": "%s",
    "asking": "%s", "with_previous": "%s", "bypassed": "%s", "floor": "%s", "highly": "%s", "candidates": "%s",
    "below_floor": "%s", "over_budget": "%s", "normalisation": "%s::jsonb", "memories": "%s::uuid[]",
    "signals": "%s::varchar[]", "numbers": "%s", "archived": "%s::uuid[]", "recalled": "%s::uuid[]",
    "injected": "%s::uuid[]", "cited": "%s::uuid[]", "regretted": "%s::jsonb", "timings_ms": "%s::jsonb",
}  # fmt: skip
_TRACE = f"INSERT INTO memory_recall ({', '.join(_TRACE_VALUES)}) VALUES ({', '.join(_TRACE_VALUES.values())}) "
# A trace may be lost in a crash: its transaction's commit returns before it is on disk.
_UNHURRIED = "set_config('synchronous_commit', 'off', true)"
_TRACE_ALONE = f"{_TRACE} RETURNING NULL, {_UNHURRIED}"
# Numbered under the bank's row lock, so that the ledger has no gap.
_TRACE_AND_EVENT = (
    f"WITH trace AS ({_TRACE}), numbered AS ("
    "UPDATE memory_bank SET last_seq = last_seq + 1 WHERE id = %s RETURNING owner_id, id, last_seq) "
    "INSERT INTO memory_event (owner_id, bank_id, seq, kind, turn, at, data) "
    f"SELECT owner_id, id, last_seq, 'recalled', %s, %s, %s::jsonb FROM numbered RETURNING seq, {_UNHURRIED}"
)


def bank_of_conversation(conversation: UUID) -> Bank | None:
    """The conversation's bank with its space; None where the acting user has no such conversation."""
    row = run(_BANK_OF_CONVERSATION, [conversation])
    return _bank_of(row) if row else None


def lock_bank(bank: UUID, hashes: Sequence[bytes]) -> tuple[Bank, list[UUID]] | None:
    """Read a bank for change, and with it the ids of its archived memories whose contents have these hashes.

    Writers of one bank wait for each other, so that its ledger has no gaps. Where this one waited, the ids are those
    from before: ask `archived_twins` again. None: no such bank, or another's.
    """
    row = run(_BANK_LOCKED, [contents(hashes), bank])
    return (_bank_of(row[1:]), row[0]) if row else None


def archived_twins(bank: UUID, hashes: Sequence[bytes]) -> list[UUID]:
    """Ids of a bank's archived memories whose contents have these hashes."""
    found = run(f"SELECT ARRAY({_ARCHIVED_TWINS.format(bank='%s')})", [bank, contents(hashes)])
    return list(found[0]) if found else []


def _bank_of(row: Sequence[Any]) -> Bank:
    bank: Bank = Bank.from_db("default", _BANK, row[: len(_BANK)])
    bank.space = EncoderSpace.from_db("default", _SPACE, row[len(_BANK) :])
    return bank


def insert_trace(trace: Recall, recalled: dict[str, Any] | None) -> int | None:
    """Save a trace and, where something was `recalled`, its event's data with it. Returns that event's number."""
    values: list[Any] = [
        trace.pk, trace.owner_id, trace.bank_id, trace.turn_id, trace.at, trace.seq, trace.adapter, trace.asking,
        trace.with_previous, trace.bypassed, trace.floor, trace.highly, trace.candidates, trace.below_floor,
        trace.over_budget, json.dumps(trace.normalisation), array(trace.memories), array(trace.signals),
        trace.numbers, array(trace.archived), array(trace.recalled), array(trace.injected), array(trace.cited),
        json.dumps(trace.regretted), json.dumps(trace.timings_ms),
    ]  # fmt: skip
    if recalled is None:
        run(_TRACE_ALONE, values)
        return None
    row = run(_TRACE_AND_EVENT, [*values, trace.bank_id, trace.turn_id, trace.at, json.dumps(recalled)])
    return row[0] if row else None
