"""Labels from question sets that name their evidence, for conversations that were imported.

Only where whoever imports asks for it: a set that one wants to measure on must not be learned from by accident.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.engine.types import State
from memory.models import Conversation, Memory, MemorySource
from training.learner.evidence import Evidence
from training.models import About, Label, Source
from training.services.labels import WORDS

NEEDED = 1.0  # full judgements: somebody wrote a question and named the side that answers it
OTHERS = 10  # sides that no question needs, for each that one does, drawn at random: most are worth little
# and are many. Nobody judged them, and a set asks for few of the things worth keeping.
UNASKED = 0.25
_OUTDATED = WORDS["outdated"]


@dataclass(frozen=True)
class Labelled:
    """What became of a set: memories labelled as needed, as outdated, as not asked for; ids that no side has."""

    needed: int
    outdated: int
    unasked: int
    unknown: int


@transaction.atomic
def label_evidence(conversation_id: UUID, questions: Sequence[Evidence], *, now: datetime) -> Labelled:
    """Label the memories of an imported conversation by these questions about it, in place of what an earlier set
    said. A side's pieces share its label's weight: which of them answers is not said."""
    conversation = Conversation.objects.get(pk=conversation_id)
    told = _memories_by_side(conversation)
    needed, unknown = _told_by(told, {one for question in questions for one in question.needed})
    outdated, missing = _told_by(told, {one for question in questions for one in question.outdated})
    outdated = {memory: share for memory, share in outdated.items() if memory not in needed}
    everything = sorted({memory for found in told.values() for memory in found}, key=str)
    unasked = _drawn(
        [one for one in everything if one not in needed and one not in outdated], len(needed), conversation
    )
    judged = {
        **{memory: (1.0, NEEDED * share, "evidence") for memory, share in needed.items()},
        **{memory: (_OUTDATED.importance, _OUTDATED.weight * share, "outdated") for memory, share in outdated.items()},
        **dict.fromkeys(unasked, (0.0, UNASKED, "not asked for")),
    }
    Label.objects.filter(memory__in=everything, source=Source.IMPORTED).delete()
    rows = Memory.objects.filter(pk__in=judged).defer("vector", "features")
    Label.objects.bulk_create(_label(row, *judged[row.pk], now) for row in rows)
    return Labelled(len(needed), len(outdated), len(unasked), unknown + missing)


def _memories_by_side(conversation: Conversation) -> dict[str, list[UUID]]:
    """What each side told the bank and is still there, by the side's name in its file."""
    sources = MemorySource.objects.filter(
        turn__conversation=conversation, memory__state__in=[State.HELD, State.ARCHIVED]
    ).exclude(how="formed")  # fmt: skip
    out: dict[str, list[UUID]] = {}
    for memory, side, names in sources.values_list("memory", "side", "turn__external_ids"):
        out.setdefault(names.get(side, ""), []).append(memory)
    return out


def _told_by(told: Mapping[str, Sequence[UUID]], ids: set[str]) -> tuple[dict[UUID, float], int]:
    """The memories of the sides (or turns) with these ids and each one's share of its side's label; and how many ids
    no side has."""
    shares: dict[UUID, float] = {}
    unknown = 0
    for one in ids:
        sides = [told[name] for name in (one, f"{one}.observation", f"{one}.action") if name in told]
        unknown += not sides
        for memories in sides:
            for memory in memories:
                shares[memory] = max(shares.get(memory, 0.0), 1 / len(memories))
    return shares, unknown


def _drawn(free: Sequence[UUID], needed: int, conversation: Conversation) -> list[UUID]:
    """As many as go with those that are needed; the same at each import."""
    return random.Random(str(conversation.external_id)).sample(free, min(len(free), OTHERS * needed))


def _label(memory: Memory, value: float, weight: float, reason: str, now: datetime) -> Label:
    return Label(
        owner_id=memory.owner_id, memory=memory, about=About.IMPORTANCE, value=value, weight=weight,
        source=Source.IMPORTED, reason=reason, text=memory.text, at=now,
    )  # fmt: skip
