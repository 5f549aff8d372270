"""A bank's state as a fold of its ledger: one `apply` serves live use, replay at any moment and the policy lab.

Events hold ids and numbers, never text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from memory.engine.statistics import RoleStatistics
from memory.engine.types import BankError, Budget, MemoryItem, Role, State

DAY = 86_400.0  # seconds


class Kind(StrEnum):
    """What can happen to a bank."""

    CONFIGURED = "configured"  # data: memories, tokens, policy; evict_at, unit, kind, adapter where not the usual ones
    WRITTEN = "written"  # data: tokens, importance, adapter, turn, side, piece, role, features (in thousandths); of a
    # merged memory or a summary, in place of features: parts, and written (the number of its newest part); of a summary
    # also formed: its parts have left on their own account and stay where they are
    TOLD = "told"  # another source of a memory: data: turn, side, how ("retold", "merged"), cosine
    EVICTED = "evicted"  # data: reason, policy, adapter, score, over, instead, budget; into, where it was merged
    RESTORED = "restored"  # data: reason
    PINNED = "pinned"
    UNPINNED = "unpinned"
    FORGOTTEN = "forgotten"  # data: until
    UNFORGOTTEN = "unforgotten"  # data: to, and a reason where it goes to the archive instead of back
    ERASED = "erased"
    RECALLED = "recalled"  # data: recall, memories, weights
    RESCORED = "rescored"  # data: importance, adapter


# To look a member of an enumeration up takes longer than all else that most events need.
_CONFIGURED, _WRITTEN, _EVICTED, _RECALLED = Kind.CONFIGURED, Kind.WRITTEN, Kind.EVICTED, Kind.RECALLED
_HELD, _ARCHIVED = State.HELD, State.ARCHIVED


class BankEvent(NamedTuple):
    """One line of a ledger. `seq` counts from 1 within its bank, without gaps. (A tuple, as marks are: a long life has
    tens of thousands.)"""

    seq: int
    kind: Kind
    at: datetime
    memory: UUID | None = None
    data: Mapping[str, Any] = MappingProxyType({})


class Mark(NamedTuple):
    """What the ledger knows of one memory. (A tuple: a fold makes two of them a memory, and a dataclass that cannot be
    changed takes several times as long to make.)"""

    state: State
    tokens: int
    importance: float
    adapter: str
    written: int
    sources: int = 1
    pinned: bool = False
    reason: str = ""  # why it is archived
    before: State | None = None  # where a forgotten memory was
    recalls: int = 0
    last_recalled: datetime | None = None
    written_at: datetime | None = None
    strength: float = 1.0  # grows at each recall by tanh(t/2), t in the bank's unit of time
    role: str = ""
    features: tuple[int, ...] = ()  # in thousandths; gone with an erasure
    parts: tuple[UUID, ...] = ()  # what it was merged of; gone with an erasure
    into: UUID | None = None  # the merged memory or summary, not erased, that holds words of this one
    formed: str = ""  # "summary" of one; gone with an erasure


class BankState:
    """The fold: which memories are where, what they weigh, and the budget in force."""

    def __init__(self) -> None:
        self.seq = 0
        self.budget = Budget(0, 0)
        self.policy = ""
        self.evict_at = 1.0  # the share of the free budget at which remembering begins to evict
        self.unit = DAY  # of time, in seconds, for consolidation
        self.marks: dict[UUID, Mark] = {}
        self.held = 0
        self.held_tokens = 0
        self.pinned = 0
        self.pinned_tokens = 0
        self.statistics = RoleStatistics()  # of everything written and not erased
        self.kind = ""  # of conversation, where the configuration tells it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BankState) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def limit(self) -> Budget:
        """What remembering fills the bank to."""
        return self.limit_of(self.budget, self.evict_at)

    def limit_of(self, budget: Budget, evict_at: float) -> Budget:
        """The pinned memories, and the share `evict_at` of the budget that they leave.

        The rest is room for what a person restores or takes back: it pushes nothing out at once.
        """
        free, tokens = budget.memories - self.pinned, budget.tokens - self.pinned_tokens
        spare = 1 - evict_at
        return Budget(
            budget.memories - math.floor(spare * max(0, free) + 1e-9),
            budget.tokens - math.floor(spare * max(0, tokens) + 1e-9),
        )


def apply(state: BankState, event: BankEvent) -> BankState:
    """Fold one event into `state` and return it. Raises `BankError` on a gap or an event about an unknown memory."""
    if event.seq != state.seq + 1:
        raise BankError(f"The ledger has a gap: event {event.seq} follows {state.seq}.")
    state.seq = event.seq
    if event.kind is _CONFIGURED:
        state.budget = Budget(event.data["memories"], event.data["tokens"])
        state.policy = event.data["policy"]
        state.evict_at = event.data.get("evict_at", 1.0)
        state.unit = event.data.get("unit", DAY)
        state.kind = event.data.get("kind", "")
    elif event.kind is _RECALLED:
        _recalled(state, event)
    elif event.memory is not None:
        before = state.marks.get(event.memory)
        after = _written(state, event) if event.kind is _WRITTEN else _changed(before, event)
        _count(state, before, -1)
        _count(state, after, +1)
        _measure(state, before, after)
        state.marks[event.memory] = after
        if before is None and after.formed:
            for part in after.parts:
                state.marks[part] = state.marks[part]._replace(into=event.memory)
        if before is not None and before.parts and not after.parts:
            _release(state, before.parts, event.memory)
    else:
        raise BankError(f"Event {event.seq} ({event.kind}) names no memory.")
    return state


def replay(events: Iterable[BankEvent]) -> BankState:
    """Fold a ledger from its beginning: the bank as it was after the last of `events`."""
    state = BankState()
    for event in events:
        apply(state, event)
    return state


def _count(state: BankState, mark: Mark | None, sign: int) -> None:
    if mark is not None and mark.state is _HELD:
        state.held += sign
        state.held_tokens += sign * mark.tokens
        if mark.pinned:
            state.pinned += sign
            state.pinned_tokens += sign * mark.tokens


def _measure(state: BankState, before: Mark | None, after: Mark) -> None:
    """Count a memory's features in when it is written, and out when it is erased."""
    if before is None and after.features:
        state.statistics.add(Role(after.role), after.features)
    elif before is not None and before.features and not after.features:
        state.statistics.add(Role(before.role), before.features, -1)


