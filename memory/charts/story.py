"""One memory: its score by adapter, the weight it had in each recall, and where it was when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from uuid import UUID

from django.utils.translation import gettext as _

from memory.charts.parts import HUES, SYMBOLS, Figure, Role, bars, colour, figure
from memory.charts.spans import HELD, hue_of
from memory.charts.why import WHAT
from memory.story import PartRow, ScoreRow, Stretch

Names = Callable[[str], str]
_HUES = (Role.FIRST, Role.SECOND, Role.MUTED)
_THICK = 22
MOST_POINTS = 2_000  # recalls in a figure: the last ones


def local(at: datetime, zone: tzinfo) -> str:
    """An instant as Plotly's axis of time takes it: the clock of `zone`."""
    return at.astimezone(zone).replace(tzinfo=None).isoformat(timespec="milliseconds")


def scores_figure(rows: Sequence[ScoreRow], now: datetime, zone: tzinfo, *, label: float | None = None) -> Figure:
    """A step an adapter: its score from when it gave it until the next. What was judged is a dotted line."""
    ends = [*(row.at for row in rows[1:]), now]
    adapters = list(dict.fromkeys(row.adapter for row in rows))
    data = []
    for number, adapter in enumerate(adapters):
        own = [(row, end) for row, end in zip(rows, ends, strict=True) if row.adapter == adapter]
        data.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": adapter,
                "x": [x for row, end in own for x in (local(row.at, zone), local(end, zone), None)],
                "y": [y for row, _end in own for y in (row.importance, row.importance, None)],
                "line": {"color": colour(HUES[number % len(HUES)]), "width": 2.5},
                "error_y": _at_the_beginning(bars([row for row, _end in own], _importance, HUES[number % len(HUES)])),
                "marker": {"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 9},
                "hovertemplate": f"%{{y:.3f}}, %{{x|%Y-%m-%d %H:%M}}<extra>{adapter}</extra>",
            }
        )  # fmt: skip
    if label is not None and rows:
        data.append(
            {"type": "scatter", "mode": "lines", "name": _("judged"), "y": [label, label],
             "x": [local(rows[0].at, zone), local(now, zone)],
             "line": {"color": colour(Role.OUTLINE), "width": 1.5, "dash": "dot"},
             "hovertemplate": _("judged %{y:.2f}") + "<extra></extra>"}
        )  # fmt: skip
    return figure(
        data, height=280, showlegend=True, xaxis={"type": "date", "fixedrange": True},
        yaxis={"title": _("Importance"), "range": [-0.02, 1.02], "fixedrange": True},
    )  # fmt: skip


def _importance(row: ScoreRow) -> float:
    return row.importance


def _at_the_beginning(error: Figure) -> Figure:
    """Bars of steps: each stands where its step begins, of whose three points it is the first."""
    spread = {name: [y for bar in error[name] for y in (bar, 0, 0)] for name in ("array", "arrayminus")}
    return {**error, **spread, "thickness": 2, "width": 5}


def parts_figure(
    rows: Sequence[PartRow], zone: tzinfo, *, whats: Names = str, address: Callable[[UUID], str] = lambda recall: ""
) -> Figure:
    """The memory's weight in each recall that it took part in; a click opens that recall."""
    data = []
    for number, what in enumerate(WHAT):
        found = [row for row in rows[-MOST_POINTS:] if row.what == what]
        if found:
            data.append(
                {
                    "type": "scatter", "mode": "markers", "name": whats(what),
                    "x": [local(row.at, zone) for row in found], "y": [row.weight for row in found],
                    "customdata": [address(row.recall) for row in found], "text": [_told(row) for row in found],
                    "hovertemplate": "%{text}<extra></extra>",
                    "marker": {
                        "symbol": SYMBOLS[number], "size": 10, "color": colour(_HUES[number]),
                        "line": {"width": [2 if row.cited else 0 for row in found], "color": colour(Role.OUTLINE)},
                    },
                }
            )  # fmt: skip
    return figure(
        data, height=280, showlegend=True, xaxis={"type": "date"},
        yaxis={"title": _("Weight"), "rangemode": "tozero", "fixedrange": True},
    )  # fmt: skip


def _told(row: PartRow) -> str:
    told = _("turn %(turn)d, rank %(rank)d, weight %(weight).4f, fit %(fit).3f") % {
        "turn": row.turn, "rank": row.rank, "weight": row.weight, "fit": row.fit,
    }  # fmt: skip
    return f"{told}, {_('cited')}" if row.cited else told


def stretches_figure(
    rows: Sequence[Stretch], now: datetime, zone: tzinfo, *, names: Names = str, words: Names = str
) -> Figure:
    """Where the memory was when: one bar along time, coloured by place and reason."""
    data, told = [], set()
    for row in rows:
        place = HELD if row.state == HELD else row.reason or row.state
        name = words(row.state) if not row.reason else f"{words(row.state)}: {names(row.reason)}"
        data.append(
            {
                "type": "scatter", "mode": "lines", "name": name, "legendgroup": name, "showlegend": name not in told,
                "x": [local(row.came, zone), local(row.left or now, zone)], "y": [0, 0],
                "line": {"color": hue_of(place), "width": _THICK},
                "hovertemplate": f"{name}, %{{x|%Y-%m-%d %H:%M}}<extra></extra>",
            }
        )  # fmt: skip
        told.add(name)
    return figure(
        data, height=170, showlegend=True, xaxis={"type": "date", "fixedrange": True},
        yaxis={"showticklabels": False, "fixedrange": True, "range": [-1, 1], "showgrid": False},
    )  # fmt: skip
