"""Receipts of erasures: how much of which kind of thing is gone, and which adapters had learned from it."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from memory.models.bank import Bank


class Erasure(models.Model):
    """What one erasure took away, for its person to read afterwards. Counts alone: nothing of what was erased."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="+")
    what = models.CharField(max_length=12)  # "memory", "conversation", or "merged": what held words of another
    counts = models.JSONField(default=dict)  # kind of thing: how many
    first_seq = models.PositiveBigIntegerField()  # the ledger's numbers between which the erasure lies
    last_seq = models.PositiveBigIntegerField()
    learned = models.JSONField(default=list)  # versions of adapters that had learned from it
    looked = models.BooleanField(default=False, db_default=False)  # whether `learned` is known yet
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-at"]
        indexes = [models.Index(fields=["owner", "-at"], name="erasure_by_time")]

    def __str__(self) -> str:
        return f"{self.what} {self.at:%Y-%m-%d %H:%M}"
