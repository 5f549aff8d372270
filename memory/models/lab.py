"""The policy lab's replays: what was asked for, how far it is, and the numbers that came out. No words of anybody's."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.engine.retention import NAME_LENGTH
from memory.models.conversation import Conversation


class LabState(models.TextChoices):
    PENDING = "pending", _("waits")
    RUNNING = "running", _("runs")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


class LabReplay(models.Model):
    """Conversations of one person, told again under several policies, budgets and adapters."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    asked: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)  # memory.services.lab.Asked
    state = models.CharField(max_length=10, choices=LabState, default=LabState.PENDING)
    progress = models.FloatField(default=0.0)  # 0..1
    error = models.TextField(blank=True)
    cancel_requested = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["owner", "-created_at"], name="lab_replay_by_time")]

    def __str__(self) -> str:
        return f"{self.state} {self.created_at:%Y-%m-%d %H:%M}"

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.state not in (LabState.PENDING, LabState.RUNNING)


class LabResult(models.Model):
    """One conversation under one policy, budget and adapter: what a bank kept of it and what later turns missed."""

    id = models.BigAutoField(primary_key=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    replay = models.ForeignKey(LabReplay, on_delete=models.CASCADE, related_name="results", db_index=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="+")
    adapter = models.CharField(max_length=80)  # as asked for; "-" for the one that serves the bank
    version = models.CharField(max_length=80)  # the one that it was
    # the version that said what later turns needed, the same for every adapter of a replay; "" is the row's own
    # adapter, as it was before there was one for all
    reference = models.CharField(max_length=80, default="", blank=True)
    policy = models.CharField(max_length=NAME_LENGTH)
    budget = models.CharField(max_length=12)  # as asked for: "25%" of what was told, or "200" memories
    memories = models.PositiveIntegerField()  # the budget in memories
    tokens = models.PositiveBigIntegerField()  # and in tokens
    turns = models.PositiveIntegerField()
    told = models.PositiveIntegerField()  # sides, long ones piece by piece
    held = models.PositiveIntegerField()
    evicted = models.PositiveIntegerField()
    merged = models.PositiveIntegerField()
    recalled = models.PositiveIntegerField()  # by the bank that never evicts, over all turns
    missed = models.PositiveIntegerField()  # of these
    wanted = models.FloatField()  # the weight of the recalled
    missed_weight = models.FloatField()  # and of the missed
    regretted = models.PositiveIntegerField()  # memories among the missed, each once
    misses: models.JSONField[list[list[Any]]] = models.JSONField(
        default=list
    )  # memory, turns, fit, weight; the heaviest

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["replay", "conversation", "adapter", "policy", "budget"], name="one_result_a_bank"
            )
        ]

    def __str__(self) -> str:
        return f"{self.policy} {self.budget}"
