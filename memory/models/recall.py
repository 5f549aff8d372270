"""Traces of recalls."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from memory.models.bank import Bank
from memory.models.conversation import Turn


class Recall(models.Model):
    """One reading of a bank, with all that explains it. The cue is the turn's observation: no copy is kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="recalls")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="recalls")
    at = models.DateTimeField()
    seq = models.PositiveBigIntegerField()  # the bank was read as it stood after this event
    adapter = models.CharField(max_length=80)
    asking = models.BooleanField()
    with_previous = models.BooleanField(default=False)  # the cue was short and took the previous turn along
    bypassed = models.BooleanField(default=False)
    floor = models.FloatField()
    candidates = models.PositiveIntegerField()
    below_floor = models.PositiveIntegerField()
    over_budget = models.PositiveIntegerField()
    normalisation = models.JSONField(default=dict)
    rows = models.JSONField(default=list)  # the 64 best by logit: see memory.services.recalls.trace_row
    regretted = models.JSONField(default=list)  # archived memories that this cue would have recalled, scored later
    timings_ms = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["bank", "at"], name="recall_by_time")]

    def __str__(self) -> str:
        return str(self.id)
