"""The bank at one moment, beside another: how many memories were where."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from django.utils.translation import gettext as _

from memory.charts.parts import Figure, Role, colour, figure

PINNED, HELD = "pinned", "held"


def moment_figure(
    at: int, counts: Mapping[str, int], against: int | None = None, before: Mapping[str, int] | None = None,
    *, names: Callable[[str], str] = str,
) -> Figure:  # fmt: skip
    """Bars by place; with `against` two for each place, the earlier ask first."""
    places = [place for place in (HELD, PINNED) if counts.get(place) or (before or {}).get(place)]
    places += sorted({*counts, *(before or {})} - {HELD, PINNED})
    told = [names(place) for place in places]
    data = [_bars(_("after turn %(n)d") % {"n": at}, told, [counts.get(one, 0) for one in places], Role.FIRST)]
    if against is not None:
        earlier = [(before or {}).get(one, 0) for one in places]
        data.insert(0, _bars(_("after turn %(n)d") % {"n": against}, told, earlier, Role.SEVENTH))
    return figure(
        data, height=300, barmode="group", xaxis={"type": "category", "fixedrange": True}, showlegend=True,
        yaxis={"title": _("Memories"), "rangemode": "tozero", "fixedrange": True},
    )  # fmt: skip


def _bars(name: str, places: Sequence[str], counts: Sequence[int], role: Role) -> Figure:
    return {
        "type": "bar", "name": name, "x": list(places), "y": list(counts), "text": [f"{one:,}" for one in counts],
        "textposition": "auto", "marker": {"color": colour(role)}, "hovertemplate": "%{x}: %{y}<extra></extra>",
    }  # fmt: skip
