"""Labels as people give them in passing: a word on a memory. Each verb is one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from memory.engine.types import BankError, State
from memory.models import Memory, Recall
from memory.services.turns import NotFound
from training.models import About, Label, Source
from training.services.own_heads import learn_soon


@dataclass(frozen=True)
class Word:
    """What a word on a memory says of its importance, how many full judgements that counts for, and whether it says
    that the memory fitted the cue."""

    importance: float
    weight: float
    relevance: float | None = None


# "Wrong" and "outdated" say nothing of the cue: what is false can fit a question very well.
WORDS: dict[str, Word] = {
    "useful": Word(importance=1.0, weight=1.0, relevance=1.0),
    "outdated": Word(importance=0.25, weight=0.5),
    "wrong": Word(importance=0.0, weight=1.0),
}


class LabelRefused(BankError):
    """The judgement cannot be taken; the sentence says why."""


@transaction.atomic
def say(memory_id: UUID, word: str, *, by: UUID, recall_id: UUID | None = None, now: datetime) -> None:
    """Take a person's word on a memory of theirs, in place of an earlier one; with a recall also on its fit there.

    Raises `NotFound`, or `LabelRefused` for a memory that is being forgotten or a word that nobody knows.
    """
    told = WORDS.get(word)
    if told is None:
        raise LabelRefused(_("There is no such judgement. There are: %(words)s.") % {"words": ", ".join(WORDS)})
    memory = _judged(memory_id)
    _forget_words(memory, by)
    common = {"owner_id": memory.owner_id, "memory": memory, "by_id": by, "source": Source.ACTION, "reason": word,
              "text": memory.text, "at": now}  # fmt: skip
    Label.objects.create(about=About.IMPORTANCE, value=told.importance, weight=told.weight, **common)
    learn_soon(memory.bank_id, owner_id=memory.owner_id, now=now)
    if recall_id is not None and told.relevance is not None:
        recall = _recall_of(recall_id, memory)
        Label.objects.create(about=About.RELEVANCE, recall=recall, value=told.relevance, **common)


@transaction.atomic
def unsay(memory_id: UUID, *, by: UUID, now: datetime) -> None:
    """Take a person's word on a memory back. Raises `NotFound`."""
    memory = _judged(memory_id)
    _forget_words(memory, by)
    learn_soon(memory.bank_id, owner_id=memory.owner_id, now=now)


_JUDGED = (State.HELD, State.ARCHIVED)


def _judged(memory_id: UUID) -> Memory:
    # locked: of two words sent at once the second takes the place of the first
    memory = Memory.objects.select_for_update().filter(pk=memory_id).defer("vector", "features").first()
    if memory is None:
        raise NotFound(_("There is no such memory. It may have been erased."))
    if memory.state not in _JUDGED:
        raise LabelRefused(_("This memory is being forgotten. Undo that first."))
    return memory


def _recall_of(recall_id: UUID, memory: Memory) -> Recall:
    recall: Recall | None = Recall.objects.filter(pk=recall_id, bank=memory.bank_id).first()
    if recall is None:
        raise NotFound(_("There is no such recall."))
    return recall


def _forget_words(memory: Memory, by: UUID) -> None:
    Label.objects.filter(memory=memory, by=by, source=Source.ACTION, reason__in=WORDS).delete()


def words_on(memories: list[UUID], by: UUID) -> dict[UUID, str]:
    """The word that a person has said on each of these memories, where there is one."""
    found: Any = Label.objects.filter(
        memory__in=memories, by=by, source=Source.ACTION, about=About.IMPORTANCE, reason__in=WORDS
    )
    return dict(found.values_list("memory", "reason"))
