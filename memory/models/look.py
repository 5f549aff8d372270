"""The log of looks: which analyst looked at an opened bank on which day. No text of anybody's."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from memory.models.bank import Bank


class Look(models.Model):
    """One analyst's looks at one opened bank on one day, for its owner to see. Written by `agora_looked` alone."""

    id = models.BigAutoField(primary_key=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")  # of the bank
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="looks", db_index=False)
    # None: their account is gone. The database sees to it (migration 0014): nobody who goes sees the owner's rows.
    analyst = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.DO_NOTHING, null=True, related_name="+", db_constraint=False
    )
    day = models.DateField()  # where the owner lives
    first = models.DateTimeField()
    last = models.DateTimeField()
    pages = models.PositiveIntegerField(default=0)
    exports = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-last"]
        constraints = [models.UniqueConstraint(fields=["bank", "analyst", "day"], name="one_look_a_day")]

    def __str__(self) -> str:
        return f"{self.day} {self.pages}"
