"""The figures of one replay of the policy lab, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers

from agora_web.pages.door_figure import memory_address
from memory import lab
from memory.api.figures import Drawn, FigureQuery, FigureView
from memory.charts.lab import MOST_MARKS, curves_figure, missed_figure
from memory.figure_rows import Column
from memory.life import with_words
from memory.models import LabReplay
from memory.services.lab_results import MOST_MISSES
from memory.thousands import counted


def adapter_name(version: str) -> str:
    """What the lab's pages call an adapter."""
    return _("the bank’s own") if version == lab.BANKS else version


class LabQuery(FigureQuery):
    """One conversation or all; the missed also by policy, adapter and budget."""

    conversation = serializers.UUIDField(required=False)
    policy = serializers.CharField(max_length=120, required=False)
    adapter = serializers.CharField(max_length=80, required=False)
    budget = serializers.CharField(max_length=12, required=False)


class LabFigure(FigureView):
    """A figure of one replay."""

    query = LabQuery

    def drawn(self, asked: dict[str, Any], **ids: UUID) -> Drawn:
        return self.of(lab.replay(ids["replay_id"]), asked)

    def of(self, replay: LabReplay, asked: dict[str, Any]) -> Drawn:
        raise NotImplementedError


def _nothing(replay: LabReplay, asked: dict[str, Any]) -> str:
    if not replay.over:
        return _("The first results come when one conversation has been replayed whole.")
    if "conversation" in asked:
        return _("This conversation has no result: it is gone, tells nothing, or the replay ended before it.")
    return _("There is no result: the replay ended too early, or its conversations are gone.")


class Curves(LabFigure):
    row = lab.CurveRow
    of_row: str

    def of(self, replay: LabReplay, asked: dict[str, Any]) -> Drawn:
        rows = lab.curve_rows(replay.pk, asked.get("conversation"))

        def missed(row: lab.CurveRow) -> str:
            told = {"policy": row.policy, "budget": row.budget, "adapter": row.adapter}
            if "conversation" in asked:
                told["conversation"] = str(asked["conversation"])
            return f"{reverse('lab_replay', args=[replay.pk])}?{urlencode(told)}#figure-missed"

        drawn = curves_figure(rows, self.of_row, str(self.axis()), names=adapter_name, address=missed)
        empty = "" if rows else _nothing(replay, asked)
        return Drawn(drawn, self.told(rows), self.columns(missed), rows, empty, _counted_against(rows))

    def axis(self) -> str:
        raise NotImplementedError

    def told(self, rows: Sequence[lab.CurveRow]) -> str:
        raise NotImplementedError

    def columns(self, missed: Any) -> list[Column]:
        raise NotImplementedError


def _counted_against(rows: Sequence[lab.CurveRow]) -> str:
    """By which adapter it was found what later turns needed, in words."""
    found = {row.references for row in rows}
    if not found:
        return ""
    if "" in found:
        return _("Each adapter is counted against what it recalls by itself from a bank that never forgets, as in all "
                 "replays of before: lines of one adapter can be compared, lines of two cannot. Ask for the replay "
                 "again to have one measure for all.")  # fmt: skip
    told = _("What later turns needed is what %(adapter)s, which serves the bank, recalls from a bank that never "
             "forgets.") % {"adapter": ", ".join(sorted(found))}  # fmt: skip
    if len({row.adapter for row in rows}) < 2:
        return told
    return f"{told} {_('It is the same for every adapter here: they differ in what they let go.')}"


def _which(missed: Any, *numbers: Column) -> list[Column]:
    """Columns of a curve's rows; `numbers` are what this curve is about, the first of them beside its policy."""
    return [
        Column("policy", _("Policy"), "text", missed), numbers[0], Column("budget", _("Budget")),
        Column("share", _("Share of what was told"), "number"), Column("memories", _("in memories"), "number"),
        *numbers[1:], Column("adapter", _("Adapter"), names=adapter_name),
    ]  # fmt: skip


