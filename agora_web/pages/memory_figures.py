"""The figures of one memory, as JSON: its scores, the recalls it took part in, and what happened to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers

from agora_web.pages import life_words as words
from agora_web.pages import recall_words, sureness
from agora_web.pages.door_figure import DoorFigure, memory_address, recall_address
from memory.api.figures import Drawn, FigureQuery
from memory.charts.story import MOST_POINTS, parts_figure, scores_figure, stretches_figure
from memory.figure_rows import Column
from memory.story import (
    HappenedRow,
    PartRow,
    ScoreRow,
    Story,
    happened_rows,
    part_rows,
    score_rows,
    story_of,
    stretches,
)
from memory.thousands import counted
from training.services.judgements import judged
from training.services.uncertainty import judge_of


class MemoryQuery(FigureQuery):
    """Which recalls."""

    what = serializers.ChoiceField(list(words.WHAT), required=False)
    adapter = serializers.CharField(max_length=80, required=False, default="")


class MemoryFigure(DoorFigure):
    """A figure of one memory."""

    query, thing = MemoryQuery, "memory_id"

    def drawn(self, asked: dict[str, Any], **ids: UUID) -> Drawn:
        return self.of(story_of(ids["memory_id"]), asked)

    def of(self, story: Story, asked: dict[str, Any]) -> Drawn:
        raise NotImplementedError


class Scores(MemoryFigure):
    row, name = ScoreRow, "scores"

    def of(self, story: Story, asked: dict[str, Any]) -> Drawn:
        scores = [row for row in score_rows(story) if not asked["adapter"] or row.adapter == asked["adapter"]]
        judge = judge_of(story.bank)
        rows = sureness.with_intervals(scores, judge, lambda row: story.memory.pk)
        label, _weight = judged(story.bank).get(story.memory.pk, (None, 0.0))
        drawn = scores_figure(rows, timezone.now(), timezone.get_current_timezone(), label=label)
        columns = [
            Column("at", _("When"), "time"), Column("importance", _("Importance"), "number"), *sureness.columns(),
            Column("adapter", _("Scored by")), Column("what", _("Why"), names=recall_words.scored),
        ]  # fmt: skip
        empty = "" if rows else _("No score of this memory fits the filter.")
        return Drawn(drawn, _scores_told(rows, label), columns, rows, empty, sureness.note(rows, judge))


def _scores_told(rows: Sequence[ScoreRow], label: float | None) -> str:
    if not rows:
        return ""
    told = _("Its importance is %(now).2f; when it was written it was %(first).2f.") % {
        "now": rows[-1].importance, "first": rows[0].importance,
    }  # fmt: skip
    return told if label is None else f"{told} {_('Judgements say %(value).2f.') % {'value': label}}"


class Parts(MemoryFigure):
    row, name = PartRow, "recalls"

    def of(self, story: Story, asked: dict[str, Any]) -> Drawn:
        rows = part_rows(story, what=[asked["what"]] if "what" in asked else [], adapter=asked["adapter"])
        zone = timezone.get_current_timezone()
        drawn = parts_figure(rows, zone, whats=words.what, address=recall_address)
        columns = [
            Column("at", _("When"), "time", lambda row: recall_address(row.recall)),
            Column("turn", _("Turn"), "number"), Column("rank", _("Rank"), "number"),
            Column("weight", _("Weight"), "number"), Column("fit", _("Fit"), "number"),
            Column("floor", _("Floor"), "number"), Column("what", _("What became of it"), names=words.what),
            Column("injected", _("In the prompt"), "truth"), Column("cited", _("Cited"), "truth"),
        ]  # fmt: skip
        empty = _("No recall has looked at this memory yet, or none that fits the filter.")
        note = _("The figure shows the last %(n)s; the table has all.") % counted({"n": MOST_POINTS})
        return Drawn(
            drawn, _parts_told(rows), columns, rows, "" if rows else empty, note if len(rows) > MOST_POINTS else ""
        )


def _parts_told(rows: Sequence[PartRow]) -> str:
    if not rows:
        return ""
    counts = Counter(row.what for row in rows)
    told = ngettext(
        "%(n)s recall weighed it: %(recalled)s handed it on, %(near)s had no room, %(below)s had it below the floor.",
        "%(n)s recalls weighed it: %(recalled)s handed it on, %(near)s had no room, %(below)s had it below the floor.",
        len(rows),
    )  # fmt: skip
    told %= counted({"n": len(rows), **{name: counts[name] for name in ("recalled", "near", "below")}})
    cited = sum(row.cited for row in rows)
    more = ngettext("%(n)s reply used it.", "%(n)s replies used it.", cited) % counted({"n": cited})
    return f"{told} {more}"


class Happened(MemoryFigure):
    row, name = HappenedRow, "happened"

    def of(self, story: Story, asked: dict[str, Any]) -> Drawn:
        rows = happened_rows(story, shown=self.door.shown)
        places = stretches(story)
        zone = timezone.get_current_timezone()
        drawn = stretches_figure(places, timezone.now(), zone, names=recall_words.reason, words=words.state)
        columns = [
            Column("at", _("When"), "time"), Column("what", _("What"), names=recall_words.happened),
            Column("reason", _("Why"), names=recall_words.reason), Column("policy", _("Policy")),
            Column("score", _("Score"), "number"), Column("adapter", _("Scored by")),
            Column("over", _("Over the budget in"), names=recall_words.over),
            Column("budget_memories", _("Budget in memories"), "number"),
            Column("budget_tokens", _("in tokens"), "number"),
            Column("instead_text", _("Kept instead"), "words", _of_other),
        ]  # fmt: skip
        return Drawn(drawn, _happened_told(rows), columns, rows, "" if rows else _("Nothing is known of it."))


def _of_other(row: HappenedRow) -> str:
    return memory_address(row.instead) if row.instead and row.instead_text else ""


def _happened_told(rows: Sequence[HappenedRow]) -> str:
    left = [row for row in rows if row.what == "evicted"]
    if not left:
        return _("It never left the bank.")
    told = ngettext("It left the bank %(n)s time", "It left the bank %(n)s times", len(left))
    told %= counted({"n": len(left)})
    why = _("last because: %(reason)s") % {"reason": recall_words.reason(left[-1].reason)}
    return f"{told}, {why}."


FIGURES: tuple[type[DoorFigure], ...] = (Scores, Parts, Happened)
