"""Training runs: asked for, carried out by the training worker, cancelled, and given up with a sentence.

A run writes as the training worker, each stage in a transaction of its own, so that whatever ends it leaves the
champion serving, and the next worker goes on from the frozen snapshot.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, IntegrityError, OperationalError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.adapters import adapter_named, register_adapter, serving_adapter
from memory.engine.adapter import Adapter
from memory.engine.adapter_file import packed
from memory.engine.types import BankError
from memory.models import AdapterVersion, Job, JobState
from memory.services import live
from memory.services.jobs import NotYet, current_job, enqueue, handles
from training.learner.dataset import Dataset, DatasetUnreadable
from training.learner.failures import Cancelled, TrainingFailed
from training.learner.shared_head import HowToLearn
from training.learner.training import Outcome, train
from training.models import Rules, RunState, TrainingRun
from training.services import promotions, snapshots
from training.services.distributions import distributions_of
from training.services.falling_back import untainted
from training.services.own_heads import learn_where_new
from training.services.reports import manifest_of, report_of
from training.services.sentences import failure_sentence

JOB = "training.run"
WATCHED = "run"  # as its pages watch it
OPEN = (RunState.PENDING, RunState.RUNNING)
PAUSE = timedelta(seconds=15)  # before a run looks again whether another one has ended
SHARES = {
    "snapshot": (0.0, 0.1),
    "heads": (0.1, 0.2),
    "train": (0.2, 0.8),
    "evaluate": (0.8, 0.95),
    "report": (0.95, 1),
}
log = logging.getLogger(__name__)


class RunRefused(BankError):
    """The run cannot be asked for or cancelled; the sentence says why."""


class RunFailed(BankError):
    """The run has ended without a challenger; trying again as it stands does not help."""

    retryable = False


class RunInterrupted(BankError):
    """Something around the run gave way; it is taken up again from its snapshot."""

    retryable = True


@dataclass(frozen=True)
class Settings:
    """What a run is asked for with."""

    seed: int = 1
    from_scratch: bool = False


def ask(
    settings: Settings = Settings(), *, by: UUID | None, trigger: str = "asked", now: datetime,
    using: str = DEFAULT_DB_ALIAS,
) -> TrainingRun:  # fmt: skip
    """Ask for a run, as an operator or (`using="worker"`) as the worker itself; one that waits already is it."""
    try:
        with transaction.atomic(using=using):
            run = TrainingRun.objects.using(using).create(
                asked_by_id=by, trigger=trigger, seed=settings.seed, from_scratch=settings.from_scratch, created_at=now
            )
            enqueue(JOB, str(run.pk), owner_id=None, using=using)
    except IntegrityError:
        waiting = TrainingRun.objects.using(using).filter(state=RunState.PENDING).first()
        if waiting is None:  # it has begun in between
            raise RunRefused(_("Another run was asked for at the same moment. Ask again.")) from None
        return waiting
    return run


@transaction.atomic
def cancel(run_id: UUID, *, now: datetime) -> None:
    """Cancel a run: at once while it waits, else at its next step. Raises `RunRefused` when it is over."""
    if TrainingRun.objects.filter(pk=run_id, state=RunState.PENDING).update(
        state=RunState.CANCELLED, cancel_requested=True, finished_at=now
    ):
        return
    if not TrainingRun.objects.filter(pk=run_id, state=RunState.RUNNING).update(cancel_requested=True):
        raise RunRefused(_("This run is over; there is nothing to cancel."))


def given_up(key: str, sentence: str) -> None:
    """The run's job has failed for good: so has the run."""
    TrainingRun.objects.using("worker").filter(pk=UUID(key), state__in=OPEN).update(
        state=RunState.FAILED, error=sentence, finished_at=timezone.now()
    )
    live.tell(WATCHED, UUID(key))


@handles(JOB, long=True, heavy=True, given_up=given_up)
def carry_out(key: str) -> None:
    """Do a run from where it stands to its end; a second delivery, or one after its end, changes nothing."""
    run = _begun(UUID(key), timezone.now())
    if run is None:
        return
    try:
        _Carrying(run).out()
        promotions.after_run(TrainingRun.objects.using("worker").get(pk=run.pk))
    except Cancelled:
        _ended(run, state=RunState.CANCELLED)
    except (TrainingFailed, DatasetUnreadable) as error:
        raise RunFailed(failure_sentence(error)) from error
    except OperationalError as error:
        sentence = failure_sentence(error)
        _note(run, sentence)
        raise RunInterrupted(sentence) from error


def _begun(run_id: UUID, now: datetime) -> TrainingRun | None:
    """The run, running from now on; None when it is over. Raises `NotYet` while another one runs."""
    runs = TrainingRun.objects.using("worker")
    champion = register_adapter(serving_adapter())
    try:
        with transaction.atomic(using="worker"):
            runs.filter(pk=run_id, state=RunState.PENDING).update(
                state=RunState.RUNNING, champion=champion.version, started_at=now
            )
    except IntegrityError:  # the table holds one that runs, not two
        settle_lost(now)
        raise NotYet(PAUSE) from None
    return runs.select_related("snapshot").filter(pk=run_id, state=RunState.RUNNING).first()


