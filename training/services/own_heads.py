"""An agent's own importance head, from what its person said of its memories.

The shared adapter stays as it is: a bank gets a version of its own, with the weights of its kind moved as far as its
labels go, and only if held-out labels are ranked better by it (`memory.engine.adapting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from django.utils import timezone

from memory.adapters import adapter_of, keep_adapter, learned_for, serving_adapter
from memory.engine.adapter import Adapter
from memory.engine.adapting import adapted, own_head
from memory.engine.bank import BankEvent, Kind
from memory.engine.importance import ImportanceHead, ImportancePrior, kind_of
from memory.engine.statistics import STEP, RoleStatistics
from memory.engine.types import Floats, Role
from memory.hot_banks import hot_banks, read_events
from memory.models import AdapterVersion, Bank
from memory.services.jobs import enqueue, handles
from memory.services.rebudget import Applied, apply_change, configuration_of_bank, preview_change
from training.models import About, Label

LEAST = 20  # labelled memories before anything is learned: fewer say almost nothing (docs/lab-log.md, "Few labels")
PAUSE = timedelta(seconds=30)  # after the last word, so that a row of words is learned from once
JOB = "training.own_head"


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
    labels = _labels(bank.pk)
    base = _base_of(bank)
    kind = kind_of(hot_banks.open(bank).state.statistics, hot_banks.open(bank).state.kind)
    memories, z = standardised(read_events(bank), base.importance, kind, set(labels))
    if len(memories) < LEAST:
        return _back_to_shared(bank, base, now)
    values = np.array([labels[memory] for memory in memories])
    prior = base.importance.priors[kind]
    start = own_head(prior.weights, prior.bias)
    learned = adapted(start, z, values, range(len(memories)))
    if learned is start:
        return _back_to_shared(bank, base, now)
    moved = replace(prior, weights=learned.mean[:-1].astype(np.float32), bias=float(learned.mean[-1]))
    return _serve(bank, _kept(bank, base, kind, moved, len(memories)).version, now)


def _back_to_shared(bank: Bank, base: Adapter, now: datetime) -> Applied | None:
    """Words that were taken back, or say something else now, carry no head of their own any more."""
    if bank.adapter not in learned_for(bank.pk):
        return None
    return _serve(bank, "" if base.version == serving_adapter().version else base.version, now)


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
    """What was judged of each memory's importance, as the mean by weight."""
    total: dict[UUID, tuple[float, float]] = {}
    rows: Any = Label.objects.filter(memory__bank=bank, about=About.IMPORTANCE, other=None, weight__gt=0)
    for memory, value, weight in rows.values_list("memory", "value", "weight"):
        sums, weights = total.get(memory, (0.0, 0.0))
        total[memory] = (sums + value * weight, weights + weight)
    return {memory: sums / weights for memory, (sums, weights) in total.items()}


def _base_of(bank: Bank) -> Adapter:
    """The shared adapter that the bank's own version starts from: never another own one, or words would count twice."""
    if bank.adapter not in learned_for(bank.pk):
        return adapter_of(bank)
    row = AdapterVersion.objects.filter(version=bank.adapter).first()
    parent = row.parent_id if row else None
    return adapter_of(Bank(adapter=parent, space=bank.space)) if parent else serving_adapter()


def _kept(bank: Bank, base: Adapter, kind: str, prior: ImportancePrior, labels: int) -> Adapter:
    """Store the bank's next own version."""
    version = f"own-{bank.pk.hex[:8]}-{len(learned_for(bank.pk)) + 1}"
    own = replace(base, version=version, importance=ImportanceHead({**base.importance.priors, kind: prior}))
    keep_adapter(own, base, {"kind": "own", "bank": str(bank.pk), "of": kind, "labels": labels})
    return own