class Evidence(Curves):
    name, of_row = "evidence", "evidence"

    def axis(self) -> str:
        return _("Of what later turns needed, kept")

    def told(self, rows: Sequence[lab.CurveRow]) -> str:
        known = [row for row in rows if row.evidence is not None]
        if not known:
            return _("No turn of these conversations recalled anything, even from a bank that never forgets.")
        small = min(known, key=lambda row: row.share).share
        near = [row for row in known if row.share == small]
        best = max(near, key=lambda row: row.evidence or 0)
        worst = min(near, key=lambda row: row.evidence or 0)
        if best.policy == worst.policy:
            return _("With the smallest budget, %(share).0f %% of what was told, %(policy)s keeps %(most).0f %% of "
                     "what later turns recalled from a bank that never forgets.") % {
                "share": 100 * small, "policy": best.policy, "most": 100 * (best.evidence or 0)}  # fmt: skip
        return _("With the smallest budget, %(share).0f %% of what was told, %(policy)s keeps most of what later turns "
                 "recalled from a bank that never forgets (%(most).0f %%), %(last)s least (%(least).0f %%).") % {
            "share": 100 * small, "policy": best.policy, "most": 100 * (best.evidence or 0), "last": worst.policy,
            "least": 100 * (worst.evidence or 0),
        }  # fmt: skip

    def columns(self, missed: Any) -> list[Column]:
        return _which(
            missed, Column("evidence", _("Evidence kept"), "number"),
            Column("evidence_weight", _("by weight"), "number"), Column("kept", _("Kept"), "number"),
            Column("recalled", _("of"), "number"), Column("conversations", _("Conversations"), "number"),
        )  # fmt: skip


class Regret(Curves):
    name, of_row = "regret", "regret"

    def axis(self) -> str:
        return _("Of what was told, left and missed later")

    def told(self, rows: Sequence[lab.CurveRow]) -> str:
        if not rows:
            return ""
        worst = max(rows, key=lambda row: row.regret)
        return _("Regret is highest under %(policy)s with a budget of %(budget)s: %(n)s memories left that a later "
                 "turn would have recalled, %(share).1f %% of all that was told.") % counted({
            "policy": worst.policy, "budget": worst.budget, "n": worst.regretted, "share": 100 * worst.regret,
        })  # fmt: skip

    def columns(self, missed: Any) -> list[Column]:
        return _which(
            missed, Column("regret", _("Regret"), "number"), Column("regretted", _("Missed later"), "number"),
            Column("evicted", _("Left"), "number"), Column("merged", _("Merged"), "number"),
            Column("held", _("Held in the end"), "number"), Column("told", _("Told"), "number"),
        )  # fmt: skip


class Missed(LabFigure):
    row, name = lab.MissedRow, "missed"

    def finished(self, rows: Sequence[Any]) -> Sequence[Any]:
        return with_words(rows)

    def of(self, replay: LabReplay, asked: dict[str, Any]) -> Drawn:
        wanted = {name: asked[name] for name in ("conversation", "policy", "adapter", "budget") if name in asked}
        rows = lab.missed_rows(replay.pk, **wanted)
        drawn = missed_figure(self.finished(rows[:MOST_MARKS]), address=lambda row: memory_address(row.memory))
        titles = lab.titles(row.conversation for row in rows)
        columns = [
            Column("text", _("Memory"), "words", lambda row: memory_address(row.memory)),
            Column("left", _("Left at turn"), "number"), Column("missed", _("missed at"), "number"),
            Column("times", _("Times"), "number"), Column("weight", _("Weight"), "number"),
            Column("policy", _("Policy")), Column("budget", _("Budget")),
            Column("adapter", _("Adapter"), names=adapter_name),
            Column("conversation", _("Conversation"), "text", lambda row: reverse("life", args=[row.conversation]),
                   lambda key: titles.get(UUID(key)) or _("New conversation")),
        ]  # fmt: skip
        told = ngettext("%(n)s memory left and was missed later; the larger a mark, the more of the attention it "
                        "would have had.",
                        "%(n)s memories left and were missed later; the larger a mark, the more of the attention it "
                        "would have had.", len(rows)) % counted({"n": len(rows)})  # fmt: skip
        note = _("Of each policy, adapter and budget the %(n)s heaviest of a conversation are kept.") % counted(
            {"n": MOST_MISSES}
        )
        if len(rows) > MOST_MARKS:
            note += " " + _("The figure shows the %(n)s heaviest of all.") % counted({"n": MOST_MARKS})
        empty = "" if rows else (
            _("Nothing was missed: these budgets keep all that later turns recalled.")
            if lab.has_results(replay.pk, **wanted) else _nothing(replay, asked)
        )  # fmt: skip
        return Drawn(drawn, told if rows else "", columns, rows, empty, note)


FIGURES: tuple[type[LabFigure], ...] = (Evidence, Regret, Missed)
