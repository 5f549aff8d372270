"""What a worker has to know of training: the jobs that it can be given, and the sweep that beat starts."""

from celery import shared_task
from django.utils import timezone

from training.services import hindsight, own_heads, runs, schedule

__all__ = ["hindsight", "own_heads", "runs", "schedule", "sweep"]


@shared_task(name="training.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    hindsight.sweep(timezone.now())
