"""What a worker has to know of training: the jobs that it can be given, and what runs by the clock."""

from celery import shared_task

from training.services import forgetting, own_heads, rescoring, runs, schedule, shadows

__all__ = ["forgetting", "own_heads", "rescoring", "runs", "schedule"]


@shared_task(name="training.shadow")  # type: ignore[untyped-decorator]
def shadow() -> None:
    shadows.score_silently()
