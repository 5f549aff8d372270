"""Importance over time: a point a memory, or bands of them where there are too many, and how it fits judgements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean
from uuid import UUID

from django.utils.translation import gettext as _

from memory.charts.parts import HUES, SYMBOLS, Figure, Role, bars, colour, faded, figure, plain, time_axis
from memory.history import AdapterChange
from memory.life import ImportanceRow, by_turn
from memory.life_calibration import CalibrationRow

MOST_POINTS = 1_500  # beyond, a bin a few turns: mean, lowest, highest
MOST_BARS = 400  # beyond, intervals would cover one another and the points: the table has them
MOST_BINS = 250
GROUPS = ("user", "assistant", "tool", "other", "summary", "merged")  # each has a hue and a symbol of its own

Address = Callable[[UUID], str]


def group_of(row: ImportanceRow) -> str:
    """What the colour of a memory says: who spoke, or how it was formed."""
    return row.kind if row.kind != "side" else row.role


def is_exact(rows: Sequence[ImportanceRow]) -> bool:
    """Whether every memory gets a point of its own."""
    return len(rows) <= MOST_POINTS


def importance_figure(
    rows: Sequence[ImportanceRow], first: int, last: int, *, changes: Sequence[tuple[int, AdapterChange]] = (),
    address: Address = lambda memory: "", names: Callable[[str], str] = str,
) -> Figure:  # fmt: skip
    """Turns against importance; what was judged is marked at the judgement, changes of adapter as lines."""
    groups: dict[str, list[ImportanceRow]] = defaultdict(list)
    for row in rows:
        groups[group_of(row)].append(row)
    data = []
    for name in sorted(groups, key=lambda name: (GROUPS.index(name) if name in GROUPS else len(GROUPS), name)):
        number = GROUPS.index(name) if name in GROUPS else len(GROUPS)
        if is_exact(rows):
            data.append(_points(groups[name], number, names(name), address, barred=len(rows) <= MOST_BARS))
        else:
            data += _band(groups[name], number, names(name), first, last)
    if is_exact(rows) and (judged := [row for row in rows if row.label is not None]):
        data.append(_judgements(judged, address))
    return figure(
        data, height=360, xaxis=time_axis(first, last, _("Turn")),
        yaxis={"title": _("Importance"), "range": [-0.02, 1.02], "fixedrange": True},
        shapes=[_line(turn) for turn, _change in changes], annotations=[_note(turn, one) for turn, one in changes],
    )  # fmt: skip


def _points(rows: Sequence[ImportanceRow], number: int, name: str, address: Address, *, barred: bool) -> Figure:
    error = {"error_y": bars(rows, lambda row: row.importance, HUES[number % len(HUES)])} if barred else {}
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": [row.turn for row in rows],
        "y": [round(row.importance, 4) for row in rows], "customdata": [address(row.memory) for row in rows],
        "text": [_told(row) for row in rows], "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "color": colour(HUES[number % len(HUES)]), "symbol": SYMBOLS[number % len(SYMBOLS)], "size": 8,
            "opacity": [0.9 if row.state == "held" else 0.45 for row in rows],
            "line": {"width": [2 if row.pinned else 0 for row in rows], "color": colour(Role.OUTLINE)},
        },
        **error,
    }  # fmt: skip


def _told(row: ImportanceRow) -> str:
    told = [f"<b>{row.importance:.3f}</b> · {plain(row.text)}", f"{_('Turn')} {row.turn} · {row.at:%Y-%m-%d %H:%M}"]
    if row.first != row.importance:
        told.append(_("%(score).3f when it was written") % {"score": row.first})
    if row.low is not None and row.high is not None:
        told.append(_("one deviation: %(low).2f to %(high).2f") % {"low": row.low, "high": row.high})
    if row.label is not None:
        told.append(_("judged %(value).2f") % {"value": row.label})
    return "<br>".join(told)


def _judgements(rows: Sequence[ImportanceRow], address: Address) -> Figure:
    return {
        "type": "scatter", "mode": "markers", "name": _("judgement"), "x": [row.turn for row in rows],
        "y": [row.label for row in rows], "customdata": [address(row.memory) for row in rows],
        "text": [_told(row) for row in rows], "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "symbol": "circle-open", "size": 13, "color": colour(Role.OUTLINE), "line": {"width": 1.5},
        },
    }  # fmt: skip


def _band(rows: Sequence[ImportanceRow], number: int, name: str, first: int, last: int) -> list[Figure]:
    """Mean, lowest and highest a bin, at the middle of the bin."""
    bins = [(start, found) for start, found in by_turn(rows, lambda row: row.turn, first, last, MOST_BINS) if found]
    width = max(1, -(-(last - first + 1) // MOST_BINS))
    x = [start + (width - 1) / 2 for start, _found in bins]
    scores = [[row.importance for row in found] for _start, found in bins]
    hue, group = colour(HUES[number % len(HUES)]), {"legendgroup": name, "x": x, "type": "scatter", "mode": "lines"}
    edge = {**group, "line": {"width": 0, "color": hue}, "showlegend": False, "hoverinfo": "skip"}
    return [
        {**edge, "y": [round(min(one), 4) for one in scores], "name": f"{name} {_('lowest')}"},
        {**edge, "y": [round(max(one), 4) for one in scores], "name": f"{name} {_('highest')}", "fill": "tonexty",
         "fillcolor": faded(HUES[number % len(HUES)], 18)},
        {**group, "y": [round(fmean(one), 4) for one in scores], "name": name, "line": {"width": 2, "color": hue},
         "customdata": [[None, min(one), max(one), len(one)] for one in scores],
         "hovertemplate": _("turn %{x}: mean %{y:.3f}, %{customdata[1]:.3f} to %{customdata[2]:.3f}, "
                            "%{customdata[3]} memories") + "<extra>" + name + "</extra>"},
    ]  # fmt: skip


def _line(turn: int) -> Figure:
    return {
        "type": "line", "x0": turn - 0.5, "x1": turn - 0.5, "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": colour(Role.MEMORY), "width": 1.5, "dash": "dash"},
    }  # fmt: skip


def _note(turn: int, change: AdapterChange) -> Figure:
    return {
        "x": turn - 0.5, "y": 1, "yref": "paper", "yanchor": "top", "xanchor": "left", "showarrow": False,
        "text": change.adapter or _("shipped"), "font": {"size": 11, "color": colour(Role.MUTED)}, "textangle": 90,
    }  # fmt: skip


def calibration_figure(rows: Sequence[CalibrationRow]) -> Figure:
    """Mean importance against mean judgement, a point a tenth; on the diagonal a score means what it says."""
    return figure(
        [
            {"type": "scatter", "mode": "lines", "x": [0, 1], "y": [0, 1], "name": _("as judged"), "hoverinfo": "skip",
             "line": {"dash": "dot", "color": colour(Role.MUTED), "width": 1.5}},
            {"type": "scatter", "mode": "lines+markers", "name": _("judged memories"),
             "x": [round(row.importance, 4) for row in rows], "y": [round(row.label, 4) for row in rows],
             "marker": {"color": colour(Role.FIRST), "size": [min(26, 7 + 2 * row.memories**0.5) for row in rows]},
             "line": {"color": colour(Role.FIRST), "width": 1}, "text": [row.memories for row in rows],
             "hovertemplate": _("importance %{x:.2f}, judged %{y:.2f}, %{text} memories") + "<extra></extra>"},
        ],
        height=300, xaxis={"title": _("Importance"), "range": [-0.03, 1.03]},
        yaxis={"title": _("Judgement"), "range": [-0.03, 1.03]},
    )  # fmt: skip
