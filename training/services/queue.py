"""What is put before labellers: items of a bank's memories, in the operator's shares, made as the bank's owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db.models import Max, Q
from django.utils import timezone

from memory.adapters import adapter_of
from memory.engine.adapting import own_head
from memory.engine.importance import kind_of
from memory.engine.posterior import Posterior, rated
from memory.engine.retention import policy_named
from memory.engine.retention.budget import leaving_order
from memory.engine.types import Floats, State
from memory.hot_banks import hot_banks, read_events
from memory.models import LABELLING_OPEN, Bank, Conversation, Memory
from memory.services.conversations import let_label
from memory.services.jobs import enqueue, handles
from training.learner.choosing import LEAVING, RANDOM, UNCERTAIN, Choice, chosen
from training.models import About, Label, Mode, ReviewItem, ReviewState, Rules, Source
from training.services.own_heads import standardised
from training.services.showing import may_be_shown, showing

JOB = "training.fill_queue"
MOST_OPEN = 60  # items of one bank at once: later ones are chosen by what the answers to these have taught
LEAST_OPEN = 30
PAIRED = 4  # of so many memories chosen two are compared: a third of the items
UNSETTLED = (ReviewState.OPEN, ReviewState.DISPUTED)


def open_to_labelling(conversation_id: UUID, open_: bool) -> Conversation:
    """The owner's word on whether labellers may see a conversation. Closing hides what shows it at once (a trigger of
    the database does), and takes the copies away soon after. Raises `NotFound`."""
    conversation = let_label(conversation_id, open_)
    fill_soon(conversation.bank_id, owner_id=conversation.owner_id)
    return conversation


def fill_soon(bank: UUID, *, owner_id: UUID) -> None:
    """Have a bank's part of the queue brought in line."""
    enqueue(JOB, str(bank), owner_id=owner_id)


@handles(JOB)
def fill_queue(key: str) -> None:
    """Bring a bank's part of the queue in line with what may be shown, and fill it."""
    bank = Bank.objects.select_related("space").filter(pk=UUID(key)).first()
    if bank is not None:
        tend(bank)


def tend(bank: Bank) -> int:
    """Take away what may not be shown any more, show anew what may be again, and fill up. Returns how many are new.

    What takes long is done before anything is locked; whoever closes, forgets or chats waits for the rest at most.
    """
    rules = Rules.in_force()
    choices = _choices(bank, _free(bank), rules)
    hold(bank)
    list(Conversation.objects.select_for_update(no_key=True).filter(bank=bank, labelling__in=LABELLING_OPEN))
    _tidy(bank)
    words = {memory.pk: memory for memory in may_be_shown(bank).filter(pk__in=[memory for memory, _ in choices])}
    asked = _asked(bank)
    made = [
        _item(bank, why, [words[memory] for memory in group], rules)
        for why, group in _groups([(memory, why) for memory, why in choices if memory in words and memory not in asked])
    ]
    return len(ReviewItem.objects.bulk_create(made[: _missing(bank)]))


def hold(bank: Bank) -> None:
    """Lock the bank's row, as whoever changes its memories does: always before any item."""
    list(Bank.objects.select_for_update(no_key=True).filter(pk=bank.pk).values_list("pk"))


def _missing(bank: Bank) -> int:
    return max(0, MOST_OPEN - ReviewItem.objects.filter(bank=bank, state=ReviewState.OPEN).count())


def _free(bank: Bank) -> dict[UUID, Memory]:
    """Memories that labellers may be shown and were not asked about; not their words, which are many."""
    if not Conversation.objects.filter(bank=bank, labelling__in=LABELLING_OPEN).exists() or not _missing(bank):
        return {}
    asked = _asked(bank)
    known = may_be_shown(bank).only("state", "archived_at", "archive_reason", "written_seq")
    return {memory.pk: memory for memory in known if memory.pk not in asked}


