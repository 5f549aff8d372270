"""Banks: what they are made of, how full they were, what came and what left, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from memory.bank_lists import ConversationRow
from memory.bank_past import AGES, BankRow, CompositionRow, FullnessRow, LeavingRow, TurnoverRow
from memory.charts.importance import GROUPS
from memory.charts.parts import HUES, SYMBOLS, Figure, Role, colour, figure, plain
from memory.charts.spans import REASONS, hue_of

MOST_POINTS = 500  # of one line
MOST_LINES = 7  # one a hue
MOST_BARS = 40  # banks beside each other
ROOM = timedelta(hours=12)
STEPS = {"hour": 3_600_000, "day": 86_400_000, "week": 604_800_000}  # milliseconds
GAP = 0.45  # between bars of kinds
BAR = 0.84  # of a step
MOST_CONVERSATIONS, MOST_LETTERS = 15, 28

Names = Callable[[str], str]
Address = Callable[[Any], str]


def day(at: datetime) -> str:
    """An instant as an axis of dates reads it: in the zone that the row is in, without naming it."""
    return f"{at:%Y-%m-%d %H:%M}"


def date_axis(at: Iterable[datetime] = ()) -> dict[str, Any]:
    """The axis of the figures whose time is the calendar's, with room around a single instant."""
    hours, days = [None, 86_399_999], [86_400_000, None]  # milliseconds between two ticks
    stops = [{"dtickrange": hours, "value": "%H:%M\n%e %b"}, {"dtickrange": days, "value": "%e %b\n%Y"}]
    axis: dict[str, Any] = {"type": "date", "title": "", "tickformatstops": stops}
    found = set(at)
    if len(found) == 1:
        (only,) = found
        axis["range"] = [day(only - ROOM), day(only + ROOM)]
    return axis


def counts_axis(title: str) -> dict[str, Any]:
    """An axis of how many."""
    return {"title": title, "rangemode": "tozero", "fixedrange": True, "tickformat": ",d"}


def shares_axis(title: str) -> dict[str, Any]:
    """An axis of shares."""
    return {"title": title, "rangemode": "tozero", "fixedrange": True, "tickformat": ".0%"}


def bars(name: str, x: Sequence[Any], y: Sequence[Any], hue: Role | str, **more: Any) -> Figure:
    """A trace of bars."""
    shown = colour(hue) if isinstance(hue, Role) else hue
    return {
        "type": "bar", "name": name, "x": list(x), "y": list(y), "marker": {"color": shown, "line": {"width": 0}},
        "hovertemplate": f"%{{x}}: %{{y}}<extra>{plain(name)}</extra>", **more,
    }  # fmt: skip


def composition_figure(rows: Sequence[CompositionRow], *, ages: Names = str, names: Names = str) -> Figure:
    """Memories by age, stacked by who said them."""
    found = {(row.age, row.group): row.memories for row in rows}
    there = [age for age, _end in AGES if any(row.age == age for row in rows)]
    groups = sorted({row.group for row in rows}, key=lambda name: (_place(name), name))
    data = [
        bars(names(group), [ages(age) for age in there], [found.get((age, group), 0) for age in there],
             HUES[_place(group) % len(HUES)])
        for group in groups
    ]  # fmt: skip
    return figure(data, height=320, barmode="stack", bargap=GAP, showlegend=True,
                  xaxis={"title": _("Said so long ago"), "type": "category", "fixedrange": True},
                  yaxis=counts_axis(_("Memories")))  # fmt: skip


def _place(group: str) -> int:
    return GROUPS.index(group) if group in GROUPS else len(GROUPS)


def fullness_figure(rows: Sequence[FullnessRow], *, names: Mapping[UUID, str]) -> Figure:
    """Shares of the budget over time: memories and tokens of one bank, or a line a bank, of the fullest."""
    banks: dict[UUID, list[FullnessRow]] = defaultdict(list)
    for row in rows:
        banks[row.bank].append(row)
    if len(banks) == 1:
        (found,) = banks.values()
        data = [_line(_("memories"), found, "most", 0), _line(_("tokens"), found, "tokens_most", 1)]
    else:
        fullest = sorted(banks, key=lambda bank: (-max(row.most for row in banks[bank]), str(bank)))[:MOST_LINES]
        data = [_line(names.get(bank, ""), banks[bank], "most", place) for place, bank in enumerate(fullest)]
    return figure(data, height=300, hovermode="x", showlegend=True, xaxis=date_axis(row.at for row in rows),
                  yaxis=shares_axis(_("Share of the budget")))  # fmt: skip


