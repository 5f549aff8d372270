"""Reads of a bank's conversations, of what it was told more than once, and of what contradicts what came later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Max, Q

from memory.engine.types import State
from memory.models import Conversation, Doubt, Memory, MemorySource, Turn
from memory.stretch import Stretch

AGAIN = ("retold", "merged")
THERE = (State.HELD, State.ARCHIVED)


@dataclass(frozen=True)
class AgainRow:
    """One memory that was told again, word for word or nearly."""

    bank: UUID
    memory: UUID
    retold: int  # word for word
    merged: int  # nearly
    last: datetime  # when it was told last
    state: str
    text: str = ""

    @property
    def times(self) -> int:
        """How often it was told in all."""
        return 1 + self.retold + self.merged


def again_rows(bank: UUID, stretch: Stretch) -> list[AgainRow]:
    """What was told again in this time, most often first."""
    again = MemorySource.objects.filter(
        stretch.where("turn__created_at"), memory__bank=bank, memory__state__in=THERE, how__in=AGAIN,
        turn__conversation__forgotten_until=None,
    )  # fmt: skip
    counted = again.values("memory", "memory__state").annotate(
        retold=Count("pk", filter=Q(how="retold")), merged=Count("pk", filter=Q(how="merged")),
        last=Max("turn__created_at"),
    )  # fmt: skip
    rows = [
        AgainRow(bank, memory, retold, merged, last, state)
        for memory, state, retold, merged, last in counted.values_list(
            "memory", "memory__state", "retold", "merged", "last"
        )
    ]
    return sorted(rows, key=lambda row: (-row.times, -row.last.timestamp(), str(row.memory)))


@dataclass(frozen=True)
class DoubtRow:
    """An older memory and the newer one that says otherwise."""

    bank: UUID
    memory: UUID
    newer: UUID
    what: str  # "number", "date", "name", "negation", "correction"
    at: datetime
    state: str  # of the older one
    settled: bool  # its person looked
    text: str = ""
    newer_text: str = ""

    @property
    def looked(self) -> str:
        """Whether its person looked, as a word: "settled" or "open"."""
        return "settled" if self.settled else "open"


def doubt_rows(bank: UUID, stretch: Stretch) -> list[DoubtRow]:
    """Contradictions found in this time, the last on top; hidden memories are in none.

    Their states are asked for by key: joined twice with 20,000 memories of which the planner knew nothing yet, even a
    bank without contradictions took almost five seconds.
    """
    found = Doubt.objects.filter(stretch.where("at"), bank=bank).order_by("-at", "pk")
    told = list(found.values_list("memory", "newer", "what", "at", "settled_at"))
    ids = {one for row in told for one in row[:2]}
    states = dict(Memory.objects.filter(pk__in=ids, state__in=THERE).values_list("pk", "state"))
    return [
        DoubtRow(bank, memory, newer, what, at, states[memory], settled=settled_at is not None)
        for memory, newer, what, at, settled_at in told if memory in states and newer in states
    ]  # fmt: skip


def with_both_texts(rows: Sequence[DoubtRow]) -> list[DoubtRow]:
    """Rows with the words of both memories, which only those that are shown need."""
    ids = {one for row in rows for one in (row.memory, row.newer)}
    found = Memory.objects.filter(pk__in=ids).exclude(state=State.FORGOTTEN)
    texts = dict(found.values_list("pk", "text"))
    return [replace(row, text=texts.get(row.memory, ""), newer_text=texts.get(row.newer, "")) for row in rows]


@dataclass(frozen=True)
class ConversationRow:
    """One conversation of a bank, and what is left of it."""

    bank: UUID
    conversation: UUID
    title: str
    began: datetime
    last: datetime
    turns: int
    held: int
    archived: int


def conversation_rows(bank: UUID, stretch: Stretch) -> list[ConversationRow]:
    """The bank's conversations in which a turn was taken in this time (of all time: all), the last one first."""
    found = Conversation.objects.filter(bank=bank, forgotten_until=None)
    if not stretch.whole:
        taken = Turn.objects.filter(stretch.where("created_at"), conversation__bank=bank, replaced_at=None)
        found = found.filter(pk__in=taken.values("conversation"))
    counted = found.annotate(n=Count("turns", filter=Q(turns__replaced_at=None))).order_by("-updated_at", "pk")
    memories = Memory.objects.filter(bank=bank, state__in=THERE).values_list("conversation", "state")
    left = dict[tuple[UUID | None, str], int]()
    for conversation, state, n in memories.annotate(n=Count("pk")):
        left[conversation, state] = n
    return [
        ConversationRow(bank, row.pk, row.title, row.created_at, row.updated_at, row.n,
                        left.get((row.pk, State.HELD), 0), left.get((row.pk, State.ARCHIVED), 0))
        for row in counted
    ]  # fmt: skip
