"""One recall: what each signal added to each candidate, how candidates stand to the floor, and a second reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from memory.charts.parts import HUES, SYMBOLS, Figure, Role, colour, figure, plain
from memory.life_recalls import BELOW, NEAR, RECALLED
from memory.rereading import RereadRow
from memory.why import contributions_of

Address = Callable[[UUID], str]
Names = Callable[[str], str]

MOST_SIGNALS = 6  # each with a hue that no other comes near; the rest of the sum is one bar
LABEL = 40  # characters of a memory beside its bars
OTHERS = "others"
BAR = 26  # pixels a memory
WHAT = (RECALLED, NEAR, BELOW)
_SYMBOLS = {RECALLED: "diamond", NEAR: "diamond-open", BELOW: "x-thin-open"}
_HUES = {RECALLED: Role.FIRST, NEAR: Role.SECOND, BELOW: Role.MUTED}


def contributions_figure(
    rows: Sequence[Any], *, names: Names = str, whats: Names = str, address: Address = lambda memory: ""
) -> Figure:
    """A bar a candidate, stacked of what each signal added or took; the mark is their sum, the logit."""
    parts = [contributions_of(row) for row in rows]
    mass = Counter[str]()
    for one in parts:
        mass.update({name: abs(value) for name, value in one.items()})
    chosen = [name for name, _mass in sorted(mass.items(), key=lambda one: (-one[1], one[0]))][:MOST_SIGNALS]
    places = list(range(len(rows)))
    addresses = [address(row.memory) for row in rows]
    data = [
        _bars(names(name), HUES[number], places, [one.get(name, 0.0) for one in parts], addresses)
        for number, name in enumerate(chosen)
    ]
    rest = [sum(value for name, value in one.items() if name not in chosen) for one in parts]
    if any(rest):
        data.append(_bars(names(OTHERS), Role.MUTED, places, rest, addresses))
    data += [_sums(rows, what, whats(what), addresses) for what in WHAT if any(row.what == what for row in rows)]
    return figure(
        data, height=150 + BAR * len(rows), barmode="relative", bargap=0.3,
        xaxis={"title": _("Logit: the sum of what the signals add"), "zeroline": True, "fixedrange": True,
               "zerolinecolor": colour(Role.OUTLINE)},
        yaxis=_memories_axis([f"{row.rank} · {plain(row.text, LABEL)}" for row in rows]),
    )  # fmt: skip


def _bars(name: str, role: Role, places: Sequence[int], values: Sequence[float], addresses: Sequence[str]) -> Figure:
    return {
        "type": "bar", "orientation": "h", "name": name, "y": list(places), "x": [round(one, 5) for one in values],
        "customdata": list(addresses), "marker": {"color": colour(role), "line": {"width": 0}},
        "hovertemplate": f"{name}: %{{x:+.3f}}<extra></extra>",
    }  # fmt: skip


def _sums(rows: Sequence[Any], what: str, name: str, addresses: Sequence[str]) -> Figure:
    found = [place for place, row in enumerate(rows) if row.what == what]
    return {
        "type": "scatter", "mode": "markers", "name": name, "y": found, "x": [rows[place].logit for place in found],
        "customdata": [addresses[place] for place in found],
        "text": [_told(rows[place]) for place in found], "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "symbol": _SYMBOLS[what], "size": 11, "color": colour(Role.OUTLINE),
            "line": {"width": 2, "color": colour(Role.SURFACE if what == RECALLED else Role.OUTLINE)},
        },
    }  # fmt: skip


def _told(row: Any) -> str:
    numbers = _("logit %(logit).3f, weight %(weight).4f, fit %(fit).3f") % {
        "logit": row.logit, "weight": row.weight, "fit": row.fit,
    }  # fmt: skip
    return f"{plain(row.text)}<br>{numbers}"


def _memories_axis(labels: Sequence[str]) -> Figure:
    return {
        "tickmode": "array", "tickvals": list(range(len(labels))), "ticktext": list(labels), "fixedrange": True,
        "range": [len(labels) - 0.5, -0.5], "showgrid": False,
    }  # fmt: skip


def floor_figure(
    rows: Sequence[Any], floor: float, highly: float, *, whats: Names = str, address: Address = lambda memory: ""
) -> Figure:
    """Fit against weight: what lies left of the floor is not handed on, however much it weighs."""
    data = []
    for number, what in enumerate(WHAT):
        found = [row for row in rows if row.what == what]
        if found:
            data.append(
                {
                    "type": "scatter", "mode": "markers", "name": whats(what), "x": [row.fit for row in found],
                    "y": [row.weight for row in found], "customdata": [address(row.memory) for row in found],
                    "text": [_told(row) for row in found], "hovertemplate": "%{text}<extra></extra>",
                    "marker": {"symbol": SYMBOLS[number], "size": 10, "color": colour(_HUES[what]), "opacity": 0.9},
                    "cliponaxis": False,
                }
            )  # fmt: skip
    return figure(
        data, height=320, showlegend=True, shapes=[_upright(floor, "solid"), _upright(highly, "dash")],
        annotations=[_note(floor, _("floor")), _note(highly, _("highly relevant"))],
        xaxis={"title": _("Fit: how near it is to the cue, in absolute terms")},
        yaxis={"title": _("Weight"), "rangemode": "tozero"},
    )  # fmt: skip


def _upright(at: float, dash: str) -> Figure:
    return {
        "type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": colour(Role.MEMORY), "width": 1.5, "dash": dash},
    }  # fmt: skip


def _note(at: float, text: str) -> Figure:
    return {
        "x": at, "y": 1, "yref": "paper", "yanchor": "top", "xanchor": "left", "showarrow": False, "text": text,
        "font": {"size": 11, "color": colour(Role.MUTED)}, "textangle": 90,
    }  # fmt: skip


def reread_figure(rows: Sequence[RereadRow], *, address: Address = lambda memory: "") -> Figure:
    """Two bars a memory, its weight in either reading; hatched where it was not handed on."""
    addresses = [address(row.memory) for row in rows]
    sides = (
        (_("as it was"), Role.SEVENTH, [(row.weight, row.recalled) for row in rows]),
        (_("read again"), Role.FIRST, [(row.weight_after, row.recalled_after) for row in rows]),
    )
    data = [
        {
            "type": "bar", "orientation": "h", "name": name, "y": list(range(len(rows))),
            "x": [weight for weight, _recalled in found], "customdata": addresses,
            "marker": {
                "color": colour(role), "line": {"width": 1, "color": colour(role)},
                "pattern": {"shape": ["" if recalled else "/" for _weight, recalled in found], "solidity": 0.35,
                            "size": 6, "fgcolor": colour(role)},
            },
            "hovertemplate": f"{name}: %{{x:.4f}}<extra></extra>",
        }
        for name, role, found in sides
    ]  # fmt: skip
    return figure(
        data, height=130 + 36 * len(rows), barmode="group", showlegend=True,
        xaxis={"title": _("Weight; hatched: not handed on"), "rangemode": "tozero", "fixedrange": True},
        yaxis=_memories_axis([plain(row.text, LABEL) for row in rows]),
    )  # fmt: skip
