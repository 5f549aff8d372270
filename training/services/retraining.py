"""When a training starts by itself: by the clock, or after so many new labels. The run itself is the work of `runs`."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from training.learner.shared_head import LEAST_CUES
from training.models import About, Label, Rules, TrainingRun
from training.services import runs


def new_labels() -> int:
    """How many labels came since the last training was asked for. Read as the training worker."""
    last = TrainingRun.objects.using("worker").order_by("-created_at").values_list("created_at", flat=True).first()
    return (_labels().filter(at__gt=last) if last else _labels()).count()


def _labels() -> QuerySet[Label]:
    return Label.objects.using("worker").filter(weight__gt=0)


def retrain_by_the_clock(now: datetime) -> TrainingRun | None:
    """Ask for a training if any label is new; None where there is nothing to learn from.

    Nor is one asked for that cannot but fail: with fewer labels in all than one kind of conversation needs, and fewer
    of what fits a cue than recall needs.
    """
    if not new_labels() or not _enough():
        return None
    return runs.ask(by=None, trigger="schedule", now=now, using="worker")


def _enough() -> bool:
    of_fit = _labels().filter(about=About.RELEVANCE).count()
    return _labels().count() - of_fit >= Rules.in_force("worker").least_labels or of_fit >= LEAST_CUES


def retrain_after_labels(now: datetime) -> TrainingRun | None:
    """Ask for a training once as many labels are new as the rules want; None before that."""
    wanted = Rules.in_force("worker").retrain_after
    if not wanted or new_labels() < wanted:
        return None
    return runs.ask(by=None, trigger="labels", now=now, using="worker")
