"""The interface of a retention policy, with what most policies leave as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, dataclass, fields
from datetime import datetime
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from memory.engine.bank import DAY
from memory.engine.types import BankError, Floats, MemoryItem

Flags = npt.NDArray[np.bool_]


class PolicyError(BankError):
    """A policy that nobody knows, or a parameter that it does not have; the sentence says what there is."""


@dataclass(frozen=True)
class Merging:
    """How runs about one thing are merged before single memories leave."""

    similarity: float  # cosine of each pair of a run, at least
    most: int  # memories of a run
    share: float  # of a run's tokens that may be left


class RetentionPolicy(Protocol):
    """Says which memories leave first. Lower leaves first.

    Only `rank` must be written; the rest has answers that fit a policy which merely orders.
    """

    kind: ClassVar[str]  # the word that names it in a configuration
    per_token: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """How a configuration spells it: its kind, with the parameters that are not the usual ones."""
        return spelled(self)

    @property
    def by_value(self) -> bool:
        """Whether a token budget divides the rank by tokens^0.5: true where ranks are values, not orders."""
        return self.per_token

    @property
    def whole_turns(self) -> bool:
        """Whether the memories of one turn leave together."""
        return False

    @property
    def unit(self) -> float:
        """The unit of time in which recalls consolidate a memory, in seconds."""
        return DAY

    @property
    def by_use(self) -> bool:
        """Whether ranks follow from what was recalled, how often or when."""
        return False

    @property
    def merging(self) -> Merging | None:
        """How what would leave is merged with its neighbours; None where it is not."""
        return None

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        """Rank (N,) memories as seen at `now`."""
        ...

    def spared(self, memories: Sequence[MemoryItem], now: datetime) -> Flags:
        """Which of (N,) memories leave only when every other has left."""
        return np.zeros(len(memories), dtype=np.bool_)

    def refused(self, memories: Sequence[MemoryItem]) -> Flags:
        """Which of (N,) memories, just written, go to the archive at once, however much room there is."""
        return np.zeros(len(memories), dtype=np.bool_)


class Wrapper(RetentionPolicy, Protocol):
    """A policy that changes another one's answers, here by not at all."""

    inner: RetentionPolicy

    @property
    def name(self) -> str:
        return f"{spelled(self)}+{self.inner.name}"

    @property
    def by_value(self) -> bool:
        return self.inner.by_value

    @property
    def whole_turns(self) -> bool:
        return self.inner.whole_turns

    @property
    def unit(self) -> float:
        return self.inner.unit

    @property
    def by_use(self) -> bool:
        return self.inner.by_use

    @property
    def merging(self) -> Merging | None:
        return self.inner.merging

    def rank(self, memories: Sequence[MemoryItem], now: datetime) -> Floats:
        return self.inner.rank(memories, now)

    def spared(self, memories: Sequence[MemoryItem], now: datetime) -> Flags:
        return self.inner.spared(memories, now)

    def refused(self, memories: Sequence[MemoryItem]) -> Flags:
        return self.inner.refused(memories)


def parameters(policy: type[Any]) -> tuple[Field[Any], ...]:
    """What can be set of a policy: the fields of its dataclass, less the policy that it wraps."""
    return tuple(field for field in fields(policy) if field.name != "inner")


def spelled(policy: RetentionPolicy) -> str:
    """`kind` or `kind(parameter=value)`, as the grammar reads it; usual values are left out."""
    told = [
        f"{field.name}={getattr(policy, field.name)!r}"
        for field in parameters(type(policy))
        if getattr(policy, field.name) != field.default
    ]
    return f"{policy.kind}({','.join(told)})" if told else policy.kind


def check_range(policy: RetentionPolicy, parameter: str, low: float, high: float) -> None:
    """Raise `PolicyError` unless the parameter lies within low..high."""
    if not low <= getattr(policy, parameter) <= high:
        raise PolicyError(f"“{parameter}” of the policy “{policy.kind}” must be from {low:g} to {high:g}.")
