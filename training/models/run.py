"""Training runs: what was learned from, what came out, and how it does beside what serves. Numbers, nobody's words."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models import AdapterVersion


class Snapshot(models.Model):
    """The labels of one moment as numbers, frozen: what a run learns from, and can learn from again.

    `rows` is a numpy archive that says of each row whose it is, and of each cue which turn asked it: what is of an
    erased memory or turn can be cut out.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    digest = models.CharField(max_length=64)  # sha256 of `rows`
    rows = models.BinaryField()
    about: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)  # counts by source and kind, data window
    memories = models.JSONField(default=list)  # ids, to find what an erasure touches without reading `rows`
    turns = models.JSONField(default=list)  # ids of the turns whose cues are in `rows`, for the same reason
    erased = models.PositiveIntegerField(default=0)  # rows cut out since
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"snapshot {self.digest[:12]}"


class RunState(models.TextChoices):
    PENDING = "pending", _("waits")
    RUNNING = "running", _("runs")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


class TrainingRun(models.Model):
    """One training: a frozen snapshot of labels, a challenger, and how it does beside the champion."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    trigger = models.CharField(max_length=20, default="asked")  # a code: "asked", "schedule", "labels", "erasure"
    state = models.CharField(max_length=10, choices=RunState, default=RunState.PENDING)
    seed = models.PositiveIntegerField(default=1)
    from_scratch = models.BooleanField(default=False)  # else from what serves
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, null=True, related_name="runs")
    champion = models.ForeignKey(AdapterVersion, on_delete=models.PROTECT, null=True, related_name="+")
    challenger = models.ForeignKey(AdapterVersion, on_delete=models.SET_NULL, null=True, related_name="+")
    stage = models.CharField(max_length=20, blank=True)
    progress = models.FloatField(default=0.0)  # 0..1
    curves: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)  # name: values by step
    report: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)  # metrics of both with intervals, verdict
    error = models.TextField(blank=True)
    cancel_requested = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["state"], condition=Q(state__in=["pending", "running"]), name="one_run_a_state"
            )
        ]  # one waits while one runs, never two
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.state} {self.created_at:%Y-%m-%d %H:%M}"
