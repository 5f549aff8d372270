"""The figures of drift: how far each feature has moved, and how one lies now beside what was learned from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.utils.translation import gettext as _

from memory.charts.parts import Figure, Role, colour, figure, plain
from training.drift import BinRow, DriftRow
from training.learner.distributions import FAR, MOVED

# A verdict's hue, and the pattern that says the same to who sees none.
VERDICTS = {
    "far": (Role.SECOND, "x"), "moved": (Role.FIRST, "/"), "chance": (Role.MUTED, "."), "still": (Role.MUTED, ""),
}  # fmt: skip
Names = Callable[[str], str]


def drift_figure(rows: Sequence[DriftRow], *, names: Names = str, verdicts: Names = str) -> Figure:
    """The stability index of each feature as a bar, with the two thresholds of the rule of thumb as lines."""
    data = []
    for verdict, (role, pattern) in VERDICTS.items():
        found = [(at, row) for at, row in enumerate(rows) if row.verdict == verdict]
        if found:
            data.append(
                {
                    "type": "bar", "orientation": "h", "name": verdicts(verdict),
                    "x": [row.index for _at, row in found], "y": [at for at, _row in found],
                    "text": [names(row.feature) for _at, row in found], "textposition": "none",
                    "hovertemplate": "%{text}: %{x:.3f}<extra></extra>",
                    "marker": _marker(role, pattern),
                }
            )  # fmt: skip
    most = max((row.index for row in rows), default=0.0)
    return figure(
        data, height=130 + 22 * max(4, len(rows)), showlegend=True, barmode="overlay", bargap=0.3,
        meta={"bars": "named"},  # on a small screen too
        shapes=[_threshold(at) for at in (MOVED, FAR)],
        xaxis={"title": _("Stability index"), "range": [0, max(1.15 * most, 1.2 * FAR)], "fixedrange": True},
        yaxis={
            "tickmode": "array", "tickvals": list(range(len(rows))),
            "ticktext": [plain(names(row.feature), 30) for row in rows],
            "range": [len(rows) - 0.5, -0.5], "fixedrange": True,
        },
    )  # fmt: skip


def _marker(role: Role, pattern: str) -> Figure:
    return {
        "color": colour(role), "pattern": {"shape": pattern, "fillmode": "overlay", "fgcolor": colour(Role.SURFACE)},
    }  # fmt: skip


def _threshold(at: float) -> Figure:
    return {
        "type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": colour(Role.OUTLINE), "width": 1, "dash": "dot"},
    }  # fmt: skip


def bins_figure(rows: Sequence[BinRow], *, spans: Callable[[BinRow], str]) -> Figure:
    """One feature: the share of each bin in what was learned from, and in what was written since."""
    x = [spans(row) for row in rows]
    shares = ((_("learned from"), Role.MUTED, "", [(row.share_then, row.then) for row in rows]),
              (_("written since"), Role.FIRST, "/", [(row.share_now, row.now) for row in rows]))  # fmt: skip
    data = [
        {
            "type": "bar", "name": name, "x": x, "y": [100 * share for share, _n in found],
            "text": [n for _share, n in found], "textposition": "none",
            "hovertemplate": _("%{x}: %{y:.1f} %, %{text} memories") + "<extra>" + name + "</extra>",
            "marker": _marker(role, pattern),
        }
        for name, role, pattern, found in shares
    ]  # fmt: skip
    return figure(
        data, height=300, showlegend=True, barmode="group", bargap=0.2,
        xaxis={"type": "category", "fixedrange": True},
        yaxis={"title": _("Share in %"), "rangemode": "tozero", "fixedrange": True},
    )  # fmt: skip
