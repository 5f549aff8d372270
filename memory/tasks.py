"""Celery tasks of memory: thin, ids only. What is to be done stands in the jobs' rows."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from memory.services import doubts, lab, summaries, sweeps
from memory.services.jobs import due_jobs, queue_of, run_job

__all__ = ["lab"]  # what jobs do must be known to whoever runs them


@shared_task(name="memory.run_due_jobs")  # type: ignore[untyped-decorator]
def run_due_jobs() -> None:
    for job_id, kind in due_jobs(timezone.now()):
        run_one_job.apply_async((str(job_id),), queue=queue_of(kind))


@shared_task(name="memory.run_job")  # type: ignore[untyped-decorator]
def run_one_job(job_id: str) -> None:
    run_job(UUID(job_id))


@shared_task(name="memory.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    sweeps.interrupt_silent_turns(timezone.now())
    sweeps.catch_up_with_erasure(timezone.now())
    sweeps.forget_old_jobs(timezone.now())


@shared_task(name="memory.summaries")  # type: ignore[untyped-decorator]
def sum_up() -> None:
    summaries.ask_for_all(timezone.now())


@shared_task(name="memory.milestones")  # type: ignore[untyped-decorator]
def sum_up_milestones() -> None:
    summaries.ask_for_all(timezone.now(), summaries.Grain.MILESTONE)


@shared_task(name="memory.check")  # type: ignore[untyped-decorator]
def check() -> None:
    doubts.ask_for_all(timezone.now())
