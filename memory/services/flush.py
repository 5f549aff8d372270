"""What one transaction writes to a bank, in one statement: memories, events, sources, words, and what goes along."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import numpy as np

from memory.engine.types import Floats
from memory.prepared import Reals, array, run

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Used:
    """What became of a recall: which of its memories reached the prompt, and which of those the reply used."""

    recall: UUID
    injected: Collection[UUID]
    cited: Collection[UUID]


@dataclass
class Flush:
    """All that one transaction writes to a bank, as rows of plain values; `write` says it in one statement."""

    owner: UUID
    bank: UUID
    space: int
    last_seq: int | None = None  # the number of the last event, where there is one
    memories: list[Record] = field(default_factory=list)
    vectors: list[Floats] = field(default_factory=list)  # (E,) of each of `memories`
    events: list[Record] = field(default_factory=list)
    sources: list[Record] = field(default_factory=list)
    postings: Mapping[UUID, Mapping[str, int]] = field(default_factory=dict)  # of archived memories: term, how often
    unindexed: Sequence[UUID] = ()  # memories whose postings go
    archived: tuple[datetime, str, Sequence[UUID]] | None = None  # when, why, which
    remembered: Sequence[UUID] = ()  # turns
    used: Used | None = None

    def write(self) -> None:
        """Write everything; an import's many rows go ahead in batches of their own."""
        self._ahead("memories", _BATCH)
        self._ahead("events", 4 * _BATCH)
        self._ahead("sources", 4 * _BATCH)
        if parts := self._parts():
            self._send(parts)

    def _ahead(self, name: str, size: int) -> None:
        rows, vectors = getattr(self, name), self.vectors
        if len(rows) <= size:
            return
        for start in range(0, len(rows), size):
            batch = Flush(self.owner, self.bank, self.space, vectors=vectors[start : start + size])
            setattr(batch, name, rows[start : start + size])
            self._send(batch._parts())
        setattr(self, name, [])

    def _parts(self) -> list[tuple[str, list[Any]]]:
        """The parts of the statement that have something to write, with their parameters."""
        parts: list[tuple[str, list[Any]]] = []
        if self.archived:
            when, why, which = self.archived
            parts.append(("archived", [when, why, array(which)]))
        if self.memories:
            width = len(self.vectors[0])
            numbers = Reals(np.concatenate(self.vectors))
            parts.append(
                (
                    "memories",
                    [
                        self.owner,
                        self.bank,
                        self.space,
                        numbers,
                        width,
                        width,
                        _rows([{**row, "number": number} for number, row in enumerate(self.memories)]),
                    ],
                )
            )
        if self.events:
            parts.append(("events", [self.owner, self.bank, _rows(self.events)]))
        if self.sources:
            parts.append(("sources", [self.owner, _rows(self.sources)]))
        if self.unindexed:
            parts.append(("unindexed", [array(self.unindexed)]))
        if self.postings:
            words = {str(memory): counts for memory, counts in self.postings.items()}
            parts.append(("postings", [self.owner, self.bank, json.dumps(words)]))
        if self.remembered:
            parts.append(("remembered", [array(self.remembered)]))
        if self.used:
            parts.append(("used", _used(self.used)))
        if self.last_seq is not None:
            parts.append(("bank", [self.last_seq, self.bank]))
        return parts

    def _send(self, parts: Iterable[tuple[str, list[Any]]]) -> None:
        run(_flush(tuple(name for name, _ in parts)), [value for _, values in parts for value in values])


def rescore(scores: Iterable[tuple[UUID, float, str]]) -> None:
    """Write new scores: memory, importance, and the version of the adapter that gave it.

    Ahead of all else, since one statement may change a row only once.
    """
    rows = [{"id": memory, "importance": importance, "adapter": adapter} for memory, importance, adapter in scores]
    for start in range(0, len(rows), 4 * _BATCH):
        run(_RESCORED, [_rows(rows[start : start + 4 * _BATCH])])


