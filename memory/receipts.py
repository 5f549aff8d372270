"""Receipts of erasures as their person reads them: what went, when, and what had learned from it. No text, no ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy

from memory.models import AdapterVersion, Erasure
from memory.services.scrubbing import TRACES
from memory.thousands import counted

SHOWN = 200
# By model, in the order in which a person reads them; other apps add theirs.
KINDS: dict[str, Any] = {
    "memory.Memory": ngettext_lazy("%(n)s memory", "%(n)s memories", "n"),
    "memory.Conversation": ngettext_lazy("%(n)s conversation", "%(n)s conversations", "n"),
    "memory.Turn": ngettext_lazy("%(n)s turn", "%(n)s turns", "n"),
    "memory.MemorySource": ngettext_lazy("%(n)s note of where it was said", "%(n)s notes of where it was said", "n"),
    "memory.Posting": ngettext_lazy("%(n)s word of the archive’s index", "%(n)s words of the archive’s index", "n"),
    "memory.Recall": ngettext_lazy("%(n)s recall", "%(n)s recalls", "n"),
    TRACES: ngettext_lazy("its lines in %(n)s recall that stays", "its lines in %(n)s recalls that stay", "n"),
}
WHAT = {
    "memory": gettext_lazy("A memory"),
    "conversation": gettext_lazy("A conversation"),
    "merged": gettext_lazy("A merged memory that held words of something you forgot or edited"),
}


@dataclass(frozen=True)
class Learned:
    """An adapter that had learned from what is gone, and what stands in its place, if that is known yet."""

    version: str
    instead: str
    serves: bool  # still, until its successor is promoted


@dataclass(frozen=True)
class Receipt:
    """One erasure."""

    row: Erasure
    what: str
    counts: list[str]
    learned: list[Learned]


def receipts() -> list[Receipt]:
    """The acting person's receipts, newest first."""
    rows = list(Erasure.objects.order_by("-at")[:SHOWN])
    named = {version for row in rows for version in row.learned}
    known = {row.pk: row for row in AdapterVersion.objects.filter(pk__in=named).defer("weights")}
    return [
        Receipt(
            row, str(WHAT.get(row.what, row.what)), _told(row.counts),
            [_learned(version, known.get(version)) for version in row.learned],
        )
        for row in rows
    ]  # fmt: skip


def _told(counts: Mapping[str, int]) -> list[str]:
    told = [str(sentence % counted({"n": counts[model]})) for model, sentence in KINDS.items() if counts.get(model)]
    others = sum(n for model, n in counts.items() if model not in KINDS)
    if others:
        told.append(ngettext("%(n)s row of other kinds", "%(n)s rows of other kinds", others) % counted({"n": others}))
    return told or [_("nothing that was left")]


def _learned(version: str, row: AdapterVersion | None) -> Learned:
    return Learned(version, (row and row.replaced_by_id) or "", bool(row and row.serves))
