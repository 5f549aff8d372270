"""What a worker has to know of training: the jobs that it can be given, and what runs by the clock."""

from celery import shared_task

from training.services import forgetting, own_heads, rescoring, shadows

__all__ = ["forgetting", "own_heads", "rescoring"]


@shared_task(name="training.look_after_adapters")  # type: ignore[untyped-decorator]
def look_after_adapters() -> None:
    rescoring.catch_up()
    shadows.score_silently()
