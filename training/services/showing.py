"""What a labeller is shown of a memory: its words masked, the sides around it, and what became of it.

Made as the memory's owner, from rows that no labeller can read; the copy stands in the item.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from memory.engine.bank import Mark
from memory.engine.types import Side, State
from memory.models import LABELLING_OPEN, Bank, Memory, MemorySource, Turn
from training.learner.masking import masked

AROUND = 3  # sides before, and as many after
LONGEST = 600  # characters of a side around it
LONGEST_JUDGED = 4000  # characters of the memory itself

Shown = dict[str, Any]


@dataclass(frozen=True)
class Showing:
    """Memories as an item shows them, and whose words these are."""

    shown: list[Shown]
    turns: list[UUID]
    conversations: list[UUID]


def may_be_shown(bank: Bank) -> QuerySet[Memory]:
    """The memories of a bank that labellers may be shown: single sides, said in a conversation that is open to it."""
    return (
        Memory.objects.filter(
            bank=bank, kind="side", state__in=(State.HELD, State.ARCHIVED), turn__replaced_at=None, turn__isnull=False,
            conversation__labelling__in=LABELLING_OPEN, conversation__forgotten_until=None,
        )
        .exclude(archive_reason__in=("withdrawn", "merged"))
        .defer("vector", "features")
    )  # fmt: skip


def showing(memories: Sequence[Memory], marks: Mapping[UUID, Mark]) -> Showing:
    """Show these memories (of `may_be_shown`), in their order; `marks` is what their bank's ledger knows of them."""
    sides = {memory.conversation_id: _sides(memory.conversation_id) for memory in memories if memory.conversation_id}
    shown, turns = [], set()
    for memory in memories:
        before, after = _around(memory, sides.get(memory.conversation_id or memory.pk, []))
        turns |= {side.turn for side in (*before, *after)}
        shown.append(
            {
                "text": masked(memory.text[:LONGEST_JUDGED]), "role": memory.role,
                "before": [side.shown() for side in before], "after": [side.shown() for side in after],
                **_fate(memory, marks.get(memory.pk)),
            }
        )  # fmt: skip
    turns |= {memory.turn_id for memory in memories if memory.turn_id}
    return Showing(shown, sorted(turns, key=str), sorted(filter(None, sides), key=str))


def _fate(memory: Memory, mark: Mark | None) -> Shown:
    """What became of the memory: where it is, why it left, how often it was recalled."""
    return {
        "state": memory.state, "reason": memory.archive_reason if memory.state == State.ARCHIVED else "",
        "pinned": memory.pinned, "recalls": mark.recalls if mark else 0, "told": mark.sources if mark else 1,
    }  # fmt: skip


@dataclass(frozen=True)
class _Said:
    """One side of a turn, in the order of the conversation."""

    turn: UUID
    side: str
    role: str
    text: str

    def shown(self) -> Shown:
        text = self.text if len(self.text) <= LONGEST else f"{self.text[:LONGEST]}…"
        return {"text": masked(text), "role": self.role}


def _sides(conversation: UUID) -> list[_Said]:
    """The sides of a conversation that its bank still knows: what was forgotten is shown to nobody."""
    turns = Turn.objects.filter(conversation=conversation, replaced_at=None).order_by("ordinal")
    known = _known(turns)
    return [
        _Said(turn.pk, side.value, getattr(turn, f"{side.value}_role"), text)
        for turn in turns
        for side in (Side.OBSERVATION, Side.ACTION)
        if (text := getattr(turn, side.value)) and (turn.pk, side.value) in known
    ]


def _known(turns: QuerySet[Turn]) -> Collection[tuple[UUID, str]]:
    """Sides of which all memories are where they can be read; with one of them forgotten or erased they are not."""
    told = MemorySource.objects.filter(turn__in=turns).exclude(how="formed")
    known: set[tuple[UUID, str]] = set()
    hidden: set[tuple[UUID, str]] = set()
    for turn, side, state in told.values_list("turn", "side", "memory__state"):
        (known if state in (State.HELD, State.ARCHIVED) else hidden).add((turn, side))
    return known - hidden


def _around(memory: Memory, sides: Sequence[_Said]) -> tuple[Sequence[_Said], Sequence[_Said]]:
    """The sides before and after the one that the memory is (a piece) of."""
    at = next((n for n, one in enumerate(sides) if (one.turn, one.side) == (memory.turn_id, memory.side)), None)
    if at is None:
        return [], []
    return sides[max(0, at - AROUND) : at], sides[at + 1 : at + 1 + AROUND]
