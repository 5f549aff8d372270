"""What a worker has to know of training: the jobs that it can be given, and the tasks of beat."""

from celery import shared_task
from django.utils import timezone

from training.services import counterfactuals, own_heads

__all__ = ["counterfactuals", "own_heads"]


@shared_task(name="training.choose_counterfactuals")  # type: ignore[untyped-decorator]
def choose_counterfactuals() -> None:
    counterfactuals.choose_turns(timezone.now())
