"""Traces of recalls."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from memory.models.bank import Bank
from memory.models.conversation import Turn
from memory.traces import trace_rows


class Recall(models.Model):
    """One reading of a bank, with all that explains it. The cue is the turn's observation: no copy is kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # the bank's own row answers for its owner
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="recalls", db_index=False)
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
    highly = models.FloatField()  # from this fit on a memory was highly relevant
    normalisation = models.JSONField(default=dict)

    # The 64 best by logit, best first, and whatever else was recalled: `memory.traces` packs them and shows their rows.
    memories = ArrayField(models.UUIDField(), default=list)
    signals = ArrayField(models.CharField(max_length=40), default=list)  # names
    numbers = models.BinaryField(default=bytes)  # float32: logit, weight, fit, signals, contributions; a row a memory
    archived = ArrayField(models.UUIDField(), default=list)  # of `memories` those that came from the archive
    # Three facts: handed on to the prompt, in it (there was room), and used by the reply.
    recalled = ArrayField(models.UUIDField(), default=list)
    injected = ArrayField(models.UUIDField(), default=list)
    cited = ArrayField(models.UUIDField(), default=list)

    regretted = models.JSONField(default=list)  # archived memories that this cue would have recalled, scored later
    timings_ms = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["bank", "at"], name="recall_by_time")]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The stored rows as pages and programs read them."""
        return trace_rows(self)
