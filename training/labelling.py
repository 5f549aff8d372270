"""Reads of the labelling queue, as a labeller sees it: masked items, how far it is, and how far people agree."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Max, Q, QuerySet, TextField, Value
from django.db.models.functions import MD5, Cast, Concat
from django.utils.translation import gettext as _

from memory.services.turns import NotFound
from training.learner.agreement import Scale, alpha
from training.models import Chosen, Mode, Review, ReviewItem, ReviewState

AT_ONCE = 3  # items that a page holds: few, since each may leave the queue at any moment
_GIVEN = Q(reviews__value__isnull=False, reviews__resolves=False)


def shown_item(item_id: UUID) -> ReviewItem:
    """An item that labellers may be shown. Raises `NotFound`."""
    item: ReviewItem | None = ReviewItem.objects.filter(pk=item_id, hidden=False).first()
    if item is None:
        raise NotFound(_("This has left the queue."))
    return item


def waiting_for(person: UUID) -> QuerySet[ReviewItem]:
    """What this labeller can still answer: what others have begun comes first, the rest in an order of one's own, so
    that two who work at once rarely answer the same."""
    return (
        ReviewItem.objects.filter(state=ReviewState.OPEN, hidden=False)
        .exclude(shown=[])
        .exclude(reviews__in=Review.objects.filter(by=person))
        .annotate(judged=Count("reviews", filter=_GIVEN), own=_order_of(person))
        .filter(judged__lt=F("wanted"))
        .order_by("-judged", "own")
    )


def disputed_for(person: UUID) -> QuerySet[ReviewItem]:
    """What labellers disagree about, but for what this person answered too."""
    mine = Review.objects.filter(by=person, value__isnull=False)
    return (
        ReviewItem.objects.filter(state=ReviewState.DISPUTED, hidden=False)
        .exclude(shown=[])
        .exclude(reviews__in=mine)
        .order_by("created_at", "pk")
    )


def _order_of(person: UUID) -> MD5:
    return MD5(Concat(Cast("id", TextField()), Value(str(person)), output_field=TextField()))


def items_json(items: QuerySet[ReviewItem], but: Collection[UUID] = (), *, answers: bool = False) -> list[Any]:
    """The next items; with `answers` also what labellers said, though not who."""
    return [_item_json(item, answers) for item in items.exclude(pk__in=but)[:AT_ONCE]]


def _item_json(item: ReviewItem, answers: bool) -> dict[str, Any]:
    # not why it was chosen: that would lead the answer
    shown: dict[str, Any] = {"id": str(item.pk), "mode": item.mode, "memories": item.shown}
    if answers:
        given = item.reviews.filter(value__isnull=False, resolves=False)
        shown["answers"] = sorted(given.values_list("value", flat=True))
    return shown


def progress_json(person: UUID) -> dict[str, int]:
    """How much this labeller has answered, and how much waits for them."""
    mine = Review.objects.filter(by=person, value__isnull=False, resolves=False).count()
    return {"answered": mine, "left": waiting_for(person).count(), "disputed": disputed_for(person).count()}


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha over the items of one mode that several people answered."""

    mode: Mode
    scale: Scale
    random: float | None  # over those chosen at random: the one to report
    random_units: int
    all: float | None
    all_units: int


SCALES: tuple[tuple[Mode, Scale], ...] = ((Mode.RATE, "ordinal"), (Mode.RATE, "interval"), (Mode.COMPARE, "nominal"))


def agreements() -> list[Agreement]:
    """How far labellers agree, by mode and scale."""
    given: Any = Review.objects.filter(value__isnull=False, resolves=False)
    units: dict[tuple[str, bool], dict[UUID, list[float]]] = {}
    for item, mode, chosen, value in given.values_list("item", "item__mode", "item__chosen", "value"):
        units.setdefault((mode, chosen == Chosen.RANDOM), {}).setdefault(item, []).append(value)
    out = []
    for mode, scale in SCALES:
        at_random = _judged_twice(units.get((mode, True), {}).values())
        every = at_random + _judged_twice(units.get((mode, False), {}).values())
        out.append(
            Agreement(mode, scale, alpha(at_random, scale), len(at_random), alpha(every, scale), len(every))
        )  # fmt: skip
    return out


def _judged_twice(units: Iterable[list[float]]) -> list[list[float]]:
    return [values for values in units if len(values) > 1]


def counts() -> list[dict[str, Any]]:
    """How many items there are, by why they were chosen and what became of them."""
    rows: Any = ReviewItem.objects.filter(hidden=False).values("chosen", "state").annotate(n=Count("pk"))
    found = {(row["chosen"], row["state"]): row["n"] for row in rows}
    return [
        {"chosen": chosen.label, **{state.value: found.get((chosen.value, state.value), 0) for state in ReviewState}}
        for chosen in Chosen
    ]


def labellers() -> list[dict[str, Any]]:
    """Who has answered how much, the busiest first."""
    rows: Any = Review.objects.values("by", "by__name", "by__email").annotate(
        answered=Count("pk", filter=Q(value__isnull=False, resolves=False)),
        skipped=Count("pk", filter=Q(value__isnull=True)),
        settled=Count("pk", filter=Q(resolves=True)),
        last=Max("at"),
    )
    return sorted(rows, key=lambda row: (-row["answered"], row["by__email"]))
