"""Agents and seats. An agent is shared by all; a seat ties one person and one bank to it."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.engine.retention import NAME_LENGTH
from memory.models import LEAST_EVICT_AT, Bank


class Backend(models.TextChoices):
    """Where an agent's words come from (agents.runtime.llm)."""

    QUOTE = "quote", _("quotes its memory, no model")
    OPENAI = "openai", _("OpenAI-compatible server")


class Agent(models.Model):
    """Someone to talk with: a persona, a source of words, and how its banks are set up."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(_("name"), max_length=60, unique=True)
    description = models.CharField(_("description"), max_length=200, blank=True)
    persona = models.TextField(_("persona"), max_length=8000, blank=True)
    backend = models.CharField(_("backend"), max_length=20, choices=Backend, default=Backend.QUOTE)
    base_url = models.URLField(_("server address"), blank=True)
    model = models.CharField(_("model"), max_length=120, blank=True)
    small_model = models.BooleanField(_("small model"), default=False)
    context_tokens = models.PositiveIntegerField(
        _("context in tokens"), default=4096, validators=[MinValueValidator(512), MaxValueValidator(2_000_000)]
    )
    reply_tokens = models.PositiveIntegerField(
        _("longest reply in tokens"), default=600, validators=[MinValueValidator(16), MaxValueValidator(32_000)]
    )
    budget_memories = models.PositiveIntegerField(
        _("bank budget in memories"), default=500, validators=[MinValueValidator(5), MaxValueValidator(100_000)]
    )
    budget_tokens = models.PositiveIntegerField(
        _("bank budget in tokens"), default=40_000, validators=[MinValueValidator(500), MaxValueValidator(50_000_000)]
    )
    policy = models.CharField(_("retention policy"), max_length=NAME_LENGTH, default="importance")
    evict_at = models.FloatField(
        _("evicts at this share of the budget"), default=1.0,
        validators=[MinValueValidator(LEAST_EVICT_AT), MaxValueValidator(1)],
    )  # fmt: skip
    recall_tokens = models.PositiveIntegerField(
        _("recalled memories in tokens"), default=800, validators=[MinValueValidator(50), MaxValueValidator(100_000)]
    )
    recall_archive = models.BooleanField(_("recall from the archive too"), default=False)
    rates_memories = models.BooleanField(_("its model rates some memories"), default=False)
    active = models.BooleanField(_("offered for new conversations"), default=True)
    labelling = models.BooleanField(_("open new conversations to labelling"), default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["created_at"]
        verbose_name = _("agent")

    def __str__(self) -> str:
        return self.name


class Seat(models.Model):
    """One person's place with one agent: their bank, shared by all their conversations with it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="seats")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    bank = models.OneToOneField(Bank, on_delete=models.CASCADE, related_name="seat")
    # Where the person set up the bank, it no longer follows its agent's settings.
    own_settings = models.BooleanField(_("the person set up the bank"), default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "user"], name="one_seat_a_person")]

    def __str__(self) -> str:
        return f"seat {self.id}"
