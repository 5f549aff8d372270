"""Evictions: each memory's stretches in the bank as bars, or how many left when and why; and the budget in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from memory.charts.parts import HUES, Figure, Role, colour, figure, plain, time_axis
from memory.life import BudgetRow, SpanRow, by_turn

MOST_BARS = 500  # stretches; beyond, counts a bin of turns
MOST_BINS = 200
MOST_POINTS = 500
# Each reason has its hue; what is still in the bank is quiet.
REASONS = ("budget", "threshold", "merged", "withdrawn", "twin", "forgotten", "erased")
_HUES = dict(zip(REASONS, (HUES[1], HUES[4], HUES[2], HUES[3], HUES[5], HUES[6], HUES[6]), strict=True))
HELD = "held"

Address = Callable[[UUID], str]
Names = Callable[[str], str]


def reason_of(row: SpanRow) -> str:
    """Why a stretch ended; "held" where it has not."""
    return row.reason or HELD


def hue_of(reason: str) -> str:
    """The colour of a reason."""
    return colour(Role.FIRST if reason == HELD else _HUES.get(reason, Role.MUTED))


def is_exact(rows: Sequence[SpanRow]) -> bool:
    """Whether every stretch gets a bar of its own."""
    return len(rows) <= MOST_BARS


def spans_figure(
    rows: Sequence[SpanRow], first: int, last: int, *, address: Address = lambda memory: "", names: Names = str
) -> Figure:
    """Bars from written to left or now, by reason, with restores and merges as marks; or counts where they are many."""
    return _bars(rows, first, last, address, names) if is_exact(rows) else _counts(rows, first, last, names)


def _bars(rows: Sequence[SpanRow], first: int, last: int, address: Address, names: Names) -> Figure:
    places = {memory: place for place, memory in enumerate(dict.fromkeys(row.memory for row in rows))}
    reasons = [reason for reason in (HELD, *REASONS) if any(reason_of(row) == reason for row in rows)]
    reasons += sorted({reason_of(row) for row in rows} - set(reasons))
    data = []
    for reason in reasons:
        found = [row for row in rows if reason_of(row) == reason]
        data.append(
            {
                "type": "bar", "orientation": "h", "name": names(reason), "y": [places[row.memory] for row in found],
                "base": [row.came - 0.5 for row in found], "x": [_length(row, last) for row in found],
                "customdata": [address(row.memory) for row in found], "text": [_told(row, names) for row in found],
                "textposition": "none", "hovertemplate": "%{text}<extra></extra>",
                "marker": {"color": hue_of(reason), "line": {"width": 0}}, "width": 0.72,
            }
        )  # fmt: skip
    data += [
        _marks(
            [row for row in rows if row.how != "written"], places, _("came back"), "triangle-right", "came", address
        ),
        _marks([row for row in rows if row.into], places, _("merged"), "diamond", "left", address),
    ]
    return figure(
        [trace for trace in data if trace["y"]], height=min(720, max(280, 90 + 11 * len(places))), barmode="overlay",
        xaxis=time_axis(first, last, _("Turn")),
        yaxis={
            "title": _("Memories, as they were written"), "showticklabels": False, "fixedrange": True,
            "range": [len(places) - 0.5, -0.5], "showgrid": False,
        },
    )  # fmt: skip


def _length(row: SpanRow, last: int) -> float:
    """Turns from the bar's beginning to its end; what came and left at one turn is seen all the same."""
    end = max(last, row.came) + 0.5 if row.left is None else row.left
    return max(0.5, end - (row.came - 0.5))


def _told(row: SpanRow, names: Names) -> str:
    span = _("turn %(came)d to %(left)s") % {"came": row.came, "left": "…" if row.left is None else row.left}
    told = [f"<b>{names(reason_of(row))}</b> · {plain(row.text)}", f"{span} · {row.came_at:%Y-%m-%d %H:%M}"]
    if row.left_at is not None:
        told[-1] += f" – {row.left_at:%Y-%m-%d %H:%M}"
    if row.score is not None:
        told.append(_("ranked at %(score).3f by %(policy)s") % {"score": row.score, "policy": row.policy or "–"})
    return "<br>".join(told)


