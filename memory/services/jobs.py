"""Background jobs: rows that say what is to be done, claimed by lease, finished by compare-and-set.

A broker may deliver a task twice, or never: the row decides. Tasks carry the row's id alone.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from celery import current_app
from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from memory.engine.types import BankError
from memory.models import Job, JobState
from memory.tenancy import acting_as

LEASE = timedelta(minutes=2)
MAX_ATTEMPTS = 5
LOST = "Its workers ended before it did, five times. See the workers' logs."
NEVER_CANCELLED = frozenset({"memory.erase", "memory.erase_conversation"})  # by operators: a person was promised it
log = logging.getLogger(__name__)


class JobRefused(BankError):
    """A job cannot be changed so; the sentence says why."""


Work = Callable[[str], None]
GivenUp = Callable[[str, str], None]  # with the key and the sentence
HANDLERS: dict[str, Work] = {}
LONG: set[str] = set()  # kinds whose work opens transactions of its own
AFTER_FAILURE: dict[str, GivenUp] = {}
HEAVY: set[str] = set()  # kinds that keep a processor for long: done by the training worker


class LeaseLost(Exception):
    """Another worker took the job over: whoever is told so stops at once and writes nothing more."""


class NotYet(Exception):
    """The work cannot begin for the moment, through no fault of its own: it is tried again after a pause."""

    def __init__(self, pause: timedelta) -> None:
        super().__init__(f"not before {pause} have passed")
        self.pause = pause


def handles(
    kind: str, *, long: bool = False, heavy: bool = False, given_up: GivenUp | None = None
) -> Callable[[Work], Work]:
    """Register what does jobs of one kind; it is called with the job's key, as the job's owner, in one transaction.

    `long` work opens its own transactions instead; `heavy` work is left to the training worker, so that what people
    wait for is not behind it. `given_up` is told when a job of this kind has failed for good, also where its workers
    were lost.
    """

    def register(work: Work) -> Work:
        HANDLERS[kind] = work
        if long:
            LONG.add(kind)
        if heavy:
            HEAVY.add(kind)
        if given_up is not None:
            AFTER_FAILURE[kind] = given_up
        return work

    return register


@dataclass(frozen=True)
class CurrentJob:
    """The job that this code is part of, for work that takes its time."""

    id: UUID
    lease: UUID

    def heartbeat(self, progress: float | None = None, stage: str = "") -> None:
        """Say that the work goes on: the lease is renewed, progress (0..1) and a short code of what is being done are
        written. Raises `LeaseLost`."""
        if not renew(self.id, self.lease, progress=progress, stage=stage):
            raise LeaseLost


_current: ContextVar[CurrentJob | None] = ContextVar("current_job", default=None)


def current_job() -> CurrentJob | None:
    """The job whose handler is running here, or None outside of one."""
    return _current.get()


def queue_of(kind: str) -> str:
    """The Celery queue whose worker does jobs of this kind."""
    return "training" if kind in HEAVY else "default"


def enqueue(
    kind: str, key: str, *, owner_id: UUID | None, run_after: datetime | None = None, using: str = DEFAULT_DB_ALIAS
) -> None:
    """Write down a job; one that waits already takes the new time. After the commit, wake a worker if it is due.

    Work without an owner is written down by an operator, or by the worker itself (`using="worker"`).
    """
    due = run_after or timezone.now()
    jobs = Job.objects.using(using)
    if not jobs.filter(kind=kind, key=key, state=JobState.PENDING).update(run_after=due):
        jobs.bulk_create([Job(kind=kind, key=key, owner_id=owner_id, run_after=due)], ignore_conflicts=True)
    if run_after is None:
        transaction.on_commit(_wake, using=using)


def _wake() -> None:
    """Tell the worker that something is due. If the broker is away, beat's sweep finds the row within a minute."""
    try:
        current_app.send_task("memory.run_due_jobs", retry=False, ignore_result=True)
    except OperationalError:
        log.warning("The broker cannot be reached; the job waits for the next sweep.")


def due_jobs(now: datetime) -> list[tuple[UUID, str]]:
    """Id and kind of jobs that wait, and of those whose worker let the lease run out. Read as the sweeping role."""
    waiting = Q(state=JobState.PENDING, run_after__lte=now)
    lost = Q(state=JobState.RUNNING, lease_until__lt=now)
    return list(
        Job.objects.using("worker").filter(waiting | lost).order_by("run_after").values_list("pk", "kind")[:200]
    )