_BATCH = 500
_MEMORY = {
    "id": "uuid", "state": "varchar", "text": "text", "role": "varchar", "speaker": "varchar", "at": "timestamptz",
    "conversation_id": "uuid", "turn_id": "uuid", "side": "varchar", "place_conversation": "uuid", "session": "int",
    "position": "int", "piece": "int", "tokens": "int", "importance": "float8", "features": "jsonb",
    "adapter": "varchar", "pinned": "bool", "written_seq": "bigint", "written_at": "timestamptz",
    "archived_at": "timestamptz", "archive_reason": "varchar", "kind": "varchar",
}  # fmt: skip
_EVENT = {
    "seq": "bigint", "kind": "varchar", "memory": "uuid", "turn": "uuid", "at": "timestamptz", "data": "jsonb",
}  # fmt: skip
_SOURCE = {"memory_id": "uuid", "turn_id": "uuid", "side": "varchar", "piece": "int", "how": "varchar"}


def _given(fields: dict[str, str], **more: str) -> str:
    return f"json_to_recordset(%s::json) AS n({', '.join(f'{name} {kind}' for name, kind in (fields | more).items())})"


_SCORE = {"id": "uuid", "importance": "float8", "adapter": "varchar"}
_RESCORED = (
    f"UPDATE memory_memory m SET importance = n.importance, adapter = n.adapter FROM {_given(_SCORE)} WHERE m.id = n.id"
)


def _names(fields: Mapping[str, str], of: str = "") -> str:
    return ", ".join(f"{of}{name}" for name in fields)


_PARTS: dict[str, str] = {
    "archived": "UPDATE memory_memory SET state = 'archived', archived_at = %s::timestamptz, archive_reason = %s, "
    "pinned = false WHERE id = ANY(%s::uuid[])",
    "memories": "INSERT INTO memory_memory (owner_id, bank_id, space_id, vector, content, before, "
    f"{_names(_MEMORY)}) SELECT %s, %s, %s, (%s::real[])[n.number * %s + 1 : (n.number + 1) * %s]::vector, "
    f"decode(n.content, 'hex'), '', {_names(_MEMORY, 'n.')} "
    f"FROM {_given(_MEMORY, number='int', content='text')}",
    "events": f"INSERT INTO memory_event (owner_id, bank_id, {_names(_EVENT)}) "
    f"SELECT %s, %s, {_names(_EVENT, 'n.')} FROM {_given(_EVENT)}",
    "sources": f"INSERT INTO memory_memorysource (owner_id, id, {_names(_SOURCE)}) "
    f"SELECT %s, gen_random_uuid(), {_names(_SOURCE, 'n.')} FROM {_given(_SOURCE)}",
    "unindexed": "DELETE FROM memory_posting WHERE memory_id = ANY(%s::uuid[])",
    "postings": "INSERT INTO memory_posting (owner_id, bank_id, memory_id, term, tf) SELECT %s, %s, m.key::uuid, "
    "t.key, t.value::int FROM json_each(%s::json) m, json_each_text(m.value) t",
    "remembered": "UPDATE memory_turn SET remembered = true WHERE id = ANY(%s::uuid[])",
    "used": "UPDATE memory_recall SET injected = ARRAY(SELECT m FROM unnest(recalled) m WHERE m = ANY(%s::uuid[])), "
    "cited = ARRAY(SELECT m FROM unnest(recalled) m WHERE m = ANY(%s::uuid[])) WHERE id = %s",
    "bank": "UPDATE memory_bank SET last_seq = %s WHERE id = %s",
}


@lru_cache(maxsize=64)
def _flush(parts: Sequence[str]) -> str:
    *others, last = parts
    ahead = ", ".join(f"{name} AS ({_PARTS[name]})" for name in others)
    return f"WITH {ahead} {_PARTS[last]}" if ahead else _PARTS[last]


def _rows(records: Sequence[Record]) -> str:
    return json.dumps(records, default=str)  # ids and instants by their usual spelling


def mark_used(used: Used) -> None:
    """Note what became of a recall, where nothing is remembered beside it."""
    run(_PARTS["used"], _used(used))


def _used(used: Used) -> list[Any]:
    return [array(used.injected), array(set(used.cited) & set(used.injected)), used.recall]
