"""Which adapter was promoted when, by whom and why, and how far the banks are. Numbers, nobody's words."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models import AdapterVersion, Bank
from training.models.run import TrainingRun


class PromotionMode(models.TextChoices):
    SERVE = "serve", _("serves")
    SHADOW = "shadow", _("scores silently beside what serves")


class Promotion(models.Model):
    """An adapter began to serve (or to shadow) in place of another; the newest that is not undone holds."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    adapter = models.ForeignKey(AdapterVersion, on_delete=models.PROTECT, related_name="+")
    former = models.ForeignKey(AdapterVersion, on_delete=models.PROTECT, related_name="+")
    run = models.ForeignKey(TrainingRun, on_delete=models.SET_NULL, null=True, related_name="promotions")
    mode = models.CharField(max_length=8, choices=PromotionMode, default=PromotionMode.SERVE)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    reason = models.TextField(blank=True)  # of an operator who overrides a guard
    automatic = models.BooleanField(default=False)
    at = models.DateTimeField(default=timezone.now)
    undone_at = models.DateTimeField(null=True)
    undone_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"{self.adapter_id} in place of {self.former_id}"


class StepState(models.TextChoices):
    WAITING = "waiting", _("waits")
    DONE = "done", _("done")
    UNDONE = "undone", _("undone")
    FAILED = "failed", _("failed")


class BankStep(models.Model):
    """What a promotion does to one bank: another adapter, all scores anew, and what then leaves; enough to undo it."""

    id = models.BigAutoField(primary_key=True)
    promotion = models.ForeignKey(Promotion, on_delete=models.CASCADE, related_name="steps")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=StepState, default=StepState.WAITING)
    applied: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)  # memory.services.rebudget.Applied
    rescored = models.PositiveIntegerField(default=0)
    left = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["promotion", "bank"], name="one_step_a_bank")]

    def __str__(self) -> str:
        return f"{self.bank_id} {self.state}"


class ShadowScore(models.Model):
    """One memory, or one recall's best memory, by champion and by challenger: the challenger changes nothing."""

    id = models.BigAutoField(primary_key=True)
    promotion = models.ForeignKey(Promotion, on_delete=models.CASCADE, related_name="scores")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="+")
    seq = models.PositiveBigIntegerField()  # the event in the bank's ledger that was scored
    kind = models.CharField(max_length=10)  # "written" or "recalled"
    champion = models.FloatField()  # importance; of a recall the weight of what the champion put first
    challenger = models.FloatField()
    same = models.BooleanField(null=True)  # of a recall: whether both put the same memory first
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["promotion", "bank", "seq"], name="shadowed_once")]

    def __str__(self) -> str:
        return f"{self.champion:.3f} {self.challenger:.3f}"


class Rules(models.Model):
    """The one row by which labels are collected, runs are started and adapters promoted. Operators change it."""

    class Promote(models.TextChoices):
        MANUAL = "manual", _("an operator decides")
        SHADOW = "shadow", _("what is better first scores silently, then an operator decides")
        AUTOMATIC = "automatic", _("what is better serves at once")

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    promote = models.CharField(max_length=10, choices=Promote, default=Promote.MANUAL)
    confidence = models.FloatField(default=0.95)  # that the challenger is better, to be promoted without a reason
    most_lost = models.FloatField(default=0.02)  # of a guard metric, or by an earlier kind of conversation
    least_labels = models.PositiveIntegerField(default=100)  # of a kind of conversation, to train its shared head
    retrain_after = models.PositiveIntegerField(default=0)  # new labels; 0: by the clock alone
    share_uncertain = models.FloatField(default=0.4)  # of the queue's items
    share_leaving = models.FloatField(default=0.3)
    share_random = models.FloatField(default=0.3)
    reviews_wanted = models.PositiveSmallIntegerField(default=1)
    counterfactuals_a_day = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="one_row_of_rules"),
            models.CheckConstraint(
                condition=Q(share_uncertain__gte=0, share_leaving__gte=0, share_random__gte=0),
                name="shares_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return "rules of training"

    @classmethod
    def in_force(cls, using: str = DEFAULT_DB_ALIAS) -> Rules:
        """The rules as an operator left them, the usual ones where nobody has."""
        return cls.objects.using(using).filter(pk=1).first() or cls()
