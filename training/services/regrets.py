"""Regret as a label: a memory that left, that a later cue asked for, and that its person then had to say again.

The worker keeps with each recall which archived memories its cue would have recalled (`memory.services.sweeps`). Here
the next messages of the same conversation are looked at, once they are there.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memory.engine.types import State
from memory.hot_banks import hot_banks
from memory.models import Bank, Memory, Recall, Turn
from memory.services.jobs import enqueue, handles
from memory.tenancy import acting_as
from training.learner.regret import MESSAGES, said_again
from training.models import About, Label, Source

JOB = "training.regret"
BACK = timedelta(days=7)  # of recalls that are looked at again: the next message may come days later
# A person did it, but did not say it of this memory: half a judgement.
WEIGHT = 0.5
LEAST_RARITY = 0.1  # of a word that nearly all held memories have


def look_back(now: datetime) -> int:
    """Have each bank looked at that regretted something lately. Returns how many."""
    recent = Recall.objects.using("worker").filter(at__gt=now - BACK).exclude(regretted=[])
    banks = list(recent.values_list("bank", "owner").distinct())
    for bank, owner in banks:
        with acting_as(owner):
            enqueue(JOB, str(bank), owner_id=owner)
    return len(banks)


@handles(JOB)
def label_what_was_missed(key: str) -> None:
    """Label what one bank's recalls of the last week missed."""
    bank = Bank.objects.select_related("space").filter(pk=UUID(key)).first()
    if bank is not None:
        label_regrets(bank, now=timezone.now())


def label_regrets(bank: Bank, *, now: datetime) -> int:
    """Make the labels of a bank's recent regrets, in place of those made before. Returns how many memories were said
    again."""
    traces = Recall.objects.filter(
        bank=bank, at__gt=now - BACK, turn__replaced_at=None, turn__conversation__forgotten_until=None
    ).exclude(regretted=[])
    index = hot_banks.open(bank).index
    labels: list[Label] = []
    looked_at = list(traces.select_related("turn").order_by("at"))
    for trace in looked_at:
        labels += [label for memory in _missed(trace, index.idf) for label in _labels(trace, memory, now)]
    with transaction.atomic():
        Label.objects.filter(recall__in=[trace.pk for trace in looked_at], source=Source.REGRET).delete()
        Label.objects.bulk_create(labels)
    return len({label.memory_id for label in labels})


def _missed(trace: Recall, idf: Callable[[str], float]) -> list[Memory]:
    """What the recall did not have and the person then said."""
    turn = trace.turn
    later = Turn.objects.filter(
        conversation=turn.conversation_id, replaced_at=None, ordinal__gt=turn.ordinal
    ).order_by("ordinal")  # fmt: skip
    afterwards = list(later.values_list("observation", flat=True)[:MESSAGES])
    if not afterwards:
        return []
    # a memory that its person told again word for word is back in the bank by now
    wanted = [UUID(row["memory"]) for row in trace.regretted]
    memories = Memory.objects.filter(pk__in=wanted, state__in=[State.HELD, State.ARCHIVED])
    return [
        memory
        for memory in memories.defer("vector", "features")
        if said_again(
            memory.text, cue=turn.observation, reply=turn.action, afterwards=afterwards,
            rarity=lambda word: max(idf(word), LEAST_RARITY),
        )
    ]  # fmt: skip


def _labels(trace: Recall, memory: Memory, now: datetime) -> list[Label]:
    common = {"owner_id": memory.owner_id, "memory": memory, "recall": trace, "value": 1.0, "weight": WEIGHT,
              "source": Source.REGRET, "reason": "said again", "text": memory.text, "at": now}  # fmt: skip
    return [Label(about=About.IMPORTANCE, **common), Label(about=About.RELEVANCE, **common)]