def _tidy(bank: Bank) -> None:
    """Show anew what was hidden and may be seen again, drop the rest, and forget the words of what is settled."""
    for item in ReviewItem.objects.select_for_update().filter(bank=bank, hidden=True, state__in=UNSETTLED):
        if not show(item, bank):
            item.delete()
    since = timezone.now() - timedelta(minutes=settings.UNDO_MINUTES)
    told = ReviewItem.objects.filter(bank=bank).exclude(state__in=UNSETTLED).exclude(shown=[])
    told = told.annotate(last=Max("reviews__at"))  # without any it was taken back, and opens again
    old = told.filter(Q(hidden=True) | Q(last__lt=since)).values_list("pk", flat=True)
    ReviewItem.objects.filter(pk__in=list(old)).update(shown=[], turns=[], conversations=[])


def _item(bank: Bank, why: str, memories: Sequence[Memory], rules: Rules) -> ReviewItem:
    shown = showing(memories, hot_banks.open(bank).state.marks)
    first, second = [*memories, None][:2]
    return ReviewItem(
        owner_id=bank.owner_id, bank=bank, memory=first, other=second, mode=Mode.COMPARE if second else Mode.RATE,
        chosen=why, wanted=rules.reviews_wanted, shown=shown.shown, turns=shown.turns,
        conversations=shown.conversations, created_at=timezone.now(),
    )  # fmt: skip


def show(item: ReviewItem, bank: Bank) -> bool:
    """Copy into an item what it shows, as it is now. False where any of its memories may not be shown."""
    wanted = [memory for memory in (item.memory_id, item.other_id) if memory]
    found = {memory.pk: memory for memory in may_be_shown(bank).filter(pk__in=wanted)}
    if len(found) < len(wanted):
        return False
    now = showing([found[memory] for memory in wanted], hot_banks.open(bank).state.marks)
    item.shown, item.turns, item.conversations, item.hidden = now.shown, now.turns, now.conversations, False
    item.save(update_fields=["shown", "turns", "conversations", "hidden"])
    return True


def _asked(bank: Bank) -> set[UUID]:
    """Memories that labellers were asked about, but for those of which what was open was hidden again."""
    asked = ReviewItem.objects.filter(bank=bank).exclude(hidden=True, state__in=UNSETTLED)
    pairs: Any = asked.values_list("memory", "other")
    return {memory for pair in pairs for memory in pair if memory}


def _choices(bank: Bank, free: Mapping[UUID, Memory], rules: Rules) -> list[tuple[UUID, str]]:
    """Memories to ask about, each with why, in a random order; two of `PAIRED` go into one item.

    Reported figures stand on the random ones, so these must be a fair sample for good, whatever else was asked before:
    a share of all memories, told by their ids alone, is set apart for them, and is never asked about for a reason.
    """
    if not free:
        return []
    belief, places = _belief(bank, free)
    missing = _missing(bank)
    given = {UNCERTAIN: rules.share_uncertain, LEAVING: rules.share_leaving, RANDOM: rules.share_random}
    total = sum(given.values())
    fair = given[RANDOM] / total if total else 1.0
    apart = np.array([_by_chance(memory) < fair for memory in belief.memories], dtype=np.bool_)
    count = missing * PAIRED // (PAIRED - 1)
    dice = np.random.default_rng([bank.pk.int % 2**32, bank.last_seq, missing])
    out: list[tuple[UUID, str]] = []
    for rows, most, shares in (
        (np.flatnonzero(apart), round(count * fair), {RANDOM: 1.0}),
        (np.flatnonzero(~apart), count - round(count * fair), {why: given[why] for why in (UNCERTAIN, LEAVING)}),
    ):
        found = chosen(belief.mean[rows], belief.variance[rows], places[rows], most, shares, dice)
        out += [(belief.memories[rows[choice.index]], _reason(choice, shares)) for choice in found]
    return [out[at] for at in dice.permutation(len(out))]


def _by_chance(memory: UUID) -> float:
    """A number in [0, 1) that is the memory's own."""
    return int.from_bytes(sha256(memory.bytes).digest()[:4], "big") / 2**32


