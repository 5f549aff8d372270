"""Conversations and their turns: the trajectories that memories come from, kept whole until a person erases them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.bank import Bank


class Labelling(models.TextChoices):
    """Whether labellers may be shown a conversation, and by whose word. The owner's goes before any other."""

    SHUT = "", _("not opened")
    OWNER = "owner", _("opened by its owner")
    AGENT = "agent", _("opened by the agent's setting")
    REFUSED = "refused", _("closed by its owner")


LABELLING_OPEN = (Labelling.OWNER, Labelling.AGENT)


class Conversation(models.Model):
    """A sequence of turns: a chat, or an imported trajectory."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="conversations")
    title = models.CharField(_("title"), max_length=200, blank=True)
    external_id = models.CharField(max_length=200, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    forgotten_until = models.DateTimeField(null=True)  # hidden now; erased then
    keep_memories = models.BooleanField(default=False)  # when it is erased
    labelling = models.CharField(max_length=8, choices=Labelling, default=Labelling.SHUT, blank=True)

    class Meta:
        indexes = [models.Index(fields=["owner", "-updated_at"], name="conversation_by_day")]
        constraints = [
            models.UniqueConstraint(fields=["bank", "external_id"], condition=~Q(external_id=""), name="imported_once")
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)


class TurnState(models.TextChoices):
    """The life of a turn: queued, running, then one of the four ends."""

    QUEUED = "queued", _("waiting")
    RUNNING = "running", _("running")
    DONE = "done", _("done")
    STOPPED = "stopped", _("stopped")
    FAILED = "failed", _("failed")
    INTERRUPTED = "interrupted", _("interrupted")


OPEN_STATES = (TurnState.QUEUED, TurnState.RUNNING)


class Turn(models.Model):
    """One round: an observation and the action that answered it. Either may be missing in an imported trajectory."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns", db_index=False)
    ordinal = models.PositiveIntegerField()
    session = models.PositiveIntegerField(default=0)
    position = models.PositiveIntegerField(default=0)  # number of its first side among its session's sides
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="successors")
    replaced_at = models.DateTimeField(null=True)  # a branch that was edited away
    state = models.CharField(max_length=12, choices=TurnState, default=TurnState.QUEUED)
    client = models.UUIDField(null=True)  # the browser's name for the message: sent twice, stored once

    observation = models.TextField(blank=True)
    observation_speaker = models.CharField(max_length=120, blank=True)
    observation_role = models.CharField(max_length=12, default="user")
    observation_at = models.DateTimeField(null=True)
    action = models.TextField(blank=True)
    action_speaker = models.CharField(max_length=120, blank=True)
    action_role = models.CharField(max_length=12, default="assistant")
    action_at = models.DateTimeField(null=True)

    external_ids = models.JSONField(default=dict, blank=True)  # side -> the id it had in an imported file
    place = models.CharField(max_length=200, blank=True)
    tool_calls = models.JSONField(default=list, blank=True)
    outcome = models.JSONField(null=True, blank=True)

    remembered = models.BooleanField(default=False)
    stop_requested = models.BooleanField(default=False)
    error_code = models.CharField(max_length=40, blank=True)
    error_sentence = models.TextField(blank=True)
    error_retry = models.BooleanField(default=False)
    timings_ms = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    heartbeat_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["ordinal"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"], condition=Q(state="running"), name="one_running_turn_a_conversation"
            ),
            models.UniqueConstraint(
                fields=["conversation", "ordinal"], condition=Q(replaced_at=None), name="one_turn_a_number"
            ),
            models.UniqueConstraint(
                fields=["conversation", "client"], condition=Q(client__isnull=False), name="sent_once"
            ),
        ]
        indexes = [
            models.Index(fields=["conversation", "ordinal"], name="turn_by_order"),
            models.Index(fields=["heartbeat_at"], condition=Q(state__in=["queued", "running"]), name="turn_open"),
        ]

    def __str__(self) -> str:
        return f"turn {self.ordinal} ({self.state})"
