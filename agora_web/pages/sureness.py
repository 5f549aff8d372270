"""Intervals beside scores: what judges a bank now says how sure it is of the scores that it gave itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.engine.posterior import around
from memory.figure_rows import Column
from memory.thousands import counted
from training.services.uncertainty import Judge

OTHER, FEATURELESS = "other_adapter", "no_features"  # why there is no interval


def with_intervals(rows: Sequence[Any], judge: Judge, memory: Callable[[Any], UUID]) -> list[Any]:
    """Rows of scores (`importance`, `adapter`) with the interval of one deviation of the logit each side, or why there
    is none: of another adapter's score what judges now could only say something false."""
    sure = judge.deviations({memory(row) for row in rows if row.adapter == judge.version})
    return [_with_interval(row, judge, sure.get(memory(row))) for row in rows]


def _with_interval(row: Any, judge: Judge, deviation: float | None) -> Any:
    if row.adapter != judge.version:
        return replace(row, unsure=OTHER)
    if deviation is None:
        return replace(row, unsure=FEATURELESS)
    low, high = around(row.importance, deviation)
    return replace(row, low=round(low, 6), high=round(high, 6))


def columns() -> list[Column]:
    """What the table under such a figure shows of it."""
    return [
        Column("low", _("From"), "number"), Column("high", _("to"), "number"),
        Column("unsure", _("Why no interval"), names=_why),
    ]  # fmt: skip


def _why(code: str) -> str:
    return {OTHER: _("scored by another adapter"), FEATURELESS: _("its features are not kept")}[code]


def note(rows: Sequence[Any], judge: Judge) -> str:
    """What the bars of rows from `with_intervals` mean, and which scores have none."""
    told = []
    if any(row.low is not None for row in rows):
        told.append(_("Bars reach one standard deviation of the score’s logit to each side."))
        told.append(_learned(judge))
    whys = Counter(row.unsure for row in rows)
    if n := whys[OTHER]:
        told.append(
            ngettext("%(n)s score has no bar: another adapter gave it than %(version)s, which judges now.",
                     "%(n)s scores have no bar: another adapter gave them than %(version)s, which judges now.",
                     n) % counted({"n": n, "version": judge.version})
        )  # fmt: skip
    if n := whys[FEATURELESS]:
        told.append(
            ngettext("%(n)s score has no bar: the features that it was given for are not kept.",
                     "%(n)s scores have no bar: the features that they were given for are not kept.", n)
            % counted({"n": n})
        )  # fmt: skip
    return " ".join(told)


def _learned(judge: Judge) -> str:
    if not judge.learned_from:
        return _("They are wide: %(version)s is shared by all banks and has learned nothing of this one.") % {
            "version": judge.version
        }
    return ngettext(
        "%(version)s has learned from %(n)s memory of this bank; without it they would be wider.",
        "%(version)s has learned from %(n)s memories of this bank; without them they would be wider.",
        judge.learned_from,
    ) % counted({"version": judge.version, "n": judge.learned_from})
