"""A promotion on its way through the banks: one job a bank, as its owner, in one transaction with the note that it is
done. Delivered twice it does nothing twice; its undoing brings back what left by it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.adapters import adapter_named, available_adapters, learned_for, name_in_row
from memory.engine.types import BankError
from memory.models import AdapterVersion, Bank, Job, JobState
from memory.services.banks import BankConfiguration, BankRefused
from memory.services.jobs import MAX_ATTEMPTS, enqueue, handles
from memory.services.rebudget import (
    Applied,
    PreviewStale,
    apply_change,
    configuration_of_bank,
    preview_change,
    undo_change,
)  # fmt: skip
from training.models import BankStep, Promotion, PromotionMode, StepState
from training.services import own_heads
from training.services.promotions import JOB as PROMOTION_JOB
from training.services.promotions import STEP_JOB as JOB
from training.services.promotions import holding

BACK = ":back"  # at the end of a key: an undoing is a job of its own, which a running one does not swallow
TRIES = 5  # within one job, while turns change the bank between dry run and real run
BATCH = 500


class BankTooBusy(BankRefused):
    """Turns changed the bank at each try."""

    retryable = True


@handles(PROMOTION_JOB)
def spread(key: str) -> None:
    """Give every bank that follows its step, and every step that is not where its promotion wants it its job."""
    promotion = Promotion.objects.using("worker").filter(pk=UUID(key.removesuffix(BACK))).first()
    if promotion is None or promotion.mode != PromotionMode.SERVE:
        return
    undone = promotion.undone_at is not None
    reached = StepState.DONE if undone else StepState.WAITING
    for batch in _in_batches(_followers(promotion, born=undone)):
        rows = [BankStep(promotion=promotion, bank_id=bank, owner_id=owner, state=reached) for bank, owner in batch]
        BankStep.objects.using("worker").bulk_create(rows, ignore_conflicts=True)
    ask_again(promotion)


def ask_again(promotion: Promotion, *, using: str = "worker") -> int:
    """See that each step that is not where its promotion wants it has its job; returns how many there are."""
    back = BACK if promotion.undone_at is not None else ""
    aim = StepState.UNDONE if back else StepState.DONE
    steps = BankStep.objects.using(using).filter(promotion=promotion).exclude(state=aim)
    rows = list(steps.values_list("pk", "owner_id"))
    for step, owner in rows:
        enqueue(JOB, f"{step}{back}", owner_id=owner, using=using)
    return len(rows)


def _followers(promotion: Promotion, *, born: bool) -> Iterable[tuple[UUID, UUID]]:
    """Bank and owner of the banks that are to be changed; of an undone promotion those `born` under its adapter."""
    banks = Bank.objects.using("worker").filter(keeps_adapter=False).order_by("pk")
    name = name_in_row(promotion.adapter_id)
    own = AdapterVersion.objects.using("worker").filter(manifest__kind="own", parent=promotion.adapter_id)
    under_it = Q(adapter=name) | Q(adapter__in=own.values("version"))
    banks = banks.filter(under_it) if born else banks.exclude(under_it)
    return banks.values_list("pk", "owner_id").iterator(BATCH)


def _in_batches(rows: Iterable[tuple[UUID, UUID]]) -> Iterable[list[tuple[UUID, UUID]]]:
    batch: list[tuple[UUID, UUID]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def catch_up() -> None:
    """By the clock: reach banks that were made while what serves changed, and so began with what served before."""
    promotion = Promotion.objects.using("worker").filter(mode=PromotionMode.SERVE).order_by("-at").first()
    if promotion is None:
        return
    undone = promotion.undone_at is not None
    passed = name_in_row(promotion.adapter_id if undone else promotion.former_id)
    banks = Bank.objects.using("worker").filter(keeps_adapter=False, adapter=passed)
    reached = BankStep.objects.using("worker").filter(promotion=promotion)
    if banks.exclude(pk__in=reached.values("bank")).exists():
        spread(f"{promotion.pk}{BACK if undone else ''}")


@handles(JOB)
def bring_into_line(key: str) -> None:
    """Bring one bank to where its promotion wants it: served by the new adapter, or back as it was."""
    step_id = int(key.removesuffix(BACK))
    try:
        with transaction.atomic():  # an error takes back all of it, and lets the step's row go
            _bring(step_id, timezone.now())
    except BankError as error:
        _note(step_id, key, error.sentence, retryable=error.retryable)
        raise
    except Exception as error:
        _note(step_id, key, f"{type(error).__name__}: " + _("see the worker's log."), retryable=True)
        raise


def _bring(step_id: int, now: datetime) -> None:
    step = BankStep.objects.select_for_update().filter(pk=step_id).first()
    if step is None:
        return  # its bank is gone
    # read after the row was locked: a roll-back that came first is seen, one that comes later finds this one done
    promotion = Promotion.objects.using("worker").get(pk=step.promotion_id)
    bank = Bank.objects.select_related("space").get(pk=step.bank_id)
    if promotion.undone_at is None and step.state != StepState.DONE:
        if promotion != holding("worker").first():
            raise BankRefused(_("Another adapter was promoted since."))
        if not bank.keeps_adapter:
            _apply(step, bank, promotion, now)
        step.state = StepState.DONE
    elif promotion.undone_at is not None and step.state != StepState.UNDONE:
        if step.state == StepState.DONE and not bank.keeps_adapter:
            _undo(step, bank, promotion, now)
        step.state = StepState.UNDONE
    step.error, step.at = "", now
    step.save(update_fields=["state", "applied", "rescored", "left", "error", "at"])


def _apply(step: BankStep, bank: Bank, promotion: Promotion, now: datetime) -> None:
    """Another adapter, all scores anew, what then does not fit leaves. A head of the bank's own is learned anew."""
    name = _around(bank, promotion.adapter_id)
    applied, step.rescored = _changed(bank, name, now)
    step.left = applied.left
    step.applied = {
        "former": vars(applied.former), "before": applied.before, "after": applied.after, "left": applied.left,
        "adapter": name,
    }  # fmt: skip


