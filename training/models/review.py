"""The labelling queue: what is to be judged, and the judgements.

An item carries what a labeller may read: texts masked when it was made. So no labeller's connection ever reads a memory
or a conversation.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models import Bank, Memory


class Mode(models.TextChoices):
    RATE = "rate", _("rate one side")
    COMPARE = "compare", _("choose between two")


class Chosen(models.TextChoices):
    UNCERTAIN = "uncertain", _("the adapter is unsure of it")
    LEAVING = "leaving", _("it is near to leaving its bank")
    RANDOM = "random", _("at random")  # these alone feed reported metrics


class ReviewState(models.TextChoices):
    OPEN = "open", _("open")
    DONE = "done", _("done")
    DISPUTED = "disputed", _("disputed")
    RESOLVED = "resolved", _("resolved")


class ReviewItem(models.Model):
    """One memory, or two, to be judged by `wanted` labellers."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")  # of the memories
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="+")
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+")
    other = models.ForeignKey(Memory, on_delete=models.CASCADE, null=True, related_name="+")
    mode = models.CharField(max_length=8, choices=Mode)
    chosen = models.CharField(max_length=10, choices=Chosen)
    wanted = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=10, choices=ReviewState, default=ReviewState.OPEN)
    hidden = models.BooleanField(default=False)  # while a memory is being forgotten, or labelling was closed
    shown: models.JSONField[list[dict[str, Any]]] = models.JSONField(
        default=list
    )  # masked; emptied some time after it was settled
    # Whose words `shown` holds. Triggers (migration 0003) hide the item when any of them is closed or forgotten.
    turns = ArrayField(models.UUIDField(), default=list)
    conversations = ArrayField(models.UUIDField(), default=list)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["memory", "other"], condition=Q(state="open"), nulls_distinct=False, name="asked_once_at_a_time"
            )
        ]
        indexes = [models.Index(fields=["created_at"], condition=Q(state="open"), name="review_open")]

    def __str__(self) -> str:
        return f"{self.mode} {self.state}"


class Review(models.Model):
    """One labeller's answer to one item; a skipped one has no value."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")  # of the memories
    item = models.ForeignKey(ReviewItem, on_delete=models.CASCADE, related_name="reviews")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    value = models.FloatField(null=True)  # 0..4; of a comparison 0 (the first is worth more) or 1 (the second)
    resolves = models.BooleanField(default=False)  # the word of a second person where others disagreed
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "by"], name="one_review_a_labeller")]

    def __str__(self) -> str:
        return "skipped" if self.value is None else f"{self.value:g}"
