"""What was asked of agents' models: numbers alone."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from memory.models import Turn


class ModelAsked(models.Model):
    """The memories of one turn were put to the agent's model, once: how many, and how many ratings could be read."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")  # of the turn
    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, related_name="+")
    memories = models.PositiveIntegerField()
    rated = models.PositiveIntegerField()  # all of them, or 0: an answer is read whole or not at all
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.rated} of {self.memories}"
