"""What serves once what had served learned from something that was erased, and was not learned anew in its place.

A run from nothing is asked for first (`training.services.forgetting`). Where it fails, is cancelled, or finds nothing
that may serve, the nearest adapter serves that never saw what is gone: an older one of the same line, in the end the
shipped one.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from memory.adapters import available_adapters, shipped_adapter
from memory.models import AdapterVersion, Job, JobState
from memory.services.jobs import NotYet, enqueue, handles
from training.models import RunState, TrainingRun
from training.services import promotions

JOB = "training.fall_back"
PAUSE = timedelta(seconds=30)  # before it is looked again how the run ended, and whether its challenger serves by now
OPEN = (RunState.PENDING, RunState.RUNNING)


def fall_back_unless_learned_anew(version: str, owner: UUID | None) -> None:
    """Have it seen to that `version`, which had learned from what was erased, does not serve on."""
    enqueue(JOB, version, owner_id=owner, run_after=timezone.now() + PAUSE)


@handles(JOB)
def fall_back(key: str) -> None:
    """Let the nearest untainted adapter serve in place of `key`, once no run is on its way that could replace it.

    Raises `NotYet` while one is, or while an earlier change is still on its way through the banks.
    """
    now = timezone.now()
    if not AdapterVersion.objects.filter(version=key, serves=True, manifest__erased=True).exists():
        return
    if _learning_anew(now) or _changing():
        raise NotYet(PAUSE)
    reason = _(
        "What served had learned from something that was erased since, and could not be learned anew without it."
    )
    promotions.promote(untainted(key), by=None, reason=reason, automatic=True, now=now, using="worker")


def untainted(version: str) -> str:
    """`version`, or the nearest that it came from that never saw what was erased; at the end the shipped one."""
    if version in available_adapters():  # what comes with the code learned from nobody here
        return version
    seen: set[str] = set()
    row = AdapterVersion.objects.filter(version=version).first()
    while row is not None and row.pk not in seen:
        if row.weights is not None and not row.manifest.get("erased"):
            return str(row.pk)
        seen.add(row.pk)
        row = row.parent
    return shipped_adapter().version


def _learning_anew(now: datetime) -> bool:
    """Whether a run from nothing goes on, or has ended just now: then its challenger may be about to serve."""
    runs = TrainingRun.objects.using("worker").filter(from_scratch=True)
    return runs.filter(state__in=OPEN).exists() or runs.filter(finished_at__gt=now - PAUSE).exists()


def _changing() -> bool:
    going = (JobState.PENDING, JobState.RUNNING)
    kinds = (promotions.JOB, promotions.STEP_JOB)
    return Job.objects.using("worker").filter(kind__in=kinds, state__in=going).exists()
