"""What is known of a memory's importance, or of its fit to a cue, when its labels disagree: one value, and its weight.

The rule (docs/decisions/0015): people outrank machines. Where somebody judged the memory itself, the mean by weight of
people's labels counts and all others are left aside. Elsewhere all others count, together never more than one person's
judgement, and one kind of source never more than the heaviest label it gave: ten hints from one place are one hint.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from memory.models import Bank
from training.models import About, Label, Source

# Said of the memory itself, by somebody who had its words in view. A thumb is a person's too, but of the reply.
BY_PEOPLE = frozenset({Source.QUEUE.value, Source.ACTION.value, Source.KEPT.value})
T = TypeVar("T", bound=Hashable)

MOST_BY_OTHERS = 1.0  # full judgements: what all others may weigh together


def judged(bank: Bank | UUID) -> dict[UUID, tuple[float, float]]:
    """Each judged memory's importance, 0 (worthless) to 1 (needed), and how many full judgements that counts for.

    Comparisons say nothing of one memory alone and are left out; so is what weighs nothing.
    """
    labels: Any = Label.objects.filter(
        memory__bank=bank.pk if isinstance(bank, Bank) else bank,
        about=About.IMPORTANCE, other=None, weight__gt=0,
    )  # fmt: skip
    return settled(labels.order_by("at", "pk").values_list("memory", "source", "value", "weight"))


def judged_by_people(bank: Bank | UUID) -> set[UUID]:
    """The memories that somebody judged themselves."""
    labels: Any = Label.objects.filter(
        memory__bank=bank.pk if isinstance(bank, Bank) else bank,
        about=About.IMPORTANCE, other=None, weight__gt=0, source__in=BY_PEOPLE,
    )  # fmt: skip
    return set(labels.values_list("memory", flat=True))


@dataclass
class _Sum:
    """The labels that one source gave one memory."""

    value: float = 0.0  # summed by weight
    weight: float = 0.0
    heaviest: float = 0.0

    def add(self, value: float, weight: float) -> None:
        self.value += value * weight
        self.weight += weight
        self.heaviest = max(self.heaviest, weight)

    @property
    def mean(self) -> float:
        return self.value / self.weight


@dataclass
class _Sums:
    people: _Sum = field(default_factory=_Sum)
    others: dict[str, _Sum] = field(default_factory=dict)


def settled(labels: Iterable[tuple[T, str, float, float]]) -> dict[T, tuple[float, float]]:
    """The rule itself, from (what is judged, source, value, weight) of labels, weights above 0."""
    found: dict[T, _Sums] = {}
    for judged_one, source, value, weight in labels:
        sums = found.setdefault(judged_one, _Sums())
        (sums.people if source in BY_PEOPLE else sums.others.setdefault(source, _Sum())).add(value, weight)
    return {one: _of_people(sums.people) or _of_others(sums.others) for one, sums in found.items()}


def _of_people(people: _Sum) -> tuple[float, float] | None:
    return (people.mean, people.weight) if people.weight else None


def _of_others(others: dict[str, _Sum]) -> tuple[float, float]:
    weight = sum(source.heaviest for source in others.values())
    value = sum(source.mean * source.heaviest for source in others.values()) / weight
    return value, min(weight, MOST_BY_OTHERS)
