"""Labels: judgements of importance or of relevance, whoever or whatever they come from."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models import Memory, Recall


class About(models.TextChoices):
    IMPORTANCE = "importance", _("importance")  # worth when written, whatever is asked later
    RELEVANCE = "relevance", _("relevance")  # fit to the cue of one recall


class Source(models.TextChoices):
    QUEUE = "queue", _("labelling queue")
    ACTION = "action", _("useful, outdated or wrong, said of a memory's row")
    KEPT = "kept", _("pinned or forgotten")
    THUMB = "thumb", _("thumb on a reply")
    HINDSIGHT = "hindsight", _("what later turns used")
    COUNTERFACTUAL = "counterfactual", _("what the action would have been without it")
    REGRET = "regret", _("missed after its eviction")
    MODEL = "model", _("the language model's own rating")
    IMPORTED = "imported", _("imported evidence")


class Label(models.Model):
    """One judgement of one memory: how important it is, how relevant to a cue, or that it is worth more than another.

    It goes with its memory: what is erased has no labels, and no snapshot made later holds it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")  # of the memory
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="labels")
    about = models.CharField(max_length=12, choices=About)
    recall = models.ForeignKey(Recall, on_delete=models.CASCADE, null=True, related_name="labels")  # of relevance
    other = models.ForeignKey(Memory, on_delete=models.CASCADE, null=True, related_name="+")  # worth less than `memory`
    value = models.FloatField(validators=[MinValueValidator(0), MaxValueValidator(1)])  # 0 worthless, 1 needed
    weight = models.FloatField(default=1.0, validators=[MinValueValidator(0)])  # full human judgements it counts for
    source = models.CharField(max_length=16, choices=Source)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+")
    reason = models.CharField(max_length=40, blank=True)  # a code: "useful", "outdated", "wrong"
    text = models.TextField()  # exactly what was judged
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(value__gte=0, value__lte=1, weight__gte=0), name="label_in_range"),
            models.UniqueConstraint(
                fields=["memory", "about", "source", "by", "recall", "other"], nulls_distinct=False,
                name="one_judgement_each",
            ),
        ]  # fmt: skip
        indexes = [models.Index(fields=["at"], name="label_by_age")]

    def __str__(self) -> str:
        return f"{self.about} {self.value:g} ({self.source})"
