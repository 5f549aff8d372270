"""Thumbs: what a person says of a whole reply."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from memory.models import Turn


class Thumb(models.Model):
    """One person's thumb on one reply, up or down. What it says of memories are labels of source `thumb`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")  # of the turn
    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, related_name="+")
    up = models.BooleanField()
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return "up" if self.up else "down"
