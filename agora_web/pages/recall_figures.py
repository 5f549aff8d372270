"""The figures of one recall, as JSON: what the signals add, the floor, and a second reading beside the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers

from agents.past_prompts import past_task
from agora_web.pages import life_words as words
from agora_web.pages import recall_words
from agora_web.pages.door_figure import DoorFigure, memory_address
from memory.api.figures import Drawn, FigureQuery
from memory.charts.why import contributions_figure, floor_figure, reread_figure
from memory.engine.signals import NAMES
from memory.figure_rows import Column
from memory.rereading import CannotReread, Rereading, RereadRow, reread, reread_rows
from memory.thousands import counted
from memory.why import CandidateRow, Why, candidate_rows, contributions_of, why_of

MOST = 12  # candidates in a figure, unless more are asked for
MOST_REREAD = 12


class RecallQuery(FigureQuery):
    """Which candidates, and what to read the recall again with."""

    what = serializers.ChoiceField(list(words.WHAT), required=False)
    most = serializers.IntegerField(min_value=1, max_value=200, required=False, default=MOST)
    without = serializers.UUIDField(required=False)

    def get_fields(self) -> Any:
        return super().get_fields() | {"with": serializers.UUIDField(required=False)}


class RecallFigure(DoorFigure):
    """A figure of one recall's candidates."""

    query, thing, row = RecallQuery, "recall_id", CandidateRow

    def drawn(self, asked: dict[str, Any], **ids: UUID) -> Drawn:
        why = why_of(ids["recall_id"])
        what = [asked["what"]] if "what" in asked else []
        rows = candidate_rows(why, what=what, shown=self.door.shown)
        return self.of(why, rows, asked["most"])

    def of(self, why: Why, rows: Sequence[Any], most: int) -> Drawn:
        raise NotImplementedError


def _of_memory(row: Any) -> str:
    return memory_address(row.memory)


def _nothing(why: Why, rows: Sequence[Any]) -> str:
    if rows:
        return ""
    if not why.trace.candidates:
        return _("The bank was empty: there was nothing to recall.")
    return _("No stored candidate of this recall fits the filter.")


class Contributions(RecallFigure):
    name = "contributions"

    def of(self, why: Why, rows: Sequence[Any], most: int) -> Drawn:
        best = rows[:most]
        drawn = contributions_figure(best, names=recall_words.signal, whats=words.what, address=memory_address)
        used = [name for name in NAMES if any(getattr(row, f"contribution_{name}") for row in rows)]
        told = _("%(signal)s: added") if used else ""
        columns = [
            Column("rank", _("Rank"), "number"), Column("text", _("Memory"), "words", _of_memory),
            Column("logit", _("Logit"), "number"), Column("weight", _("Weight"), "number"),
            Column("what", _("What became of it"), names=words.what),
            *(Column(f"contribution_{name}", told % {"signal": recall_words.signal(name)}, "number") for name in used),
            Column("interplay", recall_words.signal("interplay"), "number"),
            *(Column(f"signal_{name}", recall_words.signal(name), "number") for name in used),
        ]  # fmt: skip
        note = ""
        if len(rows) > most:
            note = _("The figure shows the first %(n)s; the table has all %(all)s that are stored.") % counted({
                "n": most, "all": len(rows),
            })  # fmt: skip
        return Drawn(drawn, _contributions_told(best), columns, rows, _nothing(why, rows), note)


def _contributions_told(rows: Sequence[Any]) -> str:
    if not rows:
        return ""
    best = rows[0]
    parts = contributions_of(best)
    name, value = max(parts.items(), key=lambda one: abs(one[1]), default=("", 0.0))
    told = _("The first has a logit of %(logit).2f, which gives it %(share).1f %% of the weight.") % {
        "logit": best.logit, "share": 100 * best.weight,
    }  # fmt: skip
    if not name:
        return told
    most = _("“%(signal)s” says most of it: %(value)+.2f.") % {"signal": recall_words.signal(name), "value": value}
    return f"{told} {most}"


