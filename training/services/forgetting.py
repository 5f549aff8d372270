"""The right to be forgotten reaches training: what was erased leaves the snapshots, and what had learned from it is
named in the receipt and learned anew without it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import ngettext_lazy

from memory.models import AdapterVersion, Bank, Erasure, Event
from memory.receipts import KINDS
from memory.services.erasures import erased_in, follows_erasures
from memory.services.jobs import enqueue, handles
from training.learner.distributions import without_distributions
from training.models import RunState, ShadowScore, TrainingRun
from training.services import own_heads, snapshots
from training.services.falling_back import fall_back_unless_learned_anew

JOB = "training.forget"
TRIGGER = "erasure"
KINDS |= {
    "training.Label": ngettext_lazy("%(n)s judgement", "%(n)s judgements", "n"),
    "training.ReviewItem": ngettext_lazy("%(n)s question to labellers", "%(n)s questions to labellers", "n"),
    "training.Review": ngettext_lazy("%(n)s answer of a labeller", "%(n)s answers of labellers", "n"),
}


@follows_erasures
def follow(receipt: Erasure) -> None:
    """Have training look what it had learned from what is gone."""
    enqueue(JOB, str(receipt.pk), owner_id=receipt.owner_id)


@handles(JOB)
def forget_in_training(key: str) -> None:
    """Cut what was erased out of the snapshots; name and replace the adapters that had learned from it.

    Repeated, it finds nothing more to cut and names the same.
    """
    receipt = Erasure.objects.select_for_update().filter(pk=UUID(key)).first()
    if receipt is None or receipt.looked:
        return
    gone = erased_in(receipt)
    _forget_shadows(receipt, gone)
    touched = snapshots.cut_out(gone)  # a conversation may go and leave its memories: its turns' cues go all the same
    shared = _shared_that_learned(touched)
    own = _own_that_learned(receipt.bank_id, gone) if gone else set()
    receipt.learned = sorted({*receipt.learned, *shared, *own})
    if own:
        _learn_own_anew(receipt.bank_id, own)
    stopped = _stop_runs_on(touched)
    if shared or stopped:
        _learn_shared_anew(shared)
    for version in shared:
        fall_back_unless_learned_anew(version, receipt.owner_id)
    receipt.looked = True
    receipt.save(update_fields=["learned", "looked"])


def _forget_shadows(receipt: Erasure, gone: list[UUID]) -> None:
    numbers = Event.objects.filter(bank=receipt.bank_id, memory__in=gone).values_list("seq", flat=True)
    ShadowScore.objects.using("worker").filter(bank_id=receipt.bank_id, seq__in=list(numbers)).delete()


def _shared_that_learned(frozen: list[UUID]) -> set[str]:
    """Versions that were trained on these snapshots, and those that were trained on from them."""
    runs = TrainingRun.objects.using("worker").filter(snapshot__in=frozen, challenger__isnull=False)
    learned = set(runs.values_list("challenger_id", flat=True))
    young = learned
    while young:  # whoever began from its weights has them in its own
        later = TrainingRun.objects.using("worker").filter(
            champion__in=young, from_scratch=False, challenger__isnull=False
        )  # fmt: skip
        young = set(later.values_list("challenger_id", flat=True)) - learned
        learned |= young
    return learned


def _stop_runs_on(frozen: list[UUID]) -> bool:
    """A run that is learning from it right now is cancelled; another begins in its place."""
    running = TrainingRun.objects.using("worker").filter(snapshot__in=frozen, state=RunState.RUNNING)
    return bool(running.update(cancel_requested=True))


def _own_that_learned(bank: UUID, gone: list[UUID]) -> set[str]:
    """Versions of a bank's own that learned from these memories; one that does not say from which is among them."""
    names = {str(memory) for memory in gone}
    rows = AdapterVersion.objects.filter(manifest__bank=str(bank), weights__isnull=False)
    return {
        row.version for row in rows.defer("weights")
        if names & set(row.manifest.get("memories", names))
    }  # fmt: skip


def _learn_own_anew(bank_id: UUID, old: set[str]) -> None:
    """Learn the bank's own head anew where one of these serves; their weights go."""
    bank = Bank.objects.select_related("space").get(pk=bank_id)
    if bank.adapter in old:
        own_heads.learn(bank, now=timezone.now())
        bank.refresh_from_db()
    by = AdapterVersion.objects.filter(version=bank.adapter).exclude(version__in=old).first()
    by = by or AdapterVersion.objects.filter(version=own_heads.base_version(bank)).first()
    for row in AdapterVersion.objects.filter(version__in=old):
        AdapterVersion.objects.filter(pk=row.pk).update(
            weights=None, replaced_by=by, manifest={**row.manifest, "memories": [], "erased": True}
        )


def _learn_shared_anew(versions: set[str]) -> None:
    """Mark what has to be learned anew, and ask for a run; it begins from nothing where a version had learned."""
    for row in AdapterVersion.objects.filter(version__in=versions).defer("weights"):
        AdapterVersion.objects.filter(pk=row.pk).update(manifest=_marked(row))
    run = TrainingRun.objects.using("worker").filter(state=RunState.PENDING).first()
    if run is None:
        run = TrainingRun.objects.using("worker").create(trigger=TRIGGER, from_scratch=bool(versions))
        enqueue("training.run", str(run.pk), owner_id=None, using="worker")
    elif versions:
        TrainingRun.objects.using("worker").filter(pk=run.pk).update(trigger=TRIGGER, from_scratch=True)


def _marked(row: AdapterVersion) -> dict[str, Any]:
    """Its manifest once something that it learned from was erased: what told of its memories goes at once."""
    return {**without_distributions(row.manifest), "erased": True}


def note_learned_anew(run: TrainingRun) -> bool:
    """Note after a run which adapters its challenger replaces; whether what serves by default is among them.

    A challenger that began from one that had learned from what was erased has learned from it too, and replaces none.
    """
    tainted = AdapterVersion.objects.filter(manifest__erased=True, replaced_by=None).exclude(manifest__kind="own")
    waiting = set(tainted.values_list("version", flat=True)) - {run.challenger_id}
    if not run.from_scratch:
        if run.champion_id in waiting:
            row = AdapterVersion.objects.get(pk=run.challenger_id)
            AdapterVersion.objects.using("worker").filter(pk=row.pk).update(manifest=_marked(row))
        return False
    began = run.started_at or run.created_at
    rows = AdapterVersion.objects.using("worker").filter(version__in=waiting, created_at__lt=began)
    serves = rows.filter(serves=True).exists()
    rows.update(replaced_by=run.challenger_id)
    return serves
