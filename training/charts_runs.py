"""The curves of one run: a line for each kind of conversation or of cue that it learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memory.charts.parts import HUES, SYMBOLS, Figure, colour, figure, time_axis


@dataclass(frozen=True)
class CurveRow:
    """One value of one curve."""

    kind: str  # of conversation, or of cue
    step: int  # from 1
    value: float


def curve_rows(curves: Mapping[str, Sequence[float]], name: str) -> list[CurveRow]:
    """The values of the curves called `name` ("loss", "left_out") that a run has stored, each in the order of steps."""
    rows = []
    for whole, values in curves.items():
        curve, _dot, kind = whole.partition(".")
        if curve == name:
            rows += [CurveRow(kind, step, value) for step, value in enumerate(values, start=1)]
    return rows


def curves_figure(rows: Sequence[CurveRow], *, x: str, y: str, names: Callable[[str], str] = str) -> Figure:
    """Steps against values, a line with marks for each kind."""
    data = []
    for number, kind in enumerate(dict.fromkeys(row.kind for row in rows)):
        own = [row for row in rows if row.kind == kind]
        data.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": names(kind),
                "x": [row.step for row in own], "y": [row.value for row in own],
                "line": {"color": colour(HUES[number % len(HUES)]), "width": 2},
                "marker": {"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 8},
                "hovertemplate": f"%{{x}}: %{{y:.4f}}<extra>{names(kind)}</extra>",
            }
        )  # fmt: skip
    last = max((row.step for row in rows), default=1)
    return figure(
        data, height=280, showlegend=True, xaxis={**time_axis(1, last, x), "fixedrange": True},
        yaxis={"title": y, "fixedrange": True},
    )  # fmt: skip
