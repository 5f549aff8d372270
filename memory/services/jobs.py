"""Background jobs: rows that say what is to be done, claimed by lease, finished by compare-and-set.

A broker may deliver a task twice, or never: the row decides. Tasks carry the row's id alone.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from celery import current_app
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from memory.models import Job, JobState
from memory.tenancy import acting_as

LEASE = timedelta(minutes=2)
MAX_ATTEMPTS = 5
LOST = "Its workers ended before it did, five times. See the workers' logs."
log = logging.getLogger(__name__)

Work = Callable[[str], None]
HANDLERS: dict[str, Work] = {}


def handles(kind: str) -> Callable[[Work], Work]:
    """Register what does jobs of one kind; it is called with the job's key, as the job's owner."""

    def register(work: Work) -> Work:
        HANDLERS[kind] = work
        return work

    return register


def enqueue(
    kind: str, key: str, *, owner_id: UUID | None, run_after: datetime | None = None, using: str = "default"
) -> None:
    """Write down a job; one that waits already takes the new time. After the commit, wake a worker if it is due."""
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


def due_jobs(now: datetime) -> list[UUID]:
    """Jobs that wait, and jobs whose worker let the lease run out. Read as the sweeping role."""
    waiting = Q(state=JobState.PENDING, run_after__lte=now)
    lost = Q(state=JobState.RUNNING, lease_until__lt=now)
    return list(
        Job.objects.using("worker").filter(waiting | lost).order_by("run_after").values_list("pk", flat=True)[:200]
    )


def run_job(job_id: UUID) -> bool:
    """Claim a job and do it as its owner. False when another worker has it or it is done."""
    lease = uuid.uuid4()
    job = _claim(job_id, lease, timezone.now())
    if job is None:
        return False
    try:
        with acting_as(job.owner_id):
            HANDLERS[job.kind](job.key)
    except Exception as error:
        _give_up_or_retry(job, lease, error)  # the row tells the operator; Celery logs the traceback
        raise
    return _finish(job.pk, lease, state=JobState.DONE, error="", finished_at=timezone.now())


def _claim(job_id: UUID, lease: UUID, now: datetime) -> Job | None:
    free = Q(state=JobState.PENDING, run_after__lte=now) | Q(state=JobState.RUNNING, lease_until__lt=now)
    jobs = Job.objects.using("worker").filter(pk=job_id)
    job = jobs.filter(free).first()
    if job is None:
        return None
    if job.attempts >= MAX_ATTEMPTS:  # lost by each worker that had it: it may be what ends them
        jobs.filter(free, attempts=job.attempts).update(
            state=JobState.FAILED, error=LOST, lease=None, lease_until=None, finished_at=now
        )
        return None
    claimed = jobs.filter(free, attempts=job.attempts).update(
        state=JobState.RUNNING, lease=lease, lease_until=now + LEASE, attempts=job.attempts + 1, started_at=now
    )
    return Job.objects.using("worker").get(pk=job_id) if claimed else None


def renew(job_id: UUID, lease: UUID) -> bool:
    """Extend a lease that is still ours. False: stop, another worker took over."""
    return bool(
        Job.objects.using("worker")
        .filter(pk=job_id, lease=lease, state=JobState.RUNNING)
        .update(lease_until=timezone.now() + LEASE)
    )


def _give_up_or_retry(job: Job, lease: UUID, error: Exception) -> None:
    sentence = getattr(error, "sentence", "") or f"{type(error).__name__}: see the worker's log."
    if job.attempts >= MAX_ATTEMPTS or not getattr(error, "retryable", True):
        _finish(job.pk, lease, state=JobState.FAILED, error=sentence, finished_at=timezone.now())
    else:
        wait = timedelta(seconds=5 * 4 ** (job.attempts - 1))
        _finish(job.pk, lease, state=JobState.PENDING, error=sentence, run_after=timezone.now() + wait)


def _finish(job_id: UUID, lease: UUID, **fields: Any) -> bool:
    mine = Job.objects.using("worker").filter(pk=job_id, lease=lease, state=JobState.RUNNING)
    return bool(mine.update(lease=None, lease_until=None, **fields))
