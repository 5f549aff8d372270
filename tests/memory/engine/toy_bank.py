"""Small banks with hand-picked numbers: memories, events and vectors that a person can check on paper."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import numpy as np

from memory.engine.bank import BankEvent, Kind
from memory.engine.hot import HotBank, Loaded
from memory.engine.text import content_hash, count_tokens
from memory.engine.types import Cue, Floats, MemoryItem, NewSide, Place, Role, Side
from tests.toy import WIDTH, toy_encoder

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CONVERSATION = UUID(int=1)


def memory_id(number: int) -> UUID:
    return UUID(int=1000 + number)


def turn_id(number: int) -> UUID:
    return UUID(int=5000 + number)


def item(number: int = 0, text: str = "", **fields: Any) -> MemoryItem:
    """Memory `number`: said by the user `number` minutes after noon, at that position of one session."""
    text = text or f"memory number {number}"
    made: dict[str, Any] = {
        "id": memory_id(number), "text": text, "role": Role.USER, "speaker": "Ana",
        "at": NOON + timedelta(minutes=number), "tokens": count_tokens(text), "importance": 0.5,
        "turn": turn_id(number), "side": Side.OBSERVATION, "place": Place(CONVERSATION, 0, number),
        "written": number + 1,
    }  # fmt: skip
    return MemoryItem(**(made | fields))


def vector_of(text: str) -> Floats:
    return toy_encoder().encode([text])[0]


def new_side(number: int, text: str, **fields: Any) -> NewSide:
    """A side on its way into a bank, with the toy encoder's vector."""
    made: dict[str, Any] = {
        "id": memory_id(number), "text": text, "role": Role.USER, "speaker": "Ana",
        "at": NOON + timedelta(minutes=number), "turn": turn_id(number), "side": Side.OBSERVATION,
        "place": Place(CONVERSATION, 0, number), "piece": 0, "vector": vector_of(text),
    }  # fmt: skip
    made |= fields
    return NewSide(content=content_hash(made["role"], made["speaker"], text), **made)


def loaded(one: MemoryItem, vector: Floats | None = None) -> Loaded:
    return Loaded(one, vector_of(one.text) if vector is None else vector, content_hash(one.role, one.speaker, one.text))


class Ledger:
    """Makes events with their sequence numbers."""

    def __init__(self) -> None:
        self.events: list[BankEvent] = []
        self._seq = count(1)

    def __call__(self, kind: Kind, memory: UUID | None = None, **data: Any) -> BankEvent:
        seq = next(self._seq)
        event = BankEvent(seq, kind, NOON + timedelta(seconds=seq), memory, data)
        self.events.append(event)
        return event

    def configured(self, memories: int = 100, tokens: int = 10_000, policy: str = "importance") -> BankEvent:
        return self(Kind.CONFIGURED, memories=memories, tokens=tokens, policy=policy)

    def written(self, one: MemoryItem) -> BankEvent:
        return self(
            Kind.WRITTEN, one.id, tokens=one.tokens, importance=one.importance, adapter="prior-2", turn=str(one.turn),
            side=one.side.value, piece=one.piece,
        )  # fmt: skip


def hot_bank(
    items: Sequence[MemoryItem], vectors: Sequence[Floats] | None = None, *, memories: int = 100, tokens: int = 10_000
) -> HotBank:
    """A hot bank that holds `items`, written in their order (pinned ones pinned at once)."""
    ledger, width = Ledger(), WIDTH if vectors is None else len(vectors[0])
    hot = HotBank(width)
    ledger.configured(memories, tokens)
    for one in items:
        ledger.written(one)
        if one.pinned:
            ledger(Kind.PINNED, one.id)
    given = vectors if vectors is not None else [vector_of(one.text) for one in items]
    hot.apply(ledger.events, {one.id: loaded(one, vector) for one, vector in zip(items, given, strict=True)})
    return hot


def cue(text: str, vector: Floats | None = None, *, asking: bool = True, exclude: Sequence[UUID] = ()) -> Cue:
    return Cue(text, vector_of(text) if vector is None else vector, NOON, asking, frozenset(exclude))


def floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float32)
