"""What all figures share: colours by the role that they play, and the frame of a plot.

A figure names no colour. It says `role:accent`, and the script that draws it reads the colour from the site's tokens
(`--figure-accent` in static/site/figures.css), which have a light and a dark one: a figure is redrawn, not asked for
anew, when the theme changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any
from unicodedata import east_asian_width

Figure = dict[str, Any]
EXCERPT = 80  # characters of a memory that a mark shows when it is pointed at


class Role(StrEnum):
    """What a colour is for. Each has a token of its name in figures.css; the eight hues are Okabe and Ito's."""

    INK = "ink"
    MUTED = "muted"
    GRID = "grid"
    SURFACE = "surface"
    ACCENT = "accent"
    MEMORY = "memory"
    OUTLINE = "outline"
    HEAT_LOW = "heat-low"
    HEAT_HIGH = "heat-high"
    NEAR_LOW = "near-low"
    NEAR_HIGH = "near-high"
    BELOW_LOW = "below-low"
    BELOW_HIGH = "below-high"
    FIRST = "hue-1"
    SECOND = "hue-2"
    THIRD = "hue-3"
    FOURTH = "hue-4"
    FIFTH = "hue-5"
    SIXTH = "hue-6"
    SEVENTH = "hue-7"


HUES = (Role.FIRST, Role.SECOND, Role.THIRD, Role.FOURTH, Role.FIFTH, Role.SIXTH, Role.SEVENTH)
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star")  # beside the hue, for who sees none


def colour(role: Role) -> str:
    """How a figure names the colour of a role."""
    return f"role:{role.value}"


def faded(role: Role, percent: int) -> str:
    """The same, so much of it that what lies behind is seen."""
    return f"{colour(role)}/{percent}"


def scale(low: Role, high: Role) -> list[list[Any]]:
    """A colour scale from one role to another."""
    return [[0.0, colour(low)], [1.0, colour(high)]]


def figure(data: Sequence[Mapping[str, Any]], **layout: Any) -> Figure:
    """A figure with the frame that all share; `layout` adds to it, one level deep for the axes."""
    axis = {
        "gridcolor": colour(Role.GRID), "linecolor": colour(Role.GRID), "zeroline": False,
        "tickfont": {"color": colour(Role.MUTED), "size": 11}, "automargin": True,
        "title": {"font": {"color": colour(Role.MUTED), "size": 12}},
    }  # fmt: skip
    upright = {**axis, "ticklabeloverflow": "allow"}  # to look for labels that stick out, each is measured once more
    frame: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "showlegend": len(data) > 1,
        "font": {"color": colour(Role.INK), "size": 12},
        # room for what most axes say: where labels need more, all is drawn a second time
        "margin": {"l": 60, "r": 28, "t": 8, "b": 44}, "dragmode": "zoom", "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": colour(Role.SURFACE), "bordercolor": colour(Role.GRID), "font": {"color": colour(Role.INK)},
            "align": "left",
        },
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 11}},
        "xaxis": dict(axis), "yaxis": upright,
    }  # fmt: skip
    for name, value in layout.items():
        if name.startswith("xaxis"):
            frame[name] = _axis(axis, value)
        elif name.startswith("yaxis"):
            frame[name] = _axis(upright, value)
        else:
            frame[name] = value
    return {"data": [dict(trace) for trace in data], "layout": frame}


def _axis(base: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    told = dict(told)
    if isinstance(told.get("title"), str):
        told["title"] = {**base["title"], "text": told["title"]}
    return {**base, **told}


def time_axis(first: int, last: int, title: str) -> dict[str, Any]:
    """The axis that the figures of one conversation share: numbers of turns, from `first` to `last`."""
    return {"title": title, "range": [first - 0.5, last + 0.5], "tickformat": ",d", "dtick": _step(last - first + 1)}


def _step(turns: int) -> int:
    """Whole turns between two ticks, about eight of them."""
    rough = max(1.0, turns / 8)
    power = 10 ** math.floor(math.log10(rough))
    return int(max(1, next(n * power for n in (1, 2, 5, 10) if n * power >= rough)))


def room(labels: Sequence[str], size: int) -> int:
    """Pixels that labels of letters so large take beside an axis, and rather some too many."""
    letters = (sum(2 if east_asian_width(one) in "WF" else 1 for one in label) for label in labels)
    return 16 + math.ceil(0.6 * size * max(letters, default=0))


def bars(rows: Sequence[Any], score: Callable[[Any], float], role: Role) -> dict[str, Any]:
    """Error bars from each row's `low` to its `high` around its score; none for a row without."""
    known = [(score(row), row.low, row.high) if row.low is not None else (0.0, 0.0, 0.0) for row in rows]
    return {
        "type": "data", "symmetric": False, "visible": True, "color": faded(role, 40), "thickness": 1, "width": 0,
        "array": [round(high - middle, 4) for middle, _low, high in known],
        "arrayminus": [round(middle - low, 4) for middle, low, _high in known],
    }  # fmt: skip


def plain(text: str, most: int = EXCERPT) -> str:
    """Words of a memory for a mark: short, on one line, and with nothing that Plotly reads as its markup."""
    return plain_line(text, most).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain_line(text: str, most: int = EXCERPT) -> str:
    """Words on one line, at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
