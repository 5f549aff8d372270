"""The policy lab: evidence kept and regret against the budget, a line a policy and adapter; and what was missed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.utils.translation import gettext as _

from memory.charts.parts import HUES, SYMBOLS, Figure, Role, colour, figure, plain
from memory.lab import CurveRow, MissedRow
from memory.thousands import counted

DASHES = ("solid", "dot", "dash", "dashdot")  # one an adapter
MOST_MARKS = 400

Names = Callable[[str], str]


def curves_figure(
    rows: Sequence[CurveRow], of: str, title: str, *, names: Names = str,
    address: Callable[[CurveRow], str] = lambda row: "",
) -> Figure:  # fmt: skip
    """The field `of` of the rows (0..1) against the share of what was told that there is room for."""
    policies = list(dict.fromkeys(row.policy for row in rows))
    adapters = list(dict.fromkeys(row.adapter for row in rows))
    data = []
    for adapter in adapters:
        for policy in policies:
            line = [row for row in rows if (row.policy, row.adapter) == (policy, adapter)]
            if line:
                at = (policies.index(policy), adapters.index(adapter))
                name = f"{policy} · {names(adapter)}" if len(adapters) > 1 else policy
                data.append(_line(line, of, name, at, address))
    return figure(
        data, height=360, hovermode="closest", showlegend=True,
        xaxis={"title": _("Budget, as a share of all that was told"), "tickformat": ".0%", "rangemode": "tozero"},
        yaxis={"title": title, "tickformat": ".0%", "rangemode": "tozero"},
    )  # fmt: skip


def _line(
    rows: Sequence[CurveRow], of: str, name: str, at: tuple[int, int], address: Callable[[CurveRow], str]
) -> dict[str, Any]:
    hue = colour(HUES[at[0] % len(HUES)])
    return {
        "type": "scatter", "mode": "lines+markers", "name": name, "x": [row.share for row in rows],
        "y": [getattr(row, of) for row in rows], "customdata": [address(row) for row in rows],
        "text": [_told(row) for row in rows], "hovertemplate": f"<b>{plain(name)}</b><br>%{{y:.1%}}<br>%{{text}}"
        "<extra></extra>",
        "line": {"color": hue, "width": 2, "dash": DASHES[at[1] % len(DASHES)]},
        "marker": {"color": hue, "size": 8, "symbol": SYMBOLS[at[0] % len(SYMBOLS)]},
    }  # fmt: skip


def _told(row: CurveRow) -> str:
    return _("room for %(memories)s of %(told)s (%(budget)s) · %(kept)s of %(recalled)s kept") % counted({
        "memories": row.memories, "told": row.told, "budget": row.budget, "kept": row.kept, "recalled": row.recalled,
    })  # fmt: skip


def missed_figure(rows: Sequence[MissedRow], *, address: Callable[[MissedRow], str] = lambda row: "") -> Figure:
    """The heaviest missed memories: the turn at which each left against the first turn that missed it, by policy."""
    shown = rows[:MOST_MARKS]
    policies = list(dict.fromkeys(sorted(row.policy for row in rows)))
    top = max((row.weight for row in shown), default=1.0) or 1.0
    data = []
    for place, policy in enumerate(policies):
        found = [row for row in shown if row.policy == policy]
        if found:
            data.append(
                {
                    "type": "scatter", "mode": "markers", "name": policy, "x": [row.left for row in found],
                    "y": [row.missed for row in found], "customdata": [address(row) for row in found],
                    "text": [plain(row.text) or "–" for row in found],
                    "hovertemplate": _("left at turn %{x}, missed at turn %{y}") + "<br>%{text}<extra></extra>",
                    "marker": {
                        "color": colour(HUES[place % len(HUES)]), "symbol": SYMBOLS[place % len(SYMBOLS)],
                        "size": [round(6 + 10 * (row.weight / top) ** 0.5, 1) for row in found], "opacity": 0.75,
                        "line": {"width": 0.5, "color": colour(Role.SURFACE)},
                    },
                }
            )  # fmt: skip
    return figure(
        data, height=340, showlegend=True, xaxis={"title": _("Turn at which it left"), "rangemode": "tozero"},
        yaxis={"title": _("First turn that missed it"), "rangemode": "tozero"},
    )  # fmt: skip
