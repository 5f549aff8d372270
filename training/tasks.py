"""What a worker has to know of training: the jobs that it can be given, and the tasks of beat."""

from celery import shared_task
from django.utils import timezone

from training.services import counterfactuals, model_ratings, own_heads, regrets

__all__ = ["counterfactuals", "model_ratings", "own_heads", "regrets"]


@shared_task(name="training.choose_counterfactuals")  # type: ignore[untyped-decorator]
def choose_counterfactuals() -> None:
    counterfactuals.choose_turns(timezone.now())


@shared_task(name="training.look_back_at_regrets")  # type: ignore[untyped-decorator]
def look_back_at_regrets() -> None:
    regrets.look_back(timezone.now())
