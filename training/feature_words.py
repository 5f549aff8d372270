"""What pages call write-time features and their values."""

from __future__ import annotations

import math

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

FEATURES: dict[str, str | Promise] = {
    "log_words": gettext_lazy("Length in words"),
    "numbers": gettext_lazy("Numbers"),
    "date_words": gettext_lazy("Words of dates"),
    "proper_nouns": gettext_lazy("Names"),
    "question": gettext_lazy("Questions"),
    "exclamation": gettext_lazy("Exclamations"),
    "first_person": gettext_lazy("“I” and “my”"),
    "attachment": gettext_lazy("Attachments and code"),
    "identifiers": gettext_lazy("Identifiers"),
    "amounts": gettext_lazy("Amounts"),
    "paths": gettext_lazy("Links and paths"),
    "small_talk": gettext_lazy("Small talk"),
    "negation": gettext_lazy("Negations"),
    "follows_question": gettext_lazy("Answers to a question"),
    "first_in_session": gettext_lazy("First of a session"),
    "mean_idf": gettext_lazy("How rare its words are"),
    "sum_idf": gettext_lazy("Rare words in all"),
    "novelty": gettext_lazy("How new its meaning is"),
    "role_user": gettext_lazy("Said by the person"),
    "role_assistant": gettext_lazy("Said by the agent"),
    "role_tool": gettext_lazy("From a tool"),
    "role_other": gettext_lazy("Said by others"),
    "place_in_session": gettext_lazy("Place in the session"),
    "lines": gettext_lazy("Line breaks"),
    "quotes": gettext_lazy("Quotations"),
    "new_words": gettext_lazy("Share of new words"),
}
# Stored as ln(1 + n): people read n.
COUNTS = frozenset({"log_words", "numbers", "date_words", "proper_nouns", "identifiers", "amounts", "paths", "quotes",
                    "lines", "place_in_session"})  # fmt: skip
SHARES = frozenset({"novelty", "new_words", "mean_idf", "sum_idf"})  # more or less of it, not there or not


def feature(name: str) -> str:
    """A feature in words; one that is not known says its name."""
    return str(FEATURES.get(name, name))


def is_flag(name: str) -> bool:
    """Whether a memory has it or not."""
    return name not in COUNTS and name not in SHARES


def value(name: str, stored: float) -> str:
    """A value as people read it."""
    return f"{round(math.expm1(stored)):,}" if name in COUNTS else f"{stored:.2f}"


def span(name: str, low: float | None, high: float | None) -> str:
    """A bin from `low` to below `high`."""
    if is_flag(name):
        return _("no") if low is None else _("yes")
    if low is None and name in COUNTS:
        most = round(math.expm1(high or 0.0)) - 1
        return f"{most}" if most <= 0 else _("at most %(n)d") % {"n": most}
    if low is None:
        return _("below %(high)s") % {"high": value(name, high or 0.0)}
    if high is None:
        return _("%(low)s and more") % {"low": value(name, low)}
    if name not in COUNTS:
        return f"{value(name, low)} – {value(name, high)}"
    first, last = round(math.expm1(low)), round(math.expm1(high)) - 1  # of whole numbers the last one is in it
    return f"{first:,}" if last <= first else f"{first:,} – {last:,}"
