"""The statements of a turn, one round trip each: built by hand, since the ORM takes longer to build them than the
database to run them. Each runs as the acting user, in the transaction that is open.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from memory.models import Bank, EncoderSpace, Recall

_BANK = [field.column for field in Bank._meta.concrete_fields]
_BANK_NAMES = [field.attname for field in Bank._meta.concrete_fields]
_SPACE_NAMES = [field.attname for field in EncoderSpace._meta.concrete_fields]
_COLUMNS = ", ".join(
    [*(f"b.{column}" for column in _BANK), *(f"s.{field.column}" for field in EncoderSpace._meta.concrete_fields)]
)

_OF_CONVERSATION = (
    f"SELECT {_COLUMNS} FROM memory_conversation c JOIN memory_bank b ON b.id = c.bank_id "
    "JOIN memory_encoderspace s ON s.id = b.space_id WHERE c.id = %s"
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
    with connection.cursor() as cursor:
        cursor.execute(_OF_CONVERSATION, [conversation])
        row = cursor.fetchone()
    return bank_of(row) if row else None


def bank_of(row: Sequence[Any]) -> Bank:
    """A bank from a row of its columns and its space's."""
    bank: Bank = Bank.from_db("default", _BANK_NAMES, row[: len(_BANK)])
    bank.space = EncoderSpace.from_db("default", _SPACE_NAMES, row[len(_BANK) :])
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
    with connection.cursor() as cursor:
        if recalled is None:
            cursor.execute(_TRACE_ALONE, values)
        else:
            cursor.execute(_TRACE_AND_EVENT, [*values, trace.bank_id, trace.turn_id, trace.at, json.dumps(recalled)])
        seq: int | None = cursor.fetchone()[0]
    return seq


def mark_used(recall: UUID, *, injected: Collection[UUID], cited: Collection[UUID]) -> None:
    """Note which of the recalled memories reached the prompt, and which of those the reply used: three facts apart."""
    used = array(set(cited) & set(injected))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_recall SET injected = ARRAY(SELECT m FROM unnest(recalled) m WHERE m = ANY(%s::uuid[])), "
            "cited = ARRAY(SELECT m FROM unnest(recalled) m WHERE m = ANY(%s::uuid[])) WHERE id = %s",
            [array(injected), used, recall],
        )


def array(values: Collection[UUID] | Collection[str]) -> str:
    """PostgreSQL's spelling of an array of ids or of plain words."""
    return "{" + ",".join(map(str, values)) + "}"