def run_job(job_id: UUID) -> bool:
    """Claim a job and do it as its owner. False when another worker has it or it is done."""
    lease = uuid.uuid4()
    job = _claim(job_id, lease, timezone.now())
    if job is None:
        return False
    inside = _current.set(CurrentJob(job.pk, lease))
    try:
        with nullcontext() if job.kind in LONG else acting_as(job.owner_id):
            HANDLERS[job.kind](job.key)
    except LeaseLost:
        log.warning("job %s (%s): another worker took it over", job.pk, job.kind)
        return False
    except NotYet as error:  # this was no attempt
        again = timezone.now() + error.pause
        _finish(job.pk, lease, state=JobState.PENDING, attempts=job.attempts - 1, run_after=again)
        return False
    except Exception as error:
        _give_up_or_retry(job, lease, error)  # the row tells the operator; Celery logs the traceback
        raise
    finally:
        _current.reset(inside)
    return _finish(job.pk, lease, state=JobState.DONE, error="", finished_at=timezone.now())


def _claim(job_id: UUID, lease: UUID, now: datetime) -> Job | None:
    free = Q(state=JobState.PENDING, run_after__lte=now) | Q(state=JobState.RUNNING, lease_until__lt=now)
    jobs = Job.objects.using("worker").filter(pk=job_id)
    job = jobs.filter(free).first()
    if job is None:
        return None
    if job.attempts >= MAX_ATTEMPTS:  # lost by each worker that had it: it may be what ends them
        lost = jobs.filter(free, attempts=job.attempts).update(
            state=JobState.FAILED, error=LOST, lease=None, lease_until=None, finished_at=now
        )
        if lost:
            _tell_given_up(job, LOST)
        return None
    claimed = jobs.filter(free, attempts=job.attempts).update(
        state=JobState.RUNNING, lease=lease, lease_until=now + LEASE, attempts=job.attempts + 1, started_at=now
    )
    return Job.objects.using("worker").get(pk=job_id) if claimed else None


def renew(job_id: UUID, lease: UUID, *, progress: float | None = None, stage: str = "") -> bool:
    """Extend a lease that is still ours, and say how far the work is. False: stop, another worker took over."""
    mine = Job.objects.using("worker").filter(pk=job_id, lease=lease, state=JobState.RUNNING)
    told: dict[str, Any] = {} if progress is None else {"progress": progress, "stage": stage}
    return bool(mine.update(lease_until=timezone.now() + LEASE, **told))


def retry(job_id: UUID, *, now: datetime) -> None:
    """Let a failed job be tried again from the beginning, as its owner. Raises `JobRefused`."""
    job = _locked(job_id)
    if job.state != JobState.FAILED:
        raise JobRefused(_("Only a job that failed can be tried again; look at the list anew."))
    if Job.objects.filter(kind=job.kind, key=job.key, state__in=(JobState.PENDING, JobState.RUNNING)).exists():
        raise JobRefused(_("The same waits already, or runs."))
    job.state, job.attempts, job.run_after, job.finished_at = JobState.PENDING, 0, now, None
    job.save(update_fields=["state", "attempts", "run_after", "finished_at"])
    transaction.on_commit(_wake)


def cancel(job_id: UUID, *, now: datetime) -> None:
    """Have a waiting job never done. Raises `JobRefused` for one that runs, or is over."""
    job = _locked(job_id)
    if job.state != JobState.PENDING:
        raise JobRefused(_("Only a job that waits can be cancelled; look at the list anew."))
    if job.kind in NEVER_CANCELLED:
        raise JobRefused(_("A person asked for this erasure; only they can take it back."))
    job.state, job.finished_at = JobState.CANCELLED, now
    job.save(update_fields=["state", "finished_at"])


def _locked(job_id: UUID) -> Job:
    """The row of one job that the acting person may change, held until the transaction ends."""
    job = Job.objects.select_for_update().filter(pk=job_id).first()
    if job is None:
        raise JobRefused(_("There is no such job any more."))
    return job


def _give_up_or_retry(job: Job, lease: UUID, error: Exception) -> None:
    sentence = getattr(error, "sentence", "") or f"{type(error).__name__}: see the worker's log."
    if job.attempts >= MAX_ATTEMPTS or not getattr(error, "retryable", True):
        if _finish(job.pk, lease, state=JobState.FAILED, error=sentence, finished_at=timezone.now()):
            _tell_given_up(job, sentence)
    else:
        wait = timedelta(seconds=5 * 4 ** (job.attempts - 1))
        _finish(job.pk, lease, state=JobState.PENDING, error=sentence, run_after=timezone.now() + wait)


def _tell_given_up(job: Job, sentence: str) -> None:
    if job.kind in AFTER_FAILURE:
        AFTER_FAILURE[job.kind](job.key, sentence)


def _finish(job_id: UUID, lease: UUID, **fields: Any) -> bool:
    mine = Job.objects.using("worker").filter(pk=job_id, lease=lease, state=JobState.RUNNING)
    return bool(mine.update(lease=None, lease_until=None, **fields))
