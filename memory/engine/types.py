"""The words of the engine as types. Nothing here knows a database, a web page or an LLM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from uuid import UUID

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


class BankError(Exception):
    """Something about a bank that cannot go on as asked; `retryable` says whether the same call may work later."""

    retryable = False

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class Side(StrEnum):
    """Which half of a turn."""

    OBSERVATION = "observation"
    ACTION = "action"


class Role(StrEnum):
    """Who speaks. What the assistant said is never the user's word."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    OTHER = "other"


class State(StrEnum):
    """Where a memory is. `held` is in the bank; the others are not."""

    HELD = "held"
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"
    ERASED = "erased"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a side stands: conversation, session, and its number among the sides of that session."""

    conversation: UUID
    session: int
    position: int


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """One memory as the engine sees it: ids, numbers and, for recall, its text. Immutable."""

    id: UUID
    text: str
    role: Role
    speaker: str
    at: datetime
    tokens: int
    importance: float
    turn: UUID
    side: Side
    place: Place
    piece: int = 0
    kind: str = "side"
    pinned: bool = False
    written: int = 0  # sequence number of the event that wrote it
    recalls: int = 0
    last_recalled: datetime | None = None
    written_at: datetime | None = None  # when it came into the bank; `at` is when it was said
    strength: float = 1.0  # how firmly recalls have fixed it (the policy `decay`)

    @property
    def touched(self) -> datetime:
        """When the bank last had to do with it: recalled, else written, else said."""
        return self.last_recalled or self.written_at or self.at


@dataclass(frozen=True)
class NewSide:
    """One piece of a side on its way into a bank, with its vector (E,) and the hash of its content."""

    id: UUID
    text: str
    role: Role
    speaker: str
    at: datetime
    turn: UUID
    side: Side
    place: Place
    piece: int
    content: bytes
    vector: Floats


@dataclass(frozen=True)
class Cue:
    """What recall is asked with: the text, its vector (E,), when it is asked, and turns that must not come back."""

    text: str
    vector: Floats
    at: datetime
    asking: bool
    exclude_turns: frozenset[UUID] = frozenset()


@dataclass(frozen=True)
class Budget:
    """What a bank may hold."""

    memories: int
    tokens: int


@dataclass(frozen=True)
class RecallLimits:
    """How much one recall may hand on: a budget in tokens, and at most so many memories."""

    tokens: int
    memories: int = 12


@dataclass(frozen=True)
class Recollected:
    """One candidate of a recall with everything that explains its rank. `contributions` sum to `logit`."""

    item: MemoryItem
    state: State
    signals: Mapping[str, float]
    contributions: Mapping[str, float]
    logit: float
    weight: float
    fit: float
    injected: bool
    group: str  # "highly", "maybe" or "below"


@dataclass(frozen=True, eq=False)
class Recollection:
    """The result of one recall: the R best candidates by logit as arrays, best first, and counts of all else.

    What is injected is always among them. `rows` shows them one by one; a turn looks at few of them.
    """

    items: Sequence[MemoryItem]
    archived: npt.NDArray[np.bool_]  # (R,)
    names: tuple[str, ...]  # of the S signals
    signals: Floats  # (R, S)
    contributions: Floats  # (R, S), of each row they sum to its logit, less a trained interplay
    logits: Floats  # (R,)
    weights: Floats  # (R,) shares of all candidates' softmax
    fit: Floats  # (R,)
    chosen: tuple[int, ...]  # rows that are handed on
    candidates: int
    below_floor: int
    over_budget: int
    floor: float
    highly: float  # from this fit on a memory is highly relevant
    adapter: str
    bypassed: bool = False
    normalisation: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # signal -> (mean, deviation)

    @cached_property
    def rows(self) -> tuple[Recollected, ...]:
        """All R rows, best first."""
        return tuple(map(self.row, range(len(self.items))))

    @cached_property
    def injected(self) -> tuple[Recollected, ...]:
        """What reaches the prompt, best first."""
        return tuple(map(self.row, self.chosen))

    def row(self, i: int) -> Recollected:
        """Row `i` as an object."""
        parts = zip(self.names, self.contributions[i].tolist(), strict=True)
        return Recollected(
            item=self.items[i],
            state=State.ARCHIVED if self.archived[i] else State.HELD,
            signals=dict(zip(self.names, self.signals[i].tolist(), strict=True)),
            contributions={name: value for name, value in parts if value},
            logit=float(self.logits[i]),
            weight=float(self.weights[i]),
            fit=float(self.fit[i]),
            injected=i in self.chosen,
            group="highly" if self.fit[i] >= self.highly else "maybe" if self.fit[i] >= self.floor else "below",
        )
