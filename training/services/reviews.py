"""Answers of labellers: given, taken back, and the word of a second person where they disagree.

A labeller writes nothing but answers. What follows from them is a job of the memory's owner (`settling.py`).
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction
from django.utils.translation import gettext as _

from memory.engine.types import BankError
from memory.services.jobs import enqueue
from memory.services.turns import NotFound
from training.labelling import shown_item
from training.models import Mode, Review, ReviewItem, ReviewState

SETTLE = "training.settle"
HIGHEST = {Mode.RATE: 4, Mode.COMPARE: 1}  # of what an answer can be; the lowest is 0, and only whole ones are given


class ReviewRefused(BankError):
    """The answer cannot be taken; the sentence says why."""


@transaction.atomic
def answer(item_id: UUID, value: int | None, *, by: UUID, now: datetime) -> Review:
    """Take one labeller's answer, in place of an earlier one: 0 to 4, or 0 (the first) or 1; None skips the item.

    Raises `NotFound` for what is not (or no longer) shown, `ReviewRefused` for what is settled or out of range.
    """
    item = shown_item(item_id)
    _check(item, value)
    others = Review.objects.filter(item=item, value__isnull=False).exclude(by=by).count()
    if item.state == ReviewState.RESOLVED or others >= item.wanted:
        raise ReviewRefused(_("Others have answered this already."))
    given, _made = Review.objects.update_or_create(
        item=item, by_id=by, defaults={"owner_id": item.owner_id, "value": value, "at": now}
    )
    settle_soon(item)
    return given


@transaction.atomic
def take_back(item_id: UUID, *, by: UUID) -> None:
    """Undo one's answer; the label that came of it goes too. Raises `NotFound`."""
    item = shown_item(item_id)
    if not Review.objects.filter(item=item, by=by).delete()[0]:
        raise NotFound(_("You have not answered this."))
    settle_soon(item)


@transaction.atomic
def resolve(item_id: UUID, value: int, *, by: UUID, now: datetime) -> Review:
    """Settle what labellers disagree about: the word of somebody who was not among them stands.

    Raises `NotFound`, or `ReviewRefused` for an item that is not disputed and for one's own.
    """
    item = shown_item(item_id)
    if item.state != ReviewState.DISPUTED:
        raise ReviewRefused(_("There is nothing to settle here any more."))
    if Review.objects.filter(item=item, by=by, value__isnull=False).exists():
        raise ReviewRefused(_("You answered this yourself: a second person has to settle it."))
    _check(item, value)
    Review.objects.filter(item=item, by=by).delete()  # one who skipped it may settle it
    settled = Review.objects.create(item=item, owner_id=item.owner_id, by_id=by, value=value, resolves=True, at=now)
    settle_soon(item)
    return settled


def settle_soon(item: ReviewItem) -> None:
    """Have the item's owner draw the consequences of its answers.

    Each time a job of its own: one that runs already may have read the answers before this one was there.
    """
    enqueue(SETTLE, f"{item.pk}:{uuid4().hex}", owner_id=item.owner_id)


def _check(item: ReviewItem, value: int | None) -> None:
    highest = HIGHEST[Mode(item.mode)]
    if value is not None and not 0 <= value <= highest:
        raise ReviewRefused(_("An answer lies between 0 and %(highest)d.") % {"highest": highest})
