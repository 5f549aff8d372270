"""What the pages of banks call ages, and what differs between two memories."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from agora_web.pages.life_words import word
from memory.models import Doubt

AGES: dict[str, str | Promise] = {
    "day": _("under a day"),
    "week": _("under a week"),
    "month": _("under a month"),
    "quarter": _("under 3 months"),
    "year": _("under a year"),
    "older": _("a year or more"),
}
STEPS: dict[str, str | Promise] = {"hour": _("by the hour"), "day": _("by the day"), "week": _("by the week")}
WHAT: dict[str, str | Promise] = dict(Doubt.What.choices)
LOOKED: dict[str, str | Promise] = {"open": _("not yet"), "settled": _("yes")}


def age(name: str) -> str:
    return word(AGES, name)


def step(name: str) -> str:
    return word(STEPS, name)


def differs(name: str) -> str:
    return word(WHAT, name)


def looked(name: str) -> str:
    return word(LOOKED, name)
