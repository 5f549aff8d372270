"""Doubts: an older memory that a newer one says otherwise than, until its person has looked."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.bank import Bank
from memory.models.memory import Memory


class Doubt(models.Model):
    """A mark that a person sees on a memory: it may be outdated. It never evicts by itself, and goes with either."""

    class What(models.TextChoices):
        NUMBER = "number", _("another number")
        DATE = "date", _("another date")
        NAME = "name", _("another name")
        NEGATION = "negation", _("the opposite")
        CORRECTION = "correction", _("a correction")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="+")
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="doubts")
    newer = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+")
    what = models.CharField(max_length=12, choices=What)
    at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True)  # its person looked: right or not, it is not asked again

    class Meta:
        constraints = [models.UniqueConstraint(fields=["memory", "newer"], name="doubted_once")]

    def __str__(self) -> str:
        return f"{self.memory_id} {self.what}"
