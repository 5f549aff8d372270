"""Thumbs on a reply, spread weakly over the memories that were handed to it.

A thumb judges the reply, not a memory: that a memory helped or misled is a guess, surer the more of the recall's
attention it had. So each injected memory gets its share of what all of them weighed: of relevance to that cue, and for
a thumb up a little of importance. A thumb down says nothing of importance: a memory that misled here may be needed
elsewhere, and a reply is bad for many reasons that no memory has a part in.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from memory import selectors
from memory.engine.types import State
from memory.models import Memory, Recall, Turn
from memory.services.turns import NotFound
from training.models import About, Label, Source, Thumb
from training.services.labels import LabelRefused

UP, DOWN = "up", "down"
FITTED = {UP: 1.0, DOWN: 0.5}  # full judgements of relevance that a whole thumb counts for: see above
KEPT = 0.25  # and of importance, up alone


@transaction.atomic
def raise_thumb(turn_id: UUID, thumb: str, *, by: UUID, now: datetime) -> None:
    """Take a person's thumb on the reply of a turn of theirs, in place of an earlier one.

    Raises `NotFound`, or `LabelRefused` for a turn without a reply or a thumb that is neither up nor down.
    """
    if thumb not in FITTED:
        raise LabelRefused(_("A thumb is up or down."))
    turn = _replied(turn_id)
    _lower(turn)
    Thumb.objects.create(owner_id=turn.owner_id, turn=turn, up=thumb == UP, at=now)
    trace = turn.recalls.order_by("at").last()
    if trace is not None:
        Label.objects.bulk_create(_spread(trace, thumb, by, now))


@transaction.atomic
def lower_thumb(turn_id: UUID) -> None:
    """Take a thumb back, with all that it said of memories. Raises `NotFound`."""
    _lower(_replied(turn_id))


def thumbs_on(turns: list[UUID]) -> dict[UUID, str]:
    """The person's thumb on each of these turns, where there is one."""
    found = Thumb.objects.filter(turn__in=turns).values_list("turn", "up")
    return {turn: UP if up else DOWN for turn, up in found}


def _replied(turn_id: UUID) -> Turn:
    selectors.turn(turn_id)  # another's, and one of a conversation that is being forgotten, is not found
    # locked: of two thumbs sent at once the second takes the place of the first
    turn = Turn.objects.select_for_update().filter(pk=turn_id).first()
    if turn is None:
        raise NotFound(_("There is no such turn."))
    if not turn.action or turn.finished_at is None:
        raise LabelRefused(_("This turn has no reply yet."))
    return turn


def _lower(turn: Turn) -> None:
    Thumb.objects.filter(turn=turn).delete()
    Label.objects.filter(recall__turn=turn, source=Source.THUMB).delete()


def _spread(trace: Recall, thumb: str, by: UUID, now: datetime) -> list[Label]:
    weights = {UUID(row["memory"]): row["weight"] for row in trace.rows if row["injected"]}
    judged = Memory.objects.filter(pk__in=weights, state__in=[State.HELD, State.ARCHIVED])
    whole = sum(weights.values())
    labels: list[Label] = []
    for memory in judged.defer("vector", "features"):
        share = weights[memory.pk] / whole if whole else 1 / len(weights)
        common: dict[str, Any] = {"owner_id": memory.owner_id, "memory": memory, "recall": trace, "by_id": by,
                  "source": Source.THUMB, "reason": thumb, "text": memory.text, "at": now}  # fmt: skip
        value = float(thumb == UP)
        labels.append(Label(about=About.RELEVANCE, value=value, weight=FITTED[thumb] * share, **common))
        if thumb == UP:
            labels.append(Label(about=About.IMPORTANCE, value=1.0, weight=KEPT * share, **common))
    return labels