def _release(state: BankState, parts: Iterable[UUID], merged: UUID) -> None:
    """A merged memory is gone: its parts may be merged anew."""
    for part in parts:
        if state.marks[part].into == merged:
            state.marks[part] = state.marks[part]._replace(into=None)


def _written(state: BankState, event: BankEvent) -> Mark:
    data = event.data
    mark = Mark(
        _HELD, data["tokens"], data["importance"], data["adapter"], data.get("written", event.seq),
        written_at=event.at, role=data.get("role", ""), features=tuple(data.get("features", ())),
    )  # fmt: skip
    if "parts" not in data:
        return mark
    ids = tuple(UUID(part) for part in data["parts"])
    if not state.marks.keys() >= set(ids):
        raise BankError(f"Event {event.seq} ({event.kind}) is about a memory that was never written.")
    parts = [state.marks[part] for part in ids]
    return mark._replace(  # it is as old, and was recalled as often and as late, as the part that stands best
        parts=ids, formed=data.get("formed", ""),
        written_at=max((part.written_at for part in parts if part.written_at), default=event.at),
        recalls=max(part.recalls for part in parts), strength=max(part.strength for part in parts),
        last_recalled=max((part.last_recalled for part in parts if part.last_recalled), default=None),
    )  # fmt: skip


def _changed(mark: Mark | None, event: BankEvent) -> Mark:
    if mark is None:
        raise BankError(f"Event {event.seq} ({event.kind}) is about a memory that was never written.")
    data = event.data
    if event.kind is _EVICTED:
        into = UUID(data["into"]) if "into" in data else mark.into
        return mark._replace(state=_ARCHIVED, reason=data["reason"], pinned=False, into=into)
    match event.kind:
        case Kind.TOLD:
            return mark._replace(sources=mark.sources + 1)
        case Kind.RESTORED:
            return mark._replace(state=State.HELD, reason="")
        case Kind.PINNED | Kind.UNPINNED:
            return mark._replace(pinned=event.kind is Kind.PINNED)
        case Kind.FORGOTTEN:
            return mark._replace(state=State.FORGOTTEN, before=mark.state)
        case Kind.UNFORGOTTEN:
            to = State(data["to"])
            pinned = mark.pinned and to is State.HELD  # nothing in the archive is pinned
            reason = "" if to is State.HELD else data.get("reason", mark.reason)
            return mark._replace(state=to, before=None, reason=reason, pinned=pinned)
        case Kind.ERASED:
            return mark._replace(
                state=State.ERASED, before=None, pinned=False, reason="", features=(), parts=(), formed=""
            )
        case Kind.RESCORED:
            return mark._replace(importance=data["importance"], adapter=data["adapter"])
        case _:
            raise BankError(f"Event {event.seq} has an unknown kind: {event.kind}.")


def _recalled(state: BankState, event: BankEvent) -> None:
    for memory in map(UUID, event.data["memories"]):
        mark = state.marks.get(memory)
        if mark is None:
            raise BankError(f"Event {event.seq} ({event.kind}) is about a memory that was never written.")
        before = mark.last_recalled or mark.written_at or event.at
        t = max(0.0, (event.at - before).total_seconds()) / state.unit
        strength = mark.strength + math.tanh(t / 2)  # tanh(t/2) = (1 - e^-t) / (1 + e^-t)
        state.marks[memory] = mark._replace(recalls=mark.recalls + 1, last_recalled=event.at, strength=strength)


def as_marked(item: MemoryItem, mark: Mark) -> MemoryItem:
    """A memory with what the ledger knows of it now. (Written out: every recall asks for a dozen, and
    `dataclasses.replace` takes twice as long.)"""
    return MemoryItem(
        item.id, item.text, item.role, item.speaker, item.at, item.tokens, mark.importance, item.turn, item.side,
        item.place, item.piece, item.kind, mark.pinned, mark.written, mark.recalls, mark.last_recalled,
        mark.written_at, mark.strength,
    )  # fmt: skip
