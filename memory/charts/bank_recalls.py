"""Banks: which memories do the work, which are never needed, which were missed, told again or contradicted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from memory.bank_lists import AgainRow, DoubtRow
from memory.bank_recalls import NeverRow, RegretRow, WorkRow
from memory.charts.banks import GAP, Names, bars, counts_axis, date_axis, day, shares_axis
from memory.charts.parts import HUES, SYMBOLS, Figure, Role, colour, figure, plain
from memory.thousands import counted

MOST_MARKS = 200  # of a curve
MOST_LINES = 7
DOUBTS = ("number", "date", "name", "negation", "correction")


def marks_of(rows: Sequence[WorkRow]) -> list[int]:
    """Which rows get a mark on the curve: the first ones each, then at equal distances, and the last."""
    if len(rows) <= MOST_MARKS:
        return list(range(len(rows)))
    first = MOST_MARKS // 4
    step = (len(rows) - first) / (MOST_MARKS - first)
    places = {*range(first), *(first + int(number * step) for number in range(MOST_MARKS - first)), len(rows) - 1}
    return sorted(places)


def work_figure(
    rows: Sequence[WorkRow], shown: Sequence[WorkRow] = (), *, address: Callable[[UUID], str] = lambda memory: ""
) -> Figure:
    """Share of the memories, those with most weight first, against their share of all weight.

    `rows` are ranked; `shown` are those of `marks_of`, with their words where these shall be told.
    """
    marks = marks_of(rows)
    shown = shown or [rows[place] for place in marks]
    n = len(rows)
    curve: Figure = {
        "type": "scatter", "mode": "lines+markers" if n <= 60 else "lines", "name": _("weight"),
        "x": [0.0, *(round((place + 1) / n, 6) for place in marks)], "y": [0.0, *(row.cumulative for row in shown)],
        "customdata": ["", *(address(row.memory) for row in shown)], "text": ["", *map(_worked, shown)],
        "hovertemplate": "%{text}<br>%{x:.1%} → %{y:.1%}<extra></extra>", "fill": "tozeroy",
        "line": {"color": colour(Role.FIRST), "width": 2}, "fillcolor": colour(Role.HEAT_LOW), "marker": {"size": 6},
    }  # fmt: skip
    even: Figure = {
        "type": "scatter", "mode": "lines", "name": _("if all did the same"), "x": [0, 1], "y": [0, 1],
        "line": {"color": colour(Role.MUTED), "width": 1, "dash": "dot"}, "hoverinfo": "skip",
    }  # fmt: skip
    return figure([curve, even], height=340, showlegend=True,
                  xaxis={"title": _("Share of the memories"), "range": [0, 1], "tickformat": ".0%"},
                  yaxis={**shares_axis(_("Share of the weight")), "range": [0, 1.02]})  # fmt: skip


def _worked(row: WorkRow) -> str:
    told = _("recalled %(n)s times, weight %(mass).2f") % counted({"n": row.recalls, "mass": row.mass})
    return f"{plain(row.text)}<br>{told}" if row.text else told


def never_figure(rows: Sequence[NeverRow], *, ages: Names = str) -> Figure:
    """Memories by how long they are in the bank: recalled, and never."""
    x = [ages(row.age) for row in rows]
    data = [
        bars(_("recalled"), x, [row.memories - row.never for row in rows], Role.FIRST),
        bars(_("never recalled"), x, [row.never for row in rows], Role.FIFTH),
    ]
    return figure(data, height=300, barmode="stack", bargap=GAP, showlegend=True,
                  xaxis={"title": _("In the bank for"), "type": "category", "fixedrange": True},
                  yaxis=counts_axis(_("Memories")))  # fmt: skip


def regret_figure(rows: Sequence[RegretRow]) -> Figure:
    """The share of what left that a later cue would have recalled, over time: a line a policy and adapter."""
    found: dict[tuple[str, str], list[RegretRow]] = defaultdict(list)
    for row in rows:
        found[row.policy, row.adapter].append(row)
    most = sorted(found, key=lambda key: (-sum(row.left for row in found[key]), key))[:MOST_LINES]
    return figure(
        [_regret(found[key], key, place) for place, key in enumerate(most)], height=320, showlegend=True,
        xaxis=date_axis(row.at for row in rows), yaxis=shares_axis(_("Missed of what left")),
    )  # fmt: skip


def _regret(rows: Sequence[RegretRow], key: tuple[str, str], place: int) -> Figure:
    name = plain(" · ".join(part for part in key if part))
    told = _("%(missed)s of %(left)s missed, %(again)s said again")
    return {
        "type": "scatter", "mode": "lines+markers", "name": name, "x": [day(row.at) for row in rows],
        "y": [row.share for row in rows], "line": {"color": colour(HUES[place]), "width": 2},
        "marker": {"symbol": SYMBOLS[place], "size": [round(min(18, 6 + row.left**0.5), 2) for row in rows]},
        "text": [told % counted({"missed": row.missed, "left": row.left, "again": row.said_again}) for row in rows],
        "hovertemplate": f"%{{x}}: %{{y:.1%}} · %{{text}}<extra>{name}</extra>",
    }  # fmt: skip


def again_figure(rows: Sequence[AgainRow]) -> Figure:
    """How many memories were told twice, three times …"""
    counts = Counter(min(row.times, 6) for row in rows)
    x = [str(times) if times < 6 else _("6 and more") for times in range(2, 7)]
    told = bars(_("memories"), x, [counts[times] for times in range(2, 7)], Role.FIRST)
    return figure([told], height=240, bargap=GAP,
                  xaxis={"title": _("Told how often"), "type": "category", "fixedrange": True},
                  yaxis=counts_axis(_("Memories")))  # fmt: skip


def doubts_figure(rows: Sequence[DoubtRow], *, names: Names = str) -> Figure:
    """Contradictions by what differs: those that somebody looked at, and those that are open."""
    whats = [what for what in DOUBTS if any(row.what == what for row in rows)]
    x = [names(what) for what in whats]
    data = [
        bars(name, x, [sum(row.what == what and row.settled is settled for row in rows) for what in whats], hue)
        for name, settled, hue in ((_("open"), False, Role.SECOND), (_("looked at"), True, Role.THIRD))
    ]
    return figure(data, height=260, barmode="stack", bargap=GAP, showlegend=True,
                  xaxis={"title": _("What differs"), "type": "category", "fixedrange": True},
                  yaxis=counts_axis(_("Memories")))  # fmt: skip
