"""Background jobs: claimed by lease, so that one delivered twice runs once."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class JobState(models.TextChoices):
    PENDING = "pending", _("pending")
    RUNNING = "running", _("running")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


class Job(models.Model):
    """A piece of work. Holds ids and sentences about itself, never anybody's words."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+")
    kind = models.CharField(_("kind"), max_length=60)
    key = models.CharField(max_length=120)  # what it is about; one open job a (kind, key)
    state = models.CharField(_("state"), max_length=10, choices=JobState, default=JobState.PENDING)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    error = models.TextField(_("error"), blank=True)
    progress = models.FloatField(_("progress"), null=True)  # 0..1, of work that tells it
    stage = models.CharField(max_length=40, blank=True, default="", db_default="")  # a code of what is being done
    lease = models.UUIDField(null=True)  # who holds it
    lease_until = models.DateTimeField(null=True)
    run_after = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "key"], condition=Q(state__in=["pending", "running"]), name="one_open_job_a_key"
            )
        ]
        indexes = [
            models.Index(fields=["run_after"], condition=Q(state="pending"), name="job_due"),
            models.Index(fields=["-created_at"], name="job_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"
