"""From answers to labels: a job that acts as the memories' owner. Done twice it changes nothing the second time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.db.models import Count, F, Q
from django.utils import timezone

from memory.models import LABELLING_OPEN, Bank, Conversation
from memory.services.jobs import enqueue, handles
from memory.tenancy import acting_as
from training.models import About, Label, Mode, Review, ReviewItem, ReviewState, Source
from training.services.own_heads import learn_soon
from training.services.queue import LEAST_OPEN, UNSETTLED, fill_soon, hold
from training.services.reviews import HIGHEST, SETTLE

FAR_APART = 2.0  # ratings that differ by so much are a disagreement; of comparisons any difference is
PATIENCE = timedelta(minutes=1)  # after which an answer must have been settled


@handles(SETTLE)
def settle(key: str) -> None:
    """Bring an item's state and the labels that come of it in line with its answers; the key begins with its id."""
    item_id = UUID(key.partition(":")[0])
    bank = Bank.objects.filter(pk__in=ReviewItem.objects.filter(pk=item_id).values("bank")).first()
    if bank is None:
        return
    hold(bank)
    item = ReviewItem.objects.select_for_update().filter(pk=item_id).first()
    if item is None:
        return
    answers = list(item.reviews.filter(value__isnull=False).order_by("at", "pk"))
    state, counted = verdict(item, answers)
    changed = _label(item, counted)
    if state != item.state:
        item.state = state
        # what shows nothing any more and is open again gets its words from the queue's job
        item.hidden = item.hidden or (state in UNSETTLED and not item.shown)
        item.save(update_fields=["state", "hidden"])
    if changed:
        learn_soon(item.bank_id, owner_id=item.owner_id, now=timezone.now())
    if item.hidden or ReviewItem.objects.filter(bank=bank, state=ReviewState.OPEN).count() < LEAST_OPEN:
        fill_soon(item.bank_id, owner_id=item.owner_id)


def verdict(item: ReviewItem, answers: Sequence[Review]) -> tuple[ReviewState, list[Review]]:
    """The state that these answers put the item in, and those of them that become labels."""
    resolving = [one for one in answers if one.resolves]
    judging = [one for one in answers if not one.resolves]
    if resolving:
        return ReviewState.RESOLVED, resolving[-1:]
    if len(judging) < item.wanted:
        return ReviewState.OPEN, []
    if disagree(Mode(item.mode), [one.value for one in judging if one.value is not None]):
        return ReviewState.DISPUTED, []
    return ReviewState.DONE, judging


def disagree(mode: Mode, values: Sequence[float]) -> bool:
    """Whether judgements lie so far apart that a second person has to settle it."""
    apart = max(values) - min(values)
    return apart >= FAR_APART if mode is Mode.RATE else apart > 0


def _label(item: ReviewItem, counted: Sequence[Review]) -> bool:
    """See that exactly these answers are labels. Returns whether anything changed."""
    wanted = {_identity(item, one): one for one in counted}
    present = {(row.memory_id, row.other_id, row.by_id, row.value): row for row in _labels_of(item)}
    gone = [row.pk for key, row in present.items() if key not in wanted]
    new = [one for key, one in wanted.items() if key not in present]
    Label.objects.filter(pk__in=gone).delete()
    for one in new:
        memory, other, _by, value = _identity(item, one)
        judged = item.memory if memory == item.memory_id else item.other
        assert judged is not None
        Label.objects.create(
            owner_id=item.owner_id, memory=judged, other_id=other, about=About.IMPORTANCE, value=value, weight=1.0,
            source=Source.QUEUE, by_id=one.by_id, reason=item.chosen, text=judged.text, at=one.at,
        )  # fmt: skip
    return bool(gone or new)


def _labels_of(item: ReviewItem) -> list[Label]:
    """The labels of the queue about just what the item asks. No other item asks the same."""
    here = Label.objects.filter(source=Source.QUEUE, about=About.IMPORTANCE)
    if item.other_id is None:
        return list(here.filter(memory=item.memory_id, other=None))
    one, other = item.memory_id, item.other_id
    return list(here.filter(Q(memory=one, other=other) | Q(memory=other, other=one)))


def _identity(item: ReviewItem, answer: Review) -> tuple[UUID, UUID | None, UUID, float]:
    """What the label of an answer says: memory, the one worth less, by whom, and the value."""
    assert answer.value is not None
    if item.other_id is None:
        return item.memory_id, None, answer.by_id, answer.value / HIGHEST[Mode.RATE]
    better, worse = (item.memory_id, item.other_id) if answer.value == 0 else (item.other_id, item.memory_id)
    return better, worse, answer.by_id, 1.0


def tend_queues() -> None:
    """Over everybody's rows: answers whose job was lost are settled, and open banks get their items."""
    overdue = timezone.now() - PATIENCE
    given = Q(reviews__value__isnull=False)
    counted = ReviewItem.objects.using("worker").annotate(
        judged=Count("reviews", filter=given), waiting=Count("reviews", filter=given & Q(reviews__at__lt=overdue))
    )
    unsettled = Q(state=ReviewState.OPEN, waiting__gte=F("wanted"))
    taken_back = Q(state__in=(ReviewState.DONE, ReviewState.DISPUTED), judged__lt=F("wanted"))
    late = counted.filter(unsettled | taken_back)
    for key, owner in late.values_list("pk", "owner_id")[:500]:
        with acting_as(owner):
            enqueue(SETTLE, str(key), owner_id=owner)
    opened = Conversation.objects.using("worker").filter(labelling__in=LABELLING_OPEN, forgotten_until=None)
    untidy = ReviewItem.objects.using("worker").filter(
        Q(hidden=True, state__in=UNSETTLED) | ~Q(state__in=UNSETTLED) & ~Q(shown=[])
    )
    few = Count("pk", filter=Q(state=ReviewState.OPEN))
    full = ReviewItem.objects.using("worker").values("bank").annotate(few=few).filter(few__gte=LEAST_OPEN)
    wanting = Bank.objects.using("worker").filter(
        Q(pk__in=opened.exclude(bank__in=full.values("bank")).values("bank")) | Q(pk__in=untidy.values("bank"))
    )
    for bank, owner in wanting.values_list("pk", "owner_id")[:500]:
        with acting_as(owner):
            fill_soon(bank, owner_id=owner)
