"""What a worker has to know of training: the jobs that it can be given, and what is looked after regularly."""

from celery import shared_task

from training.services import own_heads, queue, reviews, settling

__all__ = ["own_heads", "queue", "reviews", "settling"]


@shared_task(name="training.tend_queue")  # type: ignore[untyped-decorator]
def tend_queue() -> None:
    settling.tend_queues()
