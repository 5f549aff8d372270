"""An agent's own importance head, from what its person said of its memories.

The shared adapter stays as it is: a bank gets a version of its own, with the weights of its kind moved as far as its
labels go, and only if held-out labels are ranked better by it (`memory.engine.adapting`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
from django.db.models import Count, Max
from django.utils import timezone

from memory.adapters import adapter_of, keep_adapter, learned_for, name_in_row, shipped_adapter
from memory.engine import adapting
from memory.engine.adapter import Adapter
from memory.engine.adapting import adapted, own_head
from memory.engine.bank import BankEvent, Kind
from memory.engine.importance import ImportanceHead, ImportancePrior, kind_of
from memory.engine.posterior import Posterior, believed, rated
from memory.engine.statistics import STEP, RoleStatistics
from memory.engine.types import BankError, Floats, Role
from memory.hot_banks import hot_banks, read_events
from memory.models import AdapterVersion, Bank
from memory.services.jobs import enqueue, handles
from memory.services.rebudget import Applied, apply_change, configuration_of_bank, preview_change
from memory.tenancy import acting_as
from training.learner.self_taught import FREE
from training.models import About, Label, Source
from training.services.judgements import judged, judged_by_people

LEAST = 20  # labelled memories before anything is learned: fewer say almost nothing (docs/lab-log.md, "Few labels")
PAUSE = timedelta(seconds=30)  # after the last word, so that a row of words is learned from once
JOB = "training.own_head"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Learning:
    """How far a bank is on its way to a head of its own."""

    labels: int  # memories with a judgement of their importance
    missing: int  # so many more are needed, or 0
    one_sided: bool  # all of them say the same, so nothing can be learned yet
    version: str  # of its own head that serves, or ""


def learn_soon(bank: UUID, *, owner_id: UUID, now: datetime) -> None:
    """Have a bank's head learned anew once its person has said what there is to say."""
    enqueue(JOB, str(bank), owner_id=owner_id, run_after=now + PAUSE)


def learning_of(bank: Bank) -> Learning:
    """How far the bank is: counts, and whether a head of its own serves it."""
    values = list(_labels(bank.pk).values())
    missing = max(0, LEAST - len(values))
    one_sided = not missing and len({value >= 0.5 for value in values}) < 2
    return Learning(len(values), missing, one_sided, bank.adapter if bank.adapter in learned_for(bank.pk) else "")


@handles(JOB)
def learn_own_head(key: str) -> None:
    """Learn a bank's head from its labels and let it serve, if it is better; else leave the bank as it is."""
    bank = Bank.objects.select_related("space").filter(pk=UUID(key)).first()
    if bank is not None:
        learn(bank, now=timezone.now())


def learn(bank: Bank, *, now: datetime) -> Applied | None:
    """Learn and apply; None where nothing changes: too little to learn from, or nothing that ranks better.

    The bank is scored anew by its own version, as by any change of its adapter: what then does not fit leaves.
    """
    base = base_of(bank)
    own = learned_around(bank, base)
    return _back_to_shared(bank, base, now) if own is None else _serve(bank, own.version, now)


def learned_around(bank: Bank, base: Adapter) -> Adapter | None:
    """A version of the bank's own around this shared adapter, stored but not serving yet; None where its labels are
    too few, or rank nothing better. Hindsight comes first, the words of people lead on from there."""
    labels = _labels(bank.pk)
    kind = kind_of(hot_banks.open(bank).state.statistics, hot_banks.open(bank).state.kind)
    memories, z = standardised(read_events(bank), base.importance, kind, set(labels))
    prior = base.importance.priors[kind]
    start = own_head(prior.weights, prior.bias)
    before, by_hindsight = _after_hindsight(bank, base, kind, without=set(labels)) or (start, [])
    learned = before
    if len(memories) >= LEAST:
        values = np.array([labels[memory] for memory in memories])
        learned = adapted(before, z, values, range(len(memories)))
    if learned is start:
        return None
    moved = replace(prior, weights=learned.mean[:-1].astype(np.float32), bias=float(learned.mean[-1]))
    return _kept(bank, base, kind, moved, [*memories, *by_hindsight])


