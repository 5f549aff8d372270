"""What replies would have been without one of their memories: for a few turns a day, never in a turn.

The day's budget stands in the rules (0: none). Turns are drawn at random from the last day's, each once; a job in the
training worker then masks one injected memory after the other. The model that scores runs here, so no word leaves.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from functools import lru_cache
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from memory.engine.types import State
from memory.models import Job, Memory, Recall, Turn, TurnState
from memory.services.jobs import enqueue, handles
from memory.tenancy import acting_as
from training.learner.counterfactual import effects, needed
from training.learner.likelihood import LikelihoodScorer
from training.models import About, Label, Rules, Source

JOB = "training.counterfactual"
DAY = timedelta(days=1)
MOST = 6  # of a turn's memories, the heaviest: each costs one more reading of the prompt
# Another model's view of a reply that it did not give: a hint. What it did not need here may be needed elsewhere, so
# only a memory that the reply leaned on says something of importance.
FITTED, KEPT, LEANED_ON = 0.3, 0.2, 0.5


@lru_cache(maxsize=1)
def scorer() -> LikelihoodScorer:
    """This process's model of likelihoods; `settings.LIKELIHOOD_FACTORY` makes it."""
    made: LikelihoodScorer = import_string(settings.LIKELIHOOD_FACTORY)()
    return made


def choose_turns(now: datetime) -> int:
    """Draw turns of the last day for which nobody asked yet, as many as the day's budget has left. Returns how many."""
    rules = Rules.in_force("worker")
    asked = Job.objects.using("worker").filter(kind=JOB)
    left = rules.counterfactuals_a_day - asked.filter(created_at__gt=now - DAY).count()
    if left <= 0:
        return 0
    done = Turn.objects.using("worker").filter(
        state=TurnState.DONE, finished_at__gt=now - DAY, replaced_at=None, conversation__forgotten_until=None,
        recalls__injected__len__gt=0,
    )  # fmt: skip
    known = set(asked.values_list("key", flat=True))
    free = sorted({(turn, owner) for turn, owner in done.values_list("pk", "owner") if str(turn) not in known}, key=str)
    chosen = random.Random(now.isoformat()).sample(free, min(left, len(free)))
    for turn, owner in chosen:
        with acting_as(owner):
            enqueue(JOB, str(turn), owner_id=owner)
    return len(chosen)


@handles(JOB, heavy=True)
def mask_memories_of(key: str) -> None:
    """Label the memories of one turn by what masking each does to its reply's likelihood."""
    turn = Turn.objects.filter(pk=UUID(key), replaced_at=None, conversation__forgotten_until=None).first()
    trace = turn.recalls.order_by("at").last() if turn else None
    if turn is not None and trace is not None and turn.action:
        label_by_masking(turn, trace, scorer(), now=timezone.now())


def label_by_masking(turn: Turn, trace: Recall, by: LikelihoodScorer, *, now: datetime) -> list[Label]:
    """Make the labels of one turn, in place of earlier ones. Raises `LikelihoodUnavailable`."""
    memories = _injected(trace)
    found = effects(by, [memory.text for memory in memories], turn.observation, turn.action) if memories else []
    labels: list[Label] = []
    for memory, effect in zip(memories, found, strict=True):
        value = needed(effect)
        common = {"owner_id": memory.owner_id, "memory": memory, "recall": trace, "source": Source.COUNTERFACTUAL,
                  "reason": f"{effect:+.2f} nats", "text": memory.text, "at": now}  # fmt: skip
        labels.append(Label(about=About.RELEVANCE, value=value, weight=FITTED, **common))
        if value >= LEANED_ON:
            labels.append(Label(about=About.IMPORTANCE, value=value, weight=KEPT, **common))
    with transaction.atomic():
        Label.objects.filter(recall=trace, source=Source.COUNTERFACTUAL).delete()
        return Label.objects.bulk_create(labels)


def _injected(trace: Recall) -> list[Memory]:
    """The heaviest of the memories that stood in the prompt and are not being forgotten, in order of time."""
    rows = [UUID(row["memory"]) for row in trace.rows if row["injected"]]
    there = Memory.objects.filter(pk__in=rows[:MOST], state__in=[State.HELD, State.ARCHIVED])
    return list(there.defer("vector", "features").order_by("at", "written_seq"))