def _line(name: str, rows: Sequence[FullnessRow], field: str, place: int) -> Figure:
    width = max(1, -(-len(rows) // MOST_POINTS))
    bins = [rows[start : start + width] for start in range(0, len(rows), width)]
    fullest = [max(some, key=lambda row: float(getattr(row, field))) for some in bins]
    many = len(fullest) > 40
    return {
        "type": "scatter", "mode": "lines" if many else "lines+markers", "name": plain(name),
        "x": [day(row.at) for row in fullest], "y": [getattr(row, field) for row in fullest],
        "line": {"color": colour(HUES[place]), "width": 2, "dash": ("solid", "dot", "dash", "dashdot")[place % 4]},
        "marker": {"symbol": SYMBOLS[place], "size": 7},
        "text": [_filled(row) for row in fullest],
        "hovertemplate": f"%{{y:.0%}} · %{{text}}<extra>{plain(name)}</extra>",
    }  # fmt: skip


def _filled(row: FullnessRow) -> str:
    told = _("at the end %(memories)s of %(most)s memories, %(tokens)s of %(most_tokens)s tokens")
    return told % {"memories": row.memories, "most": row.budget_memories, "tokens": row.tokens,
                   "most_tokens": row.budget_tokens}  # fmt: skip


def turnover_figure(rows: Sequence[TurnoverRow], step: str = "day") -> Figure:
    """What came above the line, what left below it; a bar a step."""
    x = [day(row.at) for row in rows]
    parts = (
        (_("written"), "written", 1, Role.FIRST), (_("came back"), "back", 1, Role.THIRD),
        (_("left for room"), "evicted", -1, Role.SECOND), (_("merged"), "merged", -1, Role.FIFTH),
        (_("left otherwise"), "gone", -1, Role.FOURTH),
    )  # fmt: skip
    data = [
        bars(name, x, [sign * getattr(row, field) for row in rows], hue,
             customdata=[getattr(row, field) for row in rows], width=[BAR * STEPS[step]] * len(x), offset=0,
             hovertemplate=f"%{{x}}: %{{customdata}}<extra>{name}</extra>")
        for name, field, sign, hue in parts
        if any(getattr(row, field) for row in rows)
    ]  # fmt: skip
    return figure(data, height=320, barmode="relative", showlegend=True, xaxis=date_axis(row.at for row in rows),
                  yaxis={"title": _("Left · came"), "fixedrange": True, "tickformat": ",d", "zeroline": True,
                         "zerolinecolor": colour(Role.MUTED)})  # fmt: skip


def leaving_figure(rows: Sequence[LeavingRow], *, names: Names = str, address: Address = lambda reason: "") -> Figure:
    """How many left for each reason, stacked by the policy that chose them; a bar leads to its rows."""
    counts = Counter((row.reason, row.policy) for row in rows)
    reasons = [reason for reason in REASONS if any(reason == one for one, _policy in counts)]
    reasons += sorted({reason for reason, _policy in counts} - set(reasons))
    policies = sorted({policy for _reason, policy in counts})
    shades = [1.0, 0.7, 0.5, 0.35]
    data: list[Figure] = [
        {
            "type": "bar", "orientation": "h", "name": plain(policy or _("no policy")),
            "y": [names(reason) for reason in reasons], "x": [counts[reason, policy] for reason in reasons],
            "customdata": [address(reason) for reason in reasons],
            "hovertemplate": f"%{{y}}: %{{x}}<extra>{plain(policy or _('no policy'))}</extra>",
            "marker": {
                "color": [hue_of(reason) for reason in reasons], "opacity": shades[place % len(shades)],
                "line": {"width": 1, "color": colour(Role.SURFACE)},
            },
        }
        for place, policy in enumerate(policies)
    ]  # fmt: skip
    return figure(data, height=max(200, 90 + 44 * len(reasons)), barmode="stack", bargap=GAP, showlegend=False,
                  xaxis=counts_axis(_("Memories")),
                  yaxis={"autorange": "reversed", "fixedrange": True, "showgrid": False})  # fmt: skip


def beside_figure(rows: Sequence[BankRow], *, names: Mapping[UUID, str], address: Address = lambda bank: "") -> Figure:
    """How full each bank is now, in memories and in tokens; a bar leads to its bank."""
    shown = rows[:MOST_BARS]
    y = [plain(names.get(row.bank, row.name)) for row in shown]
    tokens = [round(row.tokens / row.budget_tokens, 6) if row.budget_tokens else 0.0 for row in shown]
    data: list[Figure] = [
        {
            "type": "bar", "orientation": "h", "name": name, "y": y, "x": x,
            "customdata": [address(row.bank) for row in shown],
            "hovertemplate": f"%{{y}}: %{{x:.0%}}<extra>{name}</extra>",
            "marker": {"color": colour(hue), "line": {"width": 0}},
        }
        for name, x, hue in (
            (_("memories"), [row.share for row in shown], Role.FIRST), (_("tokens"), tokens, Role.SECOND)
        )
    ]  # fmt: skip
    return figure(data, height=max(200, 80 + 46 * len(shown)), barmode="group", showlegend=True,
                  xaxis=shares_axis(_("Share of the budget")),
                  yaxis={"autorange": "reversed", "fixedrange": True, "showgrid": False})  # fmt: skip


def conversations_figure(
    rows: Sequence[ConversationRow], *, untitled: str = "–", address: Address = lambda conversation: ""
) -> Figure:
    """What the bank holds of each of its latest conversations, and what of it lies in the archive."""
    shown = rows[:MOST_CONVERSATIONS]
    data = [
        {
            "type": "bar", "orientation": "h", "name": name, "y": list(range(len(shown))),
            "x": [getattr(row, field) for row in shown], "customdata": [address(row.conversation) for row in shown],
            "text": [plain(row.title) or untitled for row in shown], "textposition": "none",
            "hovertemplate": f"%{{text}}: %{{x}}<extra>{name}</extra>",
            "marker": {"color": colour(hue), "line": {"width": 0}},
        }
        for name, field, hue in ((_("in the bank"), "held", Role.FIRST), (_("in the archive"), "archived", Role.FIFTH))
    ]  # fmt: skip
    labels = [plain(row.title, MOST_LETTERS) or untitled for row in shown]
    return figure(data, height=max(200, 90 + 26 * len(shown)), barmode="stack", bargap=GAP, showlegend=True,
                  xaxis=counts_axis(_("Memories")),
                  yaxis={"autorange": "reversed", "fixedrange": True, "showgrid": False,
                         "tickvals": list(range(len(shown))), "ticktext": labels})  # fmt: skip
