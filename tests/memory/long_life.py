"""A conversation of thousands of turns with all that a bank keeps of it, made as rows: no encoder, no model.

What it holds is what the services would have written: a ledger that folds, memories as its projection, traces.
"""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection

from memory.engine import signals
from memory.engine.bank import Kind
from memory.engine.text import content_hash
from memory.engine.types import Role
from memory.models import Bank, Conversation, Recall, Turn

BEGAN = datetime(2025, 1, 1, 8, tzinfo=UTC)
BUDGET = (200, 12_000)
FLOOR = 0.357
ABOUT = ("the harbour", "walnut bread", "Vera's train", "the rent", "a green bell", "the ferry", "chess", "the garden")
_MEMORY = (
    "INSERT INTO memory_memory (owner_id, bank_id, space_id, vector, content, before, id, state, kind, text, role, "
    "speaker, at, conversation_id, turn_id, side, place_conversation, session, position, piece, tokens, "
    "importance, features, adapter, pinned, written_seq, written_at, archived_at, archive_reason) "
    "SELECT %s, %s, %s, array_fill(0.05::real, ARRAY[%s])::vector, decode(n.content, 'hex'), '', n.id, n.state, "
    "'side', n.text, n.role, n.speaker, n.at, %s, n.turn, n.side, %s, 0, n.position, 0, n.tokens, n.importance, '[]', "
    "n.adapter, n.pinned, n.seq, n.at, n.archived_at, n.reason FROM json_to_recordset(%s::json) AS n(id uuid, "
    "state varchar, text text, role varchar, speaker varchar, at timestamptz, turn uuid, side varchar, position int, "
    "tokens int, importance float8, adapter varchar, pinned bool, seq bigint, archived_at timestamptz, reason varchar, "
    "content text)"
)
_EVENT = (
    "INSERT INTO memory_event (owner_id, bank_id, seq, kind, memory, turn, at, data) SELECT %s, %s, n.seq, n.kind, "
    "n.memory, n.turn, n.at, n.data FROM json_to_recordset(%s::json) AS n(seq bigint, kind varchar, memory uuid, "
    "turn uuid, at timestamptz, data jsonb)"
)


_SOURCE = (
    "INSERT INTO memory_memorysource (id, owner_id, memory_id, turn_id, side, piece, how) "
    "SELECT gen_random_uuid(), owner_id, id, turn_id, side, 0, 'written' FROM memory_memory WHERE conversation_id = %s"
)


@dataclass
class Long:
    """Rows on their way, numbered as the ledger is."""

    bank: Bank
    conversation: Conversation
    rng: np.random.Generator
    traced: int
    seq: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
    memories: dict[UUID, dict[str, Any]] = field(default_factory=dict)
    held: dict[UUID, None] = field(default_factory=dict)
    lowest: list[tuple[float, str]] = field(default_factory=list)
    tokens: int = 0
    recalls: list[Recall] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    archived: list[UUID] = field(default_factory=list)

    def id(self) -> UUID:
        """Drawn, and another one in each bank."""
        drawn = int.from_bytes(self.rng.bytes(16), "big") ^ self.bank.pk.int
        return UUID(int=drawn, version=4)

    def event(self, kind: Kind, at: datetime, by: UUID | None, about: UUID | None = None, **data: Any) -> int:
        self.seq += 1
        self.events.append(
            {"seq": self.seq, "kind": kind.value, "memory": str(about) if about else None,
             "turn": str(by) if by else None, "at": at.isoformat(), "data": data}
        )  # fmt: skip
        return self.seq


def make_long_life(owner: UUID, bank: Bank, turns: int, *, traced: int = 24, seed: int = 5) -> Conversation:
    """Fill an empty bank with a conversation of `turns` turns: two memories each, evictions, restores, recalls."""
    conversation = Conversation.objects.create(
        owner_id=owner, bank=bank, title=f"{turns} turns", created_at=BEGAN, updated_at=BEGAN
    )
    made = Long(bank, conversation, np.random.default_rng(seed), traced, seq=bank.last_seq)
    for ordinal in range(1, turns + 1):
        _turn(made, ordinal, turns)
    _write(made, owner)
    return conversation