def _after_hindsight(bank: Bank, base: Adapter, kind: str, without: set[UUID]) -> tuple[Posterior, list[UUID]] | None:
    """What is believed of the bank's weights after its own hindsight, from where its person's words then lead on, and
    what it was learned from.

    Labels without weight do not count (their guard found no help in them), nor those of memories that people judged;
    None where too few are left. The bias is free: how much is used is not what the prior knows.
    """
    labels = Label.objects.filter(memory__bank=bank, source=Source.HINDSIGHT, about=About.IMPORTANCE, weight__gt=0)
    rows = {
        memory: (value, weight, (turn or memory, side))
        for memory, value, weight, turn, side in labels.values_list(
            "memory", "value", "weight", "memory__turn", "memory__side"
        )
        if memory not in without
    }
    memories, z = standardised(read_events(bank), base.importance, kind, set(rows))
    if len(memories) < LEAST:
        return None
    value, weight, sides = zip(*(rows[memory] for memory in memories), strict=True)
    pieces = Counter(sides)  # the pieces of one side share one label's weight
    trust = np.array(weight) / np.array([pieces[side] for side in sides])
    prior = base.importance.priors[kind]
    strength = np.full(len(prior.weights) + 1, adapting.STRENGTH)
    strength[-1] = FREE
    return rated(believed(prior.weights, prior.bias, strength), z, np.array(value), trust), memories


def learn_where_new(*, now: datetime, alive: Callable[[float], None]) -> int:
    """Learn the own head of every bank with labels newer than it, each as its owner; returns how many now have one.

    A bank whose learning fails keeps what serves it. `alive` is told the share of banks done.
    """
    learned = 0
    newest = Label.objects.using("worker").filter(about=About.IMPORTANCE, weight__gt=0, other=None)
    banks = list(newest.values_list("memory__bank", "memory__bank__owner").annotate(at=Max("at"), n=Count("memory")))
    for number, (bank_id, owner, at, count) in enumerate(sorted(banks)):
        version = AdapterVersion.objects.using("worker").filter(manifest__bank=str(bank_id), created_at__gte=at)
        if count >= LEAST and not version.exists():
            try:
                with acting_as(owner):
                    bank = Bank.objects.select_related("space").get(pk=bank_id)
                    learned += learn(bank, now=now) is not None
            except BankError as error:
                log.warning("bank %s keeps the head that it has: %s", bank_id, error.sentence)
        alive((number + 1) / len(banks))
    return learned


def _back_to_shared(bank: Bank, base: Adapter, now: datetime) -> Applied | None:
    """Words that were taken back, or say something else now, carry no head of their own any more."""
    if bank.adapter not in learned_for(bank.pk):
        return None
    return _serve(bank, name_in_row(base.version), now)


def _serve(bank: Bank, version: str, now: datetime) -> Applied:
    seen = preview_change(bank.pk, replace(configuration_of_bank(bank), adapter=version), now=now)
    return apply_change(bank.pk, seen.promise, now=now)


def standardised(
    events: Sequence[BankEvent], head: ImportanceHead, kind: str, wanted: set[UUID]
) -> tuple[list[UUID], Floats]:
    """The `wanted` memories whose features the ledger still has, with these as the head saw them when they were
    written, (N, F)."""
    statistics = RoleStatistics()
    memories: list[UUID] = []
    rows: list[Floats] = []
    for event in events:
        whole = event.data.get("features") if event.kind is Kind.WRITTEN else None
        if event.memory is None or not whole:
            continue
        role = Role(event.data["role"])
        if event.memory in wanted:
            values = np.zeros(len(head.priors[kind].weights), dtype=np.float32)
            values[: len(whole)] = np.asarray(whole, dtype=np.float32) * np.float32(STEP)
            memories.append(event.memory)
            rows.append(head.standardised(values, role, statistics, kind))
        statistics.add(role, whole)
    return memories, np.array(rows, dtype=np.float32).reshape(len(rows), len(head.priors[kind].weights))


def _labels(bank: UUID) -> dict[UUID, float]:
    """The importance of each memory that people judged; what else says something of it is for the shared head."""
    by_people = judged_by_people(bank)
    return {memory: value for memory, (value, _weight) in judged(bank).items() if memory in by_people}


def base_of(bank: Bank) -> Adapter:
    """The shared adapter that the bank's own version starts from: never another own one, or words would count twice."""
    if bank.adapter not in learned_for(bank.pk):
        return adapter_of(bank)
    row = AdapterVersion.objects.filter(version=bank.adapter).first()
    parent = row.parent_id if row else None
    return adapter_of(Bank(adapter=parent, space=bank.space)) if parent else shipped_adapter()


def base_version(bank: Bank) -> str:
    """The version of the shared adapter that serves a bank, or that its own head stands on."""
    return base_of(bank).version


def _kept(bank: Bank, base: Adapter, kind: str, prior: ImportancePrior, memories: Sequence[UUID]) -> Adapter:
    """Store the bank's next own version, with the ids of what it learned from: an erasure has to find it."""
    before = AdapterVersion.objects.filter(manifest__bank=str(bank.pk)).count()
    version = f"own-{bank.pk.hex[:8]}-{before + 1}"
    own = replace(base, version=version, importance=ImportanceHead({**base.importance.priors, kind: prior}))
    about = {"kind": "own", "bank": str(bank.pk), "of": kind, "labels": len(memories)}
    keep_adapter(own, base, {**about, "memories": sorted(map(str, memories))})
    return own
