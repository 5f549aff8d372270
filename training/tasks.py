"""What a worker has to know of training: the jobs that it can be given, and what runs by the clock."""

from celery import shared_task

from training.services import forgetting, own_heads, rescoring, shadows

__all__ = ["forgetting", "own_heads", "rescoring"]


@shared_task(name="training.score_silently")  # type: ignore[untyped-decorator]
def score_silently() -> None:
    shadows.score_silently()
