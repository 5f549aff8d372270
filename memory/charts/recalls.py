"""What was recalled when: turns against memories as a heat map, in which what was not handed on looks different."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from memory.charts.parts import Figure, Role, colour, figure, plain, room, scale, time_axis
from memory.life_recalls import BELOW, NEAR, RECALLED, Heat, HeatCell

LABEL = 34  # characters of a memory beside its row
LETTERS = 10  # their size
_SCALES = {
    BELOW: scale(Role.BELOW_LOW, Role.BELOW_HIGH),
    NEAR: scale(Role.NEAR_LOW, Role.NEAR_HIGH),
    RECALLED: scale(Role.HEAT_LOW, Role.HEAT_HIGH),
}


def weights_figure(heat: Heat, *, address: Callable[[UUID], str] = lambda recall: "") -> Figure:
    """One map a kind of row, on top of each other; a click on a turn leads to its recall where a column is one turn."""
    names = {BELOW: _("below the floor"), NEAR: _("no room left"), RECALLED: _("recalled")}
    top = max((cell.weight for cell in heat.cells), default=1.0)
    addresses = [address(recall) if recall else "" for recall in heat.recalls]
    data = []
    for what in (BELOW, NEAR, RECALLED):
        cells = [cell for cell in heat.cells if cell.what == what]
        if cells:
            data.append(_map(heat, cells, names[what], _SCALES[what], top, addresses))
    labels = [plain(row.text, LABEL) for row in heat.rows]
    drawn = figure(
        [*data, *(_legend(what, names[what]) for what in (RECALLED, NEAR, BELOW) if len(data) > 1)],
        height=max(260, 90 + 13 * len(heat.rows)), xaxis=time_axis(heat.first, heat.last, _("Turn")),
        yaxis={
            "tickmode": "array", "tickvals": list(range(len(labels))), "ticktext": labels, "fixedrange": True,
            "range": [len(labels) - 0.5, -0.5], "tickfont": {"size": LETTERS, "color": colour(Role.MUTED)},
        },
    )  # fmt: skip
    drawn["layout"]["margin"]["l"] = room(labels, LETTERS)
    return drawn


def _map(
    heat: Heat, cells: Sequence[HeatCell], name: str, colours: list[list[object]], top: float, addresses: Sequence[str]
) -> Figure:
    z: list[list[float | None]] = [[None] * len(heat.columns) for _row in heat.rows]
    for cell in cells:
        z[cell.row][cell.column] = round(cell.weight, 4)
    middle = (heat.width - 1) / 2
    return {
        "type": "heatmap", "name": name, "x": [start + middle for start in heat.columns],
        "y": list(range(len(heat.rows))), "z": z, "zmin": 0, "zmax": round(top, 4), "colorscale": colours,
        "showscale": False, "xgap": 0.5 if heat.exact else 0, "ygap": 1, "hoverongaps": False,
        "meta": {"addresses": list(addresses)},
        "hovertemplate": _("turn %{x}, weight %{z:.4f}") + f"<extra>{name}</extra>",
    }  # fmt: skip


def _legend(what: str, name: str) -> Figure:
    """A heat map has no mark in the legend; a point without a place lends it one."""
    return {
        "type": "scatter", "mode": "markers", "x": [None], "y": [None], "name": name, "hoverinfo": "skip",
        "marker": {"symbol": "square", "size": 11, "color": _SCALES[what][1][1]}, "showlegend": True,
    }  # fmt: skip