class Floors(RecallFigure):
    name = "floor"

    def of(self, why: Why, rows: Sequence[Any], most: int) -> Drawn:
        trace = why.trace
        drawn = floor_figure(rows, trace.floor, trace.highly, whats=words.what, address=memory_address)
        columns = [
            Column("rank", _("Rank"), "number"), Column("text", _("Memory"), "words", _of_memory),
            Column("fit", _("Fit"), "number"), Column("weight", _("Weight"), "number"),
            Column("group", _("Group"), names=recall_words.group),
            Column("what", _("What became of it"), names=words.what),
            Column("injected", _("In the prompt"), "truth"), Column("cited", _("Cited"), "truth"),
            Column("archived", _("From the archive"), "truth"), Column("state", _("Now"), names=words.state),
        ]  # fmt: skip
        return Drawn(drawn, _floor_told(why, rows), columns, rows, _nothing(why, rows))


def _floor_told(why: Why, rows: Sequence[Any]) -> str:
    if not rows:
        return ""
    trace, counts = why.trace, Counter(row.what for row in rows)
    told = _("The floor lies at a fit of %(floor).3f: %(recalled)s were recalled, %(near)s passed it and found no "
             "room, %(below)s lie below.") % counted({
        "floor": trace.floor, "recalled": counts["recalled"], "near": counts["near"], "below": counts["below"],
    })  # fmt: skip
    return f"{told} {_bypass(why)}".strip()


def _bypass(why: Why) -> str:
    return _("The bank held fewer than five memories, so all were handed on.") if why.trace.bypassed else ""


class Reread(DoorFigure):
    """The weights of both readings."""

    query, thing = RecallQuery, "recall_id"
    row, name = RereadRow, "reread"

    def drawn(self, asked: dict[str, Any], **ids: UUID) -> Drawn:
        why = why_of(ids["recall_id"])
        try:
            found = read_again(why, asked.get("without"), asked.get("with"))
        except CannotReread as error:
            return Drawn({}, "", [], [], error.sentence)
        rows = reread_rows(found, shown=self.door.shown) if found else []
        columns = [
            Column("text", _("Memory"), "words", _of_memory), Column("weight", _("Weight as it was"), "number"),
            Column("weight_after", _("read again"), "number"), Column("rank", _("Rank"), "number"),
            Column("rank_after", _("read again"), "number"), Column("recalled", _("Handed on"), "truth"),
            Column("recalled_after", _("read again"), "truth"), Column("change", _("Change"), names=words.change),
            Column("logit", _("Logit"), "number"), Column("logit_after", _("read again"), "number"),
        ]  # fmt: skip
        empty = "" if rows else _("Choose a memory above to read this recall again without it, or with it.")
        drawn = reread_figure(rows[:MOST_REREAD], address=memory_address)
        note = ""
        if len(rows) > MOST_REREAD:
            note = _("The figure shows the %(n)s heaviest.") % counted({"n": MOST_REREAD})
        return Drawn(drawn, _reread_told(rows), columns, rows, empty, note)


def read_again(why: Why, without: UUID | None, back: UUID | None) -> Rereading | None:
    """The second reading that was asked for; None for none. Raises `CannotReread`."""
    if without is None and back is None:
        return None
    past = past_task(why)
    return reread(why, without=without, back=back, excluded=past.excluded if past else (frozenset(),))


def _reread_told(rows: Sequence[RereadRow]) -> str:
    if not rows:
        return ""
    came, left = (sum(row.change == change for row in rows) for change in ("came", "left"))
    if not came and not left:
        return _("The same memories would have been handed on.")
    told = [
        ngettext("%(n)s memory less would have been handed on", "%(n)s memories less would have been handed on", left)
        % counted({"n": left}) if left else "",
        ngettext("%(n)s memory more", "%(n)s memories more", came) % counted({"n": came}) if came else "",
    ]  # fmt: skip
    return ", ".join(part for part in told if part) + "."


FIGURES: tuple[type[DoorFigure], ...] = (Contributions, Floors, Reread)