def _marks(
    rows: Sequence[SpanRow], places: dict[UUID, int], name: str, symbol: str, at: str, address: Address
) -> Figure:
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": [getattr(row, at) for row in rows],
        "y": [places[row.memory] for row in rows], "customdata": [address(row.memory) for row in rows],
        "hovertemplate": f"{name}<extra></extra>",
        "marker": {"symbol": symbol, "size": 9, "color": colour(Role.OUTLINE),
                   "line": {"width": 1, "color": colour(Role.SURFACE)}},
    }  # fmt: skip


def _counts(rows: Sequence[SpanRow], first: int, last: int, names: Names) -> Figure:
    """How many left in each bin of turns, by reason, and how many came back."""
    width = max(1, -(-(last - first + 1) // MOST_BINS))
    gone = [row for row in rows if row.left is not None and first <= row.left <= last]
    bins = by_turn(gone, lambda row: row.left or 0, first, last, MOST_BINS)
    x = [start + (width - 1) / 2 for start, _found in bins]
    counts = [Counter(map(reason_of, found)) for _start, found in bins]
    reasons = [reason for reason in REASONS if any(reason in one for one in counts)]
    reasons += sorted({reason for one in counts for reason in one} - set(reasons))
    data: list[Figure] = [
        {
            "type": "bar", "name": names(reason), "x": x, "y": [one[reason] for one in counts], "width": width,
            "marker": {"color": hue_of(reason), "line": {"width": 0}},
            "hovertemplate": _("turn %{x}: %{y} left") + f"<extra>{names(reason)}</extra>",
        }
        for reason in reasons
    ]  # fmt: skip
    back = [row for row in rows if row.how != "written" and first <= row.came <= last]
    if back:
        returned = by_turn(back, lambda row: row.came, first, last, MOST_BINS)
        data.append(
            {"type": "scatter", "mode": "markers", "name": _("came back"), "x": x,
             "y": [len(found) or None for _start, found in returned],
             "marker": {"symbol": "triangle-up", "size": 8, "color": colour(Role.OUTLINE)}}
        )  # fmt: skip
    return figure(
        data, height=320, barmode="stack", bargap=0, xaxis=time_axis(first, last, _("Turn")), showlegend=True,
        yaxis={"title": _("Memories that left"), "fixedrange": True, "rangemode": "tozero"},
    )  # fmt: skip


def budget_figure(rows: Sequence[BudgetRow], first: int, last: int) -> Figure:
    """Shares of the budget in use after each turn; where turns are many the fullest of each bin."""
    bins = [found for _start, found in by_turn(rows, lambda row: row.turn, first, last, MOST_POINTS) if found]
    data = []
    for name, share, used, of, hue, dash in (
        (_("memories"), "memories_share", "memories", "budget_memories", Role.FIRST, "solid"),
        (_("tokens"), "tokens_share", "tokens", "budget_tokens", Role.SECOND, "dot"),
    ):
        fullest = [max(found, key=lambda row, share=share: getattr(row, share)) for found in bins]  # type: ignore[misc]
        data.append(
            {
                "type": "scatter", "mode": "lines", "name": name, "x": [row.turn for row in fullest],
                "y": [getattr(row, share) for row in fullest], "line": {"color": colour(hue), "width": 2, "dash": dash},
                "text": [f"{getattr(row, used):,} / {getattr(row, of):,}" for row in fullest],
                "hovertemplate": _("turn %{x}: %{text} (%{y:.0%})") + f"<extra>{name}</extra>",
            }
        )  # fmt: skip
    return figure(
        data, height=240, xaxis=time_axis(first, last, _("Turn")), hovermode="x",
        yaxis={"title": _("Share of the budget"), "tickformat": ".0%", "rangemode": "tozero", "fixedrange": True},
    )  # fmt: skip
