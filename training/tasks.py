"""Celery tasks of training: thin. Importing what jobs do here lets a worker know what it can be given."""

from celery import shared_task
from django.utils import timezone

from training.services import (
    counterfactuals,
    forgetting,
    hindsight,
    model_ratings,
    own_heads,
    queue,
    regrets,
    rescoring,
    retraining,
    reviews,
    runs,
    schedule,
    settling,
    shadows,
)

__all__ = [
    "counterfactuals", "forgetting", "hindsight", "model_ratings", "own_heads", "queue", "regrets", "rescoring",
    "reviews", "runs", "schedule", "settling",
]  # fmt: skip


@shared_task(name="training.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    hindsight.sweep(timezone.now())


@shared_task(name="training.retrain")  # type: ignore[untyped-decorator]
def retrain() -> None:
    retraining.retrain_by_the_clock(timezone.now())


@shared_task(name="training.retrain_after")  # type: ignore[untyped-decorator]
def retrain_after() -> None:
    retraining.retrain_after_labels(timezone.now())


@shared_task(name="training.rescore_banks")  # type: ignore[untyped-decorator]
def rescore_banks() -> None:
    rescoring.catch_up()


@shared_task(name="training.score_silently")  # type: ignore[untyped-decorator]
def score_silently() -> None:
    shadows.score_silently()


@shared_task(name="training.choose_counterfactuals")  # type: ignore[untyped-decorator]
def choose_counterfactuals() -> None:
    counterfactuals.choose_turns(timezone.now())


@shared_task(name="training.look_back_at_regrets")  # type: ignore[untyped-decorator]
def look_back_at_regrets() -> None:
    regrets.look_back(timezone.now())


@shared_task(name="training.tend_queue")  # type: ignore[untyped-decorator]
def tend_queue() -> None:
    settling.tend_queues()
