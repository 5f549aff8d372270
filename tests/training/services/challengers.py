"""Stored challengers, and the training worker's work done here and now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.utils import timezone

import training.tasks  # noqa: F401  (what jobs do, as a worker has it loaded)
from memory.adapters import keep_adapter, shipped_adapter
from memory.engine.adapter import Adapter
from memory.engine.importance import ImportanceHead
from memory.models import AdapterVersion, Job, JobState
from memory.services.jobs import run_job
from training.models import RunState, TrainingRun

GOOD: dict[str, Any] = {
    "metrics": {
        "kept": {"champion": 0.5, "challenger": 0.6, "low": 0.04, "high": 0.16, "n": 40, "kind": "user_assistant"}
    },
    "better": 0.98,
    "guards": [{"name": "public slice", "champion": 0.6, "challenger": 0.6, "lost": 0.0, "ok": True}],
    "by_kind": {"two_people": {"champion": 0.5, "challenger": 0.5}},
    "verdict": "better",
    "sentence": "It keeps more of what was needed later.",
}


def upside_down(version: str = "run-1", of: Adapter | None = None) -> Adapter:
    """Another adapter, which values what the shipped one does not."""
    of = of or shipped_adapter()
    priors = {kind: replace(one, weights=-one.weights, bias=-one.bias) for kind, one in of.importance.priors.items()}
    return replace(of, version=version, importance=ImportanceHead(priors))


def stored(adapter: Adapter, parent: Adapter | None = None, **about: Any) -> AdapterVersion:
    return keep_adapter(adapter, parent or shipped_adapter(), {"kind": "shared", **about})


def ended_run(challenger: AdapterVersion, champion: str = "", **fields: Any) -> TrainingRun:
    """A run that has ended, with a report in which its challenger is better."""
    champion = champion or shipped_adapter().version
    given = {"report": GOOD, "state": RunState.DONE, "from_scratch": False} | fields
    return TrainingRun.objects.using("worker").create(challenger_id=challenger.pk, champion_id=champion, **given)


def work(most: int = 50) -> int:
    """Do the jobs of training that are due, as a worker does, until there are none; returns how many were done."""
    done = 0
    while job := _next():
        run_job(job.pk)
        done += 1
        assert done < most
    return done


def _next() -> Job | None:
    waiting = Job.objects.using("worker").filter(
        state=JobState.PENDING, kind__startswith="training.", run_after__lte=timezone.now()
    )
    return waiting.exclude(kind__in=["training.own_head", "training.run"]).order_by("run_after").first()