def _turn(made: Long, ordinal: int, turns: int) -> None:
    at = BEGAN + timedelta(minutes=7 * ordinal)
    turn = Turn(
        id=made.id(), owner_id=made.bank.owner_id, conversation=made.conversation, ordinal=ordinal,
        position=2 * ordinal, state="done", observation=f"Say {ordinal}.", observation_at=at, action="Noted.",
        action_at=at, remembered=True, created_at=at, heartbeat_at=at, finished_at=at,
    )  # fmt: skip
    made.turns.append(turn)
    if ordinal == turns // 2:
        _configure(made, at, "promoted-3")
    elif ordinal == 1:
        _configure(made, at, "")
    _recall(made, turn, at)
    for side, role in (("observation", Role.USER), ("action", Role.ASSISTANT)):
        _remember(made, turn, side, role, at, "shipped-2" if ordinal < turns // 2 else "promoted-3")
    if ordinal % 97 == 0 and made.archived:
        _restore(made, made.archived[int(made.rng.integers(len(made.archived)))], at)
    _evict(made, turn.pk, at)


def _configure(made: Long, at: datetime, adapter: str) -> None:
    more = {"adapter": adapter} if adapter else {}
    made.event(Kind.CONFIGURED, at, None, memories=BUDGET[0], tokens=BUDGET[1], policy="importance", **more)


def _remember(made: Long, turn: Turn, side: str, role: Role, at: datetime, adapter: str) -> None:
    memory, importance = made.id(), round(float(made.rng.beta(1.2, 4)), 6)
    text = f"{ABOUT[int(made.rng.integers(len(ABOUT)))].capitalize()} came up again, number {turn.ordinal}, {side}."
    tokens = 8 + int(made.rng.integers(40))
    seq = made.event(
        Kind.WRITTEN, at, turn.pk, memory, tokens=tokens, importance=importance, adapter=adapter, turn=str(turn.pk),
        side=side, piece=0, role=role.value, features=[],
    )  # fmt: skip
    made.memories[memory] = {
        "id": str(memory), "state": "held", "text": text, "role": role.value, "speaker": "Ana", "at": at.isoformat(),
        "turn": str(turn.pk), "side": side, "position": turn.position, "tokens": tokens, "importance": importance,
        "adapter": adapter, "pinned": False, "seq": seq, "archived_at": None, "reason": "",
        "content": content_hash(role, "Ana", text).hex(),
    }  # fmt: skip
    _enter(made, memory)


def _enter(made: Long, memory: UUID) -> None:
    made.held[memory] = None
    made.tokens += made.memories[memory]["tokens"]
    heapq.heappush(made.lowest, (made.memories[memory]["importance"], str(memory)))


def _restore(made: Long, memory: UUID, at: datetime) -> None:
    made.event(Kind.RESTORED, at, None, memory, reason="asked")
    made.archived.remove(memory)
    made.memories[memory] |= {"state": "held", "archived_at": None, "reason": ""}
    _enter(made, memory)


def _evict(made: Long, turn: UUID, at: datetime) -> None:
    while len(made.held) > BUDGET[0] or made.tokens > BUDGET[1]:
        importance, name = heapq.heappop(made.lowest)
        memory = UUID(name)
        made.event(
            Kind.EVICTED, at, turn, memory, reason="budget", policy="importance", adapter="shipped-2",
            score=importance, over="memories", instead=None, budget=list(BUDGET),
        )  # fmt: skip
        del made.held[memory]
        made.tokens -= made.memories[memory]["tokens"]
        made.archived.append(memory)
        made.memories[memory] |= {"state": "archived", "archived_at": at.isoformat(), "reason": "budget"}


def _recall(made: Long, turn: Turn, at: datetime) -> None:
    """The best of what is held by made-up logits: some favourites are recalled all the time."""
    held = list(made.held)
    if len(held) < 5:
        return
    logits = made.rng.normal(size=len(held)) + np.array([3 * made.memories[one]["importance"] for one in held])
    order = np.argsort(-logits)[: made.traced]
    weights = np.exp(logits - logits.max())
    weights = weights / weights.sum()
    fit = 0.1 + 0.1 * np.maximum(0, logits)
    chosen = [int(i) for i in order[:4] if fit[i] >= FLOOR]
    names = signals.NAMES
    matrix = np.zeros((len(order), 3 + 2 * len(names)), dtype="<f4")
    matrix[:, 0], matrix[:, 1], matrix[:, 2] = logits[order], weights[order], fit[order]
    matrix[:, 3] = logits[order]
    recall = made.id()
    before = made.seq
    recalled = [held[i] for i in chosen]
    if chosen:
        made.event(
            Kind.RECALLED, at, turn.pk, recall=str(recall), memories=[str(one) for one in recalled],
            weights=[round(float(weights[i]), 5) for i in chosen],
        )  # fmt: skip
    made.recalls.append(
        Recall(
            id=recall, owner_id=made.bank.owner_id, bank=made.bank, turn=turn, at=at, seq=before, adapter="shipped-2",
            asking=True, floor=FLOOR, highly=0.5, candidates=len(held), below_floor=int((fit < FLOOR).sum()),
            over_budget=0, memories=[held[int(i)] for i in order], signals=list(names), numbers=matrix.tobytes(),
            recalled=recalled, injected=recalled, cited=recalled[:1],
        )
    )  # fmt: skip


def _write(made: Long, owner: UUID) -> None:
    bank = made.bank
    Turn.objects.bulk_create(made.turns, batch_size=2_000)
    rows = list(made.memories.values())
    with connection.cursor() as cursor:
        for start in range(0, len(rows), 5_000):
            values = [owner, bank.pk, bank.space_id, bank.space.width, made.conversation.pk, made.conversation.pk]
            cursor.execute(_MEMORY, [*values, json.dumps(rows[start : start + 5_000])])
        cursor.execute(_SOURCE, [made.conversation.pk])
        for start in range(0, len(made.events), 10_000):
            cursor.execute(_EVENT, [owner, bank.pk, json.dumps(made.events[start : start + 10_000])])
    Recall.objects.bulk_create(made.recalls, batch_size=1_000)
    Bank.objects.filter(pk=bank.pk).update(last_seq=made.seq, budget_memories=BUDGET[0], budget_tokens=BUDGET[1])
    bank.refresh_from_db()
