"""Banks and their ledgers, and what banks share: vector spaces and adapter versions."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memory.engine.retention import NAME_LENGTH

LEAST_EVICT_AT = 0.5


class EncoderSpace(models.Model):
    """A frozen encoder's vector space. Vectors of two spaces never meet in one sum."""

    model = models.CharField(max_length=200)
    revision = models.CharField(max_length=64)
    width = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["model", "revision"], name="one_row_a_space")]

    def __str__(self) -> str:
        return f"{self.model} ({self.revision}, {self.width})"


class AdapterVersion(models.Model):
    """A trained adapter, or the untrained prior, by its version."""

    version = models.CharField(max_length=80, primary_key=True)
    manifest = models.JSONField(default=dict)
    weights = models.BinaryField(null=True)  # safetensors; none for what comes with the code
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="+")  # trained from
    # What new banks begin with, and what banks are taken to that follow; where no row says so, what AGORA ships.
    serves = models.BooleanField(default=False, db_default=False)
    # Something that it had learned from was erased: this one was learned without it.
    replaced_by = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["serves"], condition=Q(serves=True), name="one_adapter_serves")]

    def __str__(self) -> str:
        return self.version


class Bank(models.Model):
    """The bounded set of memories that an agent holds for one person, and how it keeps and reads them."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=200)
    space = models.ForeignKey(EncoderSpace, on_delete=models.PROTECT, related_name="+")
    budget_memories = models.PositiveIntegerField(
        _("budget in memories"), default=500, validators=[MinValueValidator(5), MaxValueValidator(100_000)]
    )
    budget_tokens = models.PositiveIntegerField(
        _("budget in tokens"), default=40_000, validators=[MinValueValidator(500), MaxValueValidator(50_000_000)]
    )
    policy = models.CharField(_("retention policy"), max_length=NAME_LENGTH, default="importance")
    evict_at = models.FloatField(
        _("share of the budget at which it evicts"), default=1.0,
        validators=[MinValueValidator(LEAST_EVICT_AT), MaxValueValidator(1)],
    )  # fmt: skip
    recall_tokens = models.PositiveIntegerField(default=800)
    recall_archive = models.BooleanField(default=False)
    adapter = models.CharField(
        _("adapter"), max_length=80, blank=True, default=""
    )  # "": the one that AGORA ships, in every process, whatever was promoted
    keeps_adapter = models.BooleanField(default=False, db_default=False)  # its person chose it: no promotion changes it
    open_to_analysts = models.BooleanField(default=False, db_default=False)  # by its owner's word, until closed
    last_seq = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("bank")

    def __str__(self) -> str:
        return self.name


class Event(models.Model):
    """One line of a bank's ledger: ids and numbers, never text. Rows are only ever added."""

    id = models.BigAutoField(primary_key=True)
    # the bank's own row answers for its owner
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="events", db_index=False)
    seq = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=20)
    memory = models.UUIDField(null=True)  # no foreign key: the event outlives an erased memory
    turn = models.UUIDField(null=True)
    at = models.DateTimeField()
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["seq"]
        constraints = [models.UniqueConstraint(fields=["bank", "seq"], name="one_event_a_number")]
        indexes = [
            models.Index(fields=["bank", "memory"], name="event_by_memory"),
            models.Index(fields=["turn"], name="event_by_turn"),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.kind}"
