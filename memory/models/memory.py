"""Memories, where they came from, and the words by which archived ones are found."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from pgvector.django import VectorField

from memory.engine.types import Role, Side, State
from memory.models.bank import Bank, EncoderSpace
from memory.models.conversation import Conversation, Turn


class Memory(models.Model):
    """One remembered piece of a side, verbatim, with its score, its vector and its place in the trajectory."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="memories", db_index=False)
    state = models.CharField(max_length=10, choices=[(s.value, s.value) for s in State], default=State.HELD)
    kind = models.CharField(max_length=12, default="side")
    text = models.TextField()
    content = models.BinaryField(max_length=32)  # sha256 over role, speaker and text
    role = models.CharField(max_length=12, choices=[(r.value, r.value) for r in Role])
    speaker = models.CharField(max_length=120, blank=True)
    at = models.DateTimeField()

    # Where it was said first. Plain ids beside the keys: a memory that its person keeps outlives the conversation.
    conversation = models.ForeignKey(Conversation, on_delete=models.SET_NULL, null=True, related_name="+")
    turn = models.ForeignKey(Turn, on_delete=models.SET_NULL, null=True, related_name="+")
    side = models.CharField(max_length=12, choices=[(s.value, s.value) for s in Side])
    place_conversation = models.UUIDField()
    session = models.PositiveIntegerField(default=0)
    position = models.PositiveIntegerField()
    piece = models.PositiveIntegerField(default=0)

    tokens = models.PositiveIntegerField()
    importance = models.FloatField()
    features = models.JSONField(default=list)
    adapter = models.CharField(max_length=80)
    space = models.ForeignKey(EncoderSpace, on_delete=models.PROTECT, related_name="+", db_index=False)
    vector = VectorField()
    pinned = models.BooleanField(default=False)
    written_seq = models.PositiveBigIntegerField()
    written_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True)
    archive_reason = models.CharField(max_length=20, blank=True)
    before = models.CharField(max_length=10, blank=True)  # the state to which "undo" returns a forgotten memory
    forgotten_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["bank", "content"], condition=Q(state="held"), name="held_once")]
        indexes = [
            models.Index(fields=["bank", "state"], name="memory_by_state"),
            models.Index(fields=["bank", "content"], name="memory_by_content"),
            models.Index(fields=["forgotten_until"], condition=Q(state="forgotten"), name="memory_to_erase"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class MemorySource(models.Model):
    """One telling of a memory: which side of which turn said it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # the memory's own row answers for its owner: to check every row again would cost more than to write it
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="sources", db_index=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="sources")
    side = models.CharField(max_length=12)
    piece = models.PositiveIntegerField(default=0)
    how = models.CharField(
        max_length=10
    )  # "written", "retold", "merged" with a near-duplicate, or "formed" of its parts

    class Meta:
        constraints = [models.UniqueConstraint(fields=["memory", "turn", "side", "piece"], name="told_once_a_side")]

    def __str__(self) -> str:
        return f"{self.how} by {self.side}"


class Posting(models.Model):
    """One term of one archived memory. Held memories need none: their terms live in the hot bank."""

    id = models.BigAutoField(primary_key=True)
    # as with a source, the memory's row answers for owner and bank
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="postings")
    term = models.CharField(max_length=80)
    tf = models.PositiveIntegerField()

    class Meta:
        indexes = [models.Index(fields=["bank", "term"], name="posting_by_term")]

    def __str__(self) -> str:
        return self.term
