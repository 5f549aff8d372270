"""The figures of adapters: who comes from whom, and how each does beside the one that served when it was trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from memory.charts.parts import Figure, Role, colour, figure, plain

SERVES, SHADOWS, READY = "serves", "shadows", ""
_MARKS = {SERVES: ("circle", Role.THIRD), SHADOWS: ("diamond", Role.SECOND), READY: ("circle-open", Role.FIRST)}

Names = Callable[[str], str]


@dataclass(frozen=True)
class LineageRow:
    """One shared adapter: what it was trained from, and what it does now."""

    version: str
    parent: str  # "" for one that was trained from none that is known
    generation: int  # how many it descends from
    state: str  # a code: "serves", "shadows", ""
    banks: int
    labels: int
    created: datetime | None


@dataclass(frozen=True)
class CompareRow:
    """One figure of a challenger beside the champion of its run, with the 95 % interval of the difference."""

    version: str
    of: str
    kind: str
    champion: float
    challenger: float
    difference: float
    low: float
    high: float
    n: int


def lineage_figure(rows: Sequence[LineageRow], *, names: Names = str) -> Figure:
    """Versions from left to right by generation, with a line to what each was trained from."""
    places = {row.version: (row.generation, at) for at, row in enumerate(rows)}
    lines: dict[str, Any] = {
        "type": "scatter", "mode": "lines", "name": _("trained from"), "x": [], "y": [], "hoverinfo": "skip",
        "line": {"color": colour(Role.MUTED), "width": 1.5},
    }  # fmt: skip
    for row in rows:
        if row.parent in places:
            for axis, at in (("x", 0), ("y", 1)):
                lines[axis] += [places[row.parent][at], places[row.version][at], None]
    data = [lines] if lines["x"] else []
    for state, (symbol, role) in _MARKS.items():
        found = [row for row in rows if row.state == state]
        if found:
            data.append(
                {
                    "type": "scatter", "mode": "markers+text", "name": names(state),
                    "x": [places[row.version][0] for row in found], "y": [places[row.version][1] for row in found],
                    "text": [plain(row.version, 28) for row in found], "textposition": "top center",
                    "hovertemplate": "%{text}<extra></extra>", "cliponaxis": False,
                    "marker": {"symbol": symbol, "size": 13, "color": colour(role), "line": {"width": 2}},
                }
            )  # fmt: skip
    last = max((row.generation for row in rows), default=0)
    return figure(
        data, height=min(520, 150 + 46 * len(rows)), showlegend=True,
        xaxis={"title": _("Generation"), "range": [-0.6, last + 0.6], "dtick": 1, "fixedrange": True},
        yaxis={"visible": False, "range": [len(rows) - 0.4, -0.8], "fixedrange": True},
    )  # fmt: skip


def compare_figure(rows: Sequence[CompareRow], *, labels: Callable[[CompareRow], str] = lambda row: row.of) -> Figure:
    """How far each challenger is ahead of its champion, with 95 % intervals; right of 0 it is better."""
    sure = {"ahead": Role.THIRD, "behind": Role.SECOND, "open": Role.MUTED}
    names = {"ahead": _("surely ahead"), "behind": _("surely behind"), "open": _("not sure")}
    data = []
    for code, role in sure.items():
        found = [(at, row) for at, row in enumerate(rows) if _sure(row) == code]
        if found:
            data.append(
                {
                    "type": "scatter", "mode": "markers", "name": names[code],
                    "x": [row.difference for _at, row in found],
                    "y": [at for at, _row in found], "text": [plain(labels(row)) for _at, row in found],
                    "hovertemplate": "%{text}: %{x:+.3f}<extra></extra>",
                    "marker": {"color": colour(role), "size": 9, "symbol": "circle" if code == "ahead" else "diamond"},
                    "error_x": {
                        "type": "data", "symmetric": False, "color": colour(role), "thickness": 2,
                        "array": [round(row.high - row.difference, 6) for _at, row in found],
                        "arrayminus": [round(row.difference - row.low, 6) for _at, row in found],
                    },
                }
            )  # fmt: skip
    return figure(
        data, height=min(640, 130 + 30 * len(rows)), showlegend=True,
        xaxis={"title": _("Difference, with 95 % intervals"), "zeroline": True, "zerolinecolor": colour(Role.INK)},
        yaxis={
            "tickmode": "array", "tickvals": list(range(len(rows))),
            "ticktext": [plain(labels(row), 44) for row in rows],
            "range": [len(rows) - 0.5, -0.5], "fixedrange": True,
        },
    )  # fmt: skip


def _sure(row: CompareRow) -> str:
    return "ahead" if row.low > 0 else "behind" if row.high < 0 else "open"