def _around(bank: Bank, base: str) -> str:
    """What the bank's row is to say: a shared adapter, or a head of its own learned anew around that."""
    own = bank.adapter in learned_for(bank.pk)
    learned = own_heads.learned_around(bank, adapter_named(name_in_row(base))) if own else None
    return learned.version if learned is not None else name_in_row(base)


def _undo(step: BankStep, bank: Bank, promotion: Promotion, now: datetime) -> None:
    """The adapter from before, the scores from before, and what left by it; what people changed since stays."""
    told: dict[str, Any] = step.applied
    if not told:  # it was made while the adapter served: nothing lies before that
        _changed(bank, _around(bank, promotion.former_id), now)
        return
    since = bank.adapter != told["adapter"]
    if since and not _learned_from(bank, promotion):
        return  # something else serves it by now
    name = told["former"]["adapter"]
    if name and not AdapterVersion.objects.filter(version=name, weights__isnull=False).exists():
        name, since = _shared_below(name), True  # a head that had learned from what was erased since
    former = replace(configuration_of_bank(bank), adapter=name)
    undo_change(bank.pk, Applied(former, told["before"], told["after"], told["left"]), now=now)
    if since:  # its person's words of meanwhile count on, around the former adapter
        own_heads.learn(Bank.objects.select_related("space").get(pk=bank.pk), now=now)


def _shared_below(version: str) -> str:
    """The shared adapter under a version that is gone, as a row names it; one that comes with the code is itself."""
    if version in available_adapters():
        return name_in_row(version)
    parent = AdapterVersion.objects.filter(version=version).values_list("parent", flat=True).first()
    return name_in_row(parent) if parent else ""


def _learned_from(bank: Bank, promotion: Promotion) -> bool:
    """Whether the bank is served by a head of its own around the adapter that goes."""
    return AdapterVersion.objects.filter(
        version=bank.adapter, manifest__bank=str(bank.pk), parent=promotion.adapter_id
    ).exists()


def _changed(bank: Bank, adapter: str, now: datetime) -> tuple[Applied, int]:
    """Give the bank that adapter; what was done, and how many memories were scored anew."""
    for _again in range(TRIES):
        wanted: BankConfiguration = replace(configuration_of_bank(Bank.objects.get(pk=bank.pk)), adapter=adapter)
        seen = preview_change(bank.pk, wanted, now=now)
        try:
            return apply_change(bank.pk, seen.promise, now=now), len(seen.plan.rescored)
        except PreviewStale:
            continue  # a turn came between: look again
    raise BankTooBusy(_("The bank changed at each of %(n)d tries.") % {"n": TRIES})


def _note(step_id: int, key: str, sentence: str, *, retryable: bool) -> None:
    """What went wrong, for the page; failed when nobody will try again."""
    job = Job.objects.using("worker").filter(kind=JOB, key=key, state=JobState.RUNNING).first()
    last = not retryable or job is None or job.attempts >= MAX_ATTEMPTS
    step = BankStep.objects.using("worker").filter(pk=step_id)
    step.update(error=sentence, at=timezone.now())
    if last:
        step.filter(state=StepState.WAITING).update(state=StepState.FAILED)