def settle_lost(now: datetime) -> None:
    """End runs whose job has failed or is gone: nobody is coming back for them."""
    for run in TrainingRun.objects.using("worker").filter(state__in=OPEN):
        job = job_of(run.pk, using="worker")
        if job is None or job.state in (JobState.FAILED, JobState.DONE, JobState.CANCELLED):
            sentence = (job.error if job else "") or _("Its job is gone. Ask for another run.")
            TrainingRun.objects.using("worker").filter(pk=run.pk, state__in=OPEN).update(
                state=RunState.FAILED, error=sentence, finished_at=now
            )


def job_of(run_id: UUID, using: str = DEFAULT_DB_ALIAS) -> Job | None:
    """The run's job, which says when it is tried again and whether its worker is alive."""
    return Job.objects.using(using).filter(kind=JOB, key=str(run_id)).order_by("-created_at").first()


def _ended(run: TrainingRun, **fields: Any) -> None:
    TrainingRun.objects.using("worker").filter(pk=run.pk, state=RunState.RUNNING).update(
        finished_at=timezone.now(), **fields
    )
    transaction.on_commit(lambda: live.tell(WATCHED, run.pk), using="worker")


def _note(run: TrainingRun, sentence: str) -> None:
    """Say on the run what came in between, if even that can be written; its job says it anyway."""
    try:
        TrainingRun.objects.using("worker").filter(pk=run.pk, state=RunState.RUNNING).update(error=sentence)
    except OperationalError:
        log.warning("run %s: %s", run.pk, sentence)
    live.tell(WATCHED, run.pk)


class _Carrying:
    """One run being carried out: its stages in order, each of which says how far it is."""

    def __init__(self, run: TrainingRun) -> None:
        self.run = run
        self.curves: dict[str, list[float]] = {}
        self.stage = ""

    def out(self) -> None:
        """Snapshot, agents' own heads, training, evaluation, report."""
        run, champion = self.run, adapter_named(self.run.champion_id or "")
        base = adapter_named(untainted(champion.version)) if run.from_scratch else champion
        self._at("snapshot")
        if run.snapshot is None:
            run.snapshot = snapshots.freeze(champion, now=timezone.now(), alive=self._step)
            run.save(using="worker", update_fields=["snapshot"])
        frozen = snapshots.frozen_by(run.snapshot)
        self._at("heads")
        learn_where_new(now=timezone.now(), alive=self._step)
        self._at("train")
        outcome = train(
            frozen.judgements, champion, how=self._how(), cues=frozen.cues, told=self._told, step=self._step,
            evaluating=lambda: self._at("evaluate"), base=base,
        )  # fmt: skip
        self._at("report")
        self._store(champion, base, outcome, frozen.judgements)
        self._beat(1.0)

    def _how(self) -> HowToLearn:
        told = Rules.in_force("worker")
        return HowToLearn(
            self.run.seed, told.least_labels, most_lost=told.most_lost, from_scratch=self.run.from_scratch
        )

    def _at(self, stage: str) -> None:
        self.stage = stage
        self._step(0.0)

    def _told(self, curve: str, value: float) -> None:
        self.curves.setdefault(curve, []).append(round(value, 6))

    def _step(self, share: float) -> None:
        """A sign of life: the lease is renewed, the page told. Raises `Cancelled` and `LeaseLost`."""
        low, high = SHARES[self.stage]
        progress = low + (high - low) * share
        self._beat(progress)
        runs = TrainingRun.objects.using("worker").filter(pk=self.run.pk, state=RunState.RUNNING)
        if runs.filter(cancel_requested=True).exists() or not runs.update(
            stage=self.stage, progress=progress, curves=self.curves, error=""
        ):
            raise Cancelled("cancelled")
        live.tell(WATCHED, self.run.pk)

    def _beat(self, progress: float) -> None:
        job = current_job()
        if job is not None:
            job.heartbeat(progress, self.stage)

    def _store(self, champion: Adapter, base: Adapter, outcome: Outcome, learned_from: Dataset) -> None:
        """Challenger and report in one transaction: there is never one without the other."""
        run, told = self.run, Rules.in_force("worker")
        assert run.snapshot is not None
        report = report_of(outcome, champion, told)
        with transaction.atomic(using="worker"):
            version = None
            if outcome.challenger is not None:
                challenger = outcome.challenger.named(f"shared-{run.pk.hex[:8]}")
                about = manifest_of(run, base.version, report, outcome)
                about["distributions"] = distributions_of(learned_from, about["learned"])
                weights, manifest = packed(challenger, about)
                version, _new = AdapterVersion.objects.using("worker").get_or_create(
                    version=challenger.version,
                    defaults={"weights": weights, "manifest": manifest, "parent_id": base.version},
                )
            _ended(
                run, state=RunState.DONE, challenger=version, report=report, progress=1.0, curves=self.curves, error=""
            )


def settings_json(run: TrainingRun) -> dict[str, Any]:
    """What the run was asked for with."""
    return asdict(Settings(run.seed, run.from_scratch))
