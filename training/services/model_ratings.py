"""An agent's own model as a source of labels: where its setting says so, after some turns, about a few new memories.

Never in a turn, and never for writing or reading: what the model says is only learned from later.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from memory.engine.types import State
from memory.models import Memory, Turn
from memory.services.jobs import handles
from training.learner.rating import HIGHEST, RULES, MemoryRater, question_about, ratings_in
from training.models import About, Label, ModelAsked, Source

JOB = "training.model_rating"  # agents enqueue it after a turn, by this name alone (`agents.turns`)
ONE_IN = 4  # turns that are asked about
MOST = 3  # memories of one turn
# A model tells small talk from facts, and knows nothing of what this person will ask: a fifth of a judgement.
WEIGHT = 0.2


@lru_cache(maxsize=1)
def rater() -> MemoryRater:
    """Who asks agents' models; `settings.RATER_FACTORY` makes it."""
    made: MemoryRater = import_string(settings.RATER_FACTORY)()
    return made


@handles(JOB, heavy=True)
def rate_memories_of(key: str) -> None:
    """Ask about one turn, if it is one of those that are asked about; an id is random, so no dice are needed and a
    second delivery decides alike."""
    turn_id = UUID(key)
    if turn_id.int % ONE_IN == 0:
        rate(turn_id, rater(), now=timezone.now())


def rate(turn_id: UUID, by: MemoryRater, *, now: datetime) -> list[Label]:
    """Have a turn's new memories rated and make the labels. None where it was asked before, or nothing is to be asked.

    The worker's transaction stays open while the model answers; it has read, and holds no lock that anybody waits for.
    """
    turn = Turn.objects.select_related("conversation").filter(
        pk=turn_id, replaced_at=None, conversation__forgotten_until=None
    ).first()  # fmt: skip
    if turn is None or ModelAsked.objects.filter(turn=turn).exists():
        return []
    memories = _written_by(turn)
    if not memories:
        return []
    answer = by.ask(turn.conversation.bank_id, RULES, question_about([memory.text for memory in memories]))
    if answer is None:
        return []
    ratings = ratings_in(answer, len(memories))
    with transaction.atomic():
        ModelAsked.objects.create(
            owner_id=turn.owner_id, turn=turn, memories=len(memories), rated=len(ratings or ()), at=now
        )
        found = zip(memories, ratings or (), strict=False)
        return Label.objects.bulk_create(_label(memory, rating, now) for memory, rating in found)


def _written_by(turn: Turn) -> list[Memory]:
    """A few of the memories that this turn was the first to tell."""
    there = Memory.objects.filter(
        sources__turn=turn, sources__how="written", state__in=[State.HELD, State.ARCHIVED]
    ).distinct()  # fmt: skip
    return list(there.defer("vector", "features").order_by("written_seq")[:MOST])


def _label(memory: Memory, rating: int, now: datetime) -> Label:
    return Label(
        owner_id=memory.owner_id, memory=memory, about=About.IMPORTANCE, value=rating / HIGHEST, weight=WEIGHT,
        source=Source.MODEL, reason=f"{rating} of {HIGHEST}", text=memory.text, at=now,
    )  # fmt: skip
