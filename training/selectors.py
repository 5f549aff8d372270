"""What the pages of training show: runs, how they go, and what is missing for the next. Read as the acting person."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.engine.importance import KINDS, kind_by
from memory.engine.types import Role
from memory.models import Job, JobState
from memory.selectors import instant
from memory.services.turns import NotFound
from memory.thousands import counted
from training.learner.cue_training import RECALL
from training.learner.shared_head import LEAST_CUES
from training.models import Rules, RunState, TrainingRun
from training.services.runs import job_of
from training.services.sentences import KIND_NAMES, NAMES

SHOWN = 50


@dataclass(frozen=True)
class KindReady:
    """How far one kind of conversation, or recall, is on its way to being learned."""

    name: str
    have: int
    need: int

    @property
    def missing(self) -> int:
        """How many judgements it still needs."""
        return max(0, self.need - self.have)


def readiness() -> list[KindReady]:
    """Judgements of each kind of conversation, and of what fits a cue, against what a run needs.

    They are everybody's, so the database counts them by a function that answers staff alone, with numbers.
    """
    have: Counter[str] = Counter()
    with connection.cursor() as cursor:
        cursor.execute("SELECT judgements, kind, roles FROM agora_judged()")
        for judgements, kind, roles in cursor.fetchall():
            written = {Role(role): count for role, count in json.loads(roles).items()}
            have[kind_by(_share_of(written), kind)] += judgements
    least = Rules.in_force().least_labels
    kinds = [KindReady(str(KIND_NAMES[kind]), have[kind], least) for kind in KINDS]
    return [*kinds, KindReady(str(NAMES[RECALL]), _judged_cues(), LEAST_CUES)]


def _judged_cues() -> int:
    """Judgements of what fits a cue: of cues that ask or of those that tell, whichever are more.

    A run learns from each alone. Cues that the encoder cannot read are counted with them, though no run learns from
    those: only their words tell them apart, which the database does not weigh.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(judgements) FROM agora_judged_cues()")
        return cursor.fetchone()[0] or 0


def _share_of(written: Mapping[Role, int]) -> Callable[[Role], float]:
    total = max(1, sum(written.values()))
    return lambda role: written.get(role, 0) / total


def runs() -> list[TrainingRun]:
    """The newest runs."""
    return list(TrainingRun.objects.select_related("asked_by").defer("curves")[:SHOWN])


def run(run_id: UUID) -> TrainingRun:
    """One run. Raises `NotFound`."""
    found = TrainingRun.objects.select_related("snapshot", "champion", "challenger", "asked_by").filter(pk=run_id)
    one = found.defer("snapshot__rows", "champion__weights", "challenger__weights").first()
    if one is None:
        raise NotFound(_("There is no such run."))
    return one


def run_json(one: TrainingRun, now: datetime | None = None) -> dict[str, Any]:
    """A run as its page reads it, again and again while it goes on."""
    state, error, silent = truth(one, job_of(one.pk), now or timezone.now())
    frozen = one.snapshot
    snapshot = {"digest": frozen.digest, "about": frozen.about, "erased": frozen.erased} if frozen else None
    return {
        "id": str(one.pk), "state": state, "state_name": str(RunState(state).label), "stage": one.stage,
        "stage_name": stage_name(one.stage), "progress": round(one.progress, 4), "error": error, "silent": silent,
        "cancel_requested": one.cancel_requested, "over": state not in (RunState.PENDING, RunState.RUNNING),
        "created_at": instant(one.created_at), "started_at": instant(one.started_at),
        "finished_at": instant(one.finished_at), "curves": one.curves, "snapshot": snapshot,
        "champion": one.champion_id, "challenger": one.challenger_id, "report": one.report,
    }  # fmt: skip


def truth(one: TrainingRun, job: Job | None, now: datetime) -> tuple[str, str, bool]:
    """State and sentence of a run as its job tells them, and whether its worker has fallen silent.

    Where the database could not be written, the row may not say yet what has become of the run.
    """
    if one.state not in (RunState.PENDING, RunState.RUNNING) or job is None:
        return one.state, one.error, False
    if job.state == JobState.FAILED:
        return RunState.FAILED, job.error or one.error, False
    if job.state == JobState.PENDING:  # it waits for another try, or for the first one
        return RunState.PENDING, one.error or job.error, False
    silent = job.state == JobState.RUNNING and job.lease_until is not None and job.lease_until < now
    return one.state, one.error or job.error, silent


def stage_name(stage: str) -> str:
    """What a run is doing, in words."""
    return {
        "": _("waits for the training worker"),
        "snapshot": _("freezes the labels"),
        "heads": _("learns the agents’ own heads"),
        "train": _("learns the shared heads"),
        "evaluate": _("measures champion and challenger"),
        "report": _("writes the report"),
    }.get(stage, stage)


def missing_now(ready: list[KindReady]) -> str:
    """What the next run lacks, or "" when it can begin."""
    if any(not one.missing for one in ready):
        return ""
    nearest = min(ready, key=lambda one: one.missing)
    return ngettext(
        "%(n)s more judgement of %(kind)s, and a run has enough to learn from.",
        "%(n)s more judgements of %(kind)s, and a run has enough to learn from.",
        nearest.missing,
    ) % counted({"n": nearest.missing, "kind": nearest.name})