def _reason(choice: Choice, shares: Mapping[str, float]) -> str:
    """Why it was chosen; where too few were near to leaving, what is taken in their place is no fair sample."""
    return choice.why if choice.why in shares else UNCERTAIN


def _groups(choices: Sequence[tuple[UUID, str]]) -> list[tuple[str, tuple[UUID, ...]]]:
    """Choices as items: of each four that were chosen for one reason two are compared."""
    out: list[tuple[str, tuple[UUID, ...]]] = []
    waiting: dict[str, UUID] = {}
    seen: dict[str, int] = {}
    for memory, why in choices:
        seen[why] = seen.get(why, 0) + 1
        if seen[why] % PAIRED not in (1, 2):
            out.append((why, (memory,)))
        elif why in waiting:
            out.append((why, (waiting.pop(why), memory)))
        else:
            waiting[why] = memory
    return out + [(why, (memory,)) for why, memory in waiting.items()]


@dataclass(frozen=True)
class _Belief:
    """What the bank's head believes of N memories: the logit of their importance and its variance, (N,)."""

    memories: Sequence[UUID]
    mean: Floats
    variance: Floats


def _belief(bank: Bank, free: Mapping[UUID, Memory]) -> tuple[_Belief, Floats]:
    """The posterior of the bank's labels around the head that serves it, asked about the `free` memories, and how many
    places each is from leaving.

    A memory whose features the ledger does not have cannot be scored and is not asked about.
    """
    head = adapter_of(bank).importance
    state = hot_banks.open(bank).state
    kind = kind_of(state.statistics, state.kind)
    labels = _values(bank)
    memories, z = standardised(read_events(bank), head, kind, {*free, *labels})
    believed = _learned(own_head(head.priors[kind].weights, head.priors[kind].bias), memories, z, labels)
    rows = [row for row, memory in enumerate(memories) if memory in free]
    asked = [memories[row] for row in rows]
    mean, deviation = believed.logits(z[rows]), believed.uncertainty(z[rows])
    return _Belief(asked, mean.astype(np.float32), (deviation**2).astype(np.float32)), _places(bank, free, asked)


def _learned(prior: Posterior, memories: Sequence[UUID], z: Floats, labels: Mapping[UUID, float]) -> Posterior:
    rows = [row for row, memory in enumerate(memories) if memory in labels]
    return rated(prior, z[rows], [labels[memories[row]] for row in rows]) if rows else prior


def _values(bank: Bank) -> dict[UUID, float]:
    """What people said of each memory's importance, on average."""
    said: Any = Label.objects.filter(
        memory__bank=bank, source__in=(Source.QUEUE, Source.ACTION), about=About.IMPORTANCE, other=None
    )
    out: dict[UUID, list[float]] = {}
    for memory, value in said.values_list("memory", "value"):
        out.setdefault(memory, []).append(value)
    return {memory: sum(values) / len(values) for memory, values in out.items()}


def _places(bank: Bank, free: Mapping[UUID, Memory], memories: Sequence[UUID]) -> Floats:
    """How many places each of N memories is from leaving, (N,): 0 the next, negative what has left, nan what never
    leaves by its value."""
    hot = hot_banks.open(bank)
    policy = policy_named(hot.state.policy or bank.policy)
    with hot.lock:
        held = list(hot)
    order = [item for item, _ in leaving_order(held, policy, timezone.now()) if not item.pinned]
    place = {item.id: float(at) for at, item in enumerate(order)}
    left = [free[memory] for memory in memories if free[memory].state == State.ARCHIVED and free[memory].archived_at]
    left = [memory for memory in left if memory.archive_reason == "budget"]
    left.sort(key=lambda memory: (memory.archived_at, memory.written_seq), reverse=True)
    place |= {memory.pk: -1.0 - at for at, memory in enumerate(left)}
    return np.array([place.get(memory, np.nan) for memory in memories], dtype=np.float32)
