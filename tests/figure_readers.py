"""What each figure draws and what its rows tell, in the same terms: two lists that have to be one.

A reader takes a figure as it travels and the rows of its JSON export, and returns both lists. Each route of a figure
has its reader here: `tests/agora_web/pages/test_figures_equal_tables.py` finds those that have none.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from django.test import Client

from memory.charts.banks import day
from memory.charts.story import local
from tests.agora_web.pages.test_recall import exported_by
from tests.memory.charts.test_parts import checked

Figure = dict[str, Any]
Rows = list[dict[str, Any]]
Both = tuple[list[Any], list[Any]]
Reader = Callable[[Figure, Rows], Both]
GUIDES = ("judged",)  # a line across the figure, whose value stands in the sentence


def traces(figure: Figure, kind: str = "", mode: str = "") -> Iterator[Figure]:
    """The traces of this type and mode that say numbers: not what lends a mark to the legend, or guides the eye."""
    for one in figure["data"]:
        shown = one["x"] != [None] and one.get("hoverinfo") != "skip"
        if shown and kind in ("", one["type"]) and mode in ("", one.get("mode")):
            yield one


def marks(found: Iterable[Figure], *fields: str) -> list[Any]:
    """Marks as tuples of these fields of their traces."""
    return [values for one in found for values in zip(*(one[name] for name in fields), strict=True)]


def points(x: str, y: str, digits: int = 6) -> Reader:
    """A mark a row."""

    def read(figure: Figure, rows: Rows) -> Both:
        drawn = [(a, round(b, digits)) for a, b in marks(traces(figure), "x", "y")]
        return drawn, [(row[x], round(row[y], digits)) for row in rows]

    return read


def counted(*fields: str, by: Callable[[dict[str, Any]], Any]) -> Reader:
    """Bars that count the rows, or sum their fields, each standing for those of one name and place."""

    def read(figure: Figure, rows: Rows) -> Both:
        upright = [one for one in traces(figure, "bar") if one.get("orientation") != "h"]
        lying = [one for one in traces(figure, "bar") if one.get("orientation") == "h"]
        drawn = [value for (value,) in [*marks(upright, "y"), *marks(lying, "x")] if value]
        sums: Counter[Any] = Counter()
        for row in rows:
            for name in fields or ("",):
                sums[name, by(row)] += row[name] if name else 1
        return drawn, [value for value in sums.values() if value]

    return read


def importance(figure: Figure, rows: Rows) -> Both:
    """Scores and judgements, and where the bars around a score end."""
    named = {one["name"]: one for one in traces(figure)}
    judged = named.pop("judgement", None)
    drawn: list[Any] = [(x, y) for x, y in marks(named.values(), "x", "y")]
    told: list[Any] = [(row["turn"], round(row["importance"], 4)) for row in rows]
    drawn += [("judged", y) for y in judged["y"]] if judged else []
    told += [("judged", row["label"]) for row in rows if row["label"] is not None]
    for one in named.values():
        error = one["error_y"]
        reach = zip(one["y"], error["array"], error["arrayminus"], strict=True)
        drawn += [(round(y - down, 2), round(y + up, 2)) for y, up, down in reach if up]
    told += [(round(row["low"], 2), round(row["high"], 2)) for row in rows if row["low"] is not None]
    return drawn, told


def calibration(figure: Figure, rows: Rows) -> Both:
    return (
        marks(traces(figure), "x", "y", "text"),
        [(round(row["importance"], 4), round(row["label"], 4), row["memories"]) for row in rows],
    )


def budget(figure: Figure, rows: Rows) -> Both:
    told = []
    for name in ("memories", "tokens"):
        told += [
            (row["turn"], row[f"{name}_share"], f"{row[name]:,} / {row[f'budget_{name}']:,}") for row in rows
        ]  # fmt: skip
    return marks(traces(figure), "x", "y", "text"), told


def spans(figure: Figure, rows: Rows) -> Both:
    """Where each bar begins, and ends where it does."""
    drawn: list[Any] = [(base + 0.5, base + x) for base, x in marks(traces(figure, "bar"), "base", "x")]
    last = int(figure["layout"]["xaxis"]["range"][1] + 0.5) - 1
    told: list[Any] = []
    for row in rows:
        end = max(last, row["came"]) + 0.5 if row["left"] is None else row["left"]
        told.append((row["came"], max(end, row["came"])))
    drawn += [("mark", x) for (x,) in marks(traces(figure, "scatter"), "x")]
    told += [("mark", row["came"]) for row in rows if row["how"] != "written"]
    told += [("mark", row["left"]) for row in rows if row["into"]]
    return drawn, told


def weights(figure: Figure, rows: Rows) -> Both:
    """The cells of the maps, for the memories that they have a row for: those that were recalled at all."""
    drawn = [
        (x, z)
        for one in traces(figure, "heatmap")
        for line in one["z"]
        for x, z in zip(one["x"], line, strict=True)
        if z is not None
    ]
    recalled = {row["memory"] for row in rows if row["what"] == "recalled"}
    return drawn, [(row["turn"], round(row["weight"], 4)) for row in rows if row["memory"] in recalled]


def moment(figure: Figure, rows: Rows) -> Both:
    return counted(by=lambda row: (row["state"], row["pinned"], row["reason"]))(figure, rows)


def contributions(figure: Figure, rows: Rows) -> Both:
    """The bars of a candidate sum up to what its row says that signals added; the mark is its logit."""
    sums: dict[int, float] = {}
    for place, value in marks(traces(figure, "bar"), "y", "x"):
        sums[place] = sums.get(place, 0.0) + value
    drawn: list[Any] = [(place, round(value, 2)) for place, value in sums.items()]
    parts = [
        sum(value for name, value in row.items() if name.startswith("contribution_")) + row["interplay"] for row in rows
    ]
    told: list[Any] = [(place, round(value, 2)) for place, value in enumerate(parts)]
    drawn += [("logit", y, x) for x, y in marks(traces(figure, "scatter"), "x", "y")]
    told += [("logit", place, row["logit"]) for place, row in enumerate(rows)]
    assert [round(value, 1) for value in parts] == [round(row["logit"], 1) for row in rows]
    return drawn, told


def reread(figure: Figure, rows: Rows) -> Both:
    drawn = [(place, value) for place, value in marks(traces(figure), "y", "x")]
    told = [(place, row[name]) for name in ("weight", "weight_after") for place, row in enumerate(rows)]
    return drawn, told


def scores(figure: Figure, rows: Rows) -> Both:
    """Where each step begins, and how far its bar reaches."""
    drawn, told = [], []
    for one in traces(figure, mode="lines+markers"):
        first = slice(0, None, 3)
        error = one["error_y"]
        for x, y, up, down in zip(one["x"][first], one["y"][first], error["array"][first], error["arrayminus"][first],
                                  strict=True):  # fmt: skip
            drawn.append((x[:19], y, round(y - down, 2), round(y + up, 2)))
    for row in rows:
        low, high = (row[name] if row[name] is not None else row["importance"] for name in ("low", "high"))
        told.append((_clock(row["at"])[:19], row["importance"], round(low, 2), round(high, 2)))
    return drawn, told


def parts(figure: Figure, rows: Rows) -> Both:
    return marks(traces(figure), "x", "y"), [(_clock(row["at"]), row["weight"]) for row in rows]


def happened(figure: Figure, rows: Rows) -> Both:
    """Where it was begins with each thing that moved it."""
    drawn = [one["x"][0] for one in traces(figure)]
    moved = ("written", "evicted", "restored", "forgotten", "unforgotten", "merged", "withdrawn")
    return drawn, [_clock(row["at"]) for row in rows if row["what"] in moved]


def _clock(at: str) -> str:
    moment = datetime.fromisoformat(at)
    return local(moment, moment.tzinfo)  # type: ignore[arg-type]


def _day(row: dict[str, Any]) -> str:
    return day(datetime.fromisoformat(row["at"]))


def beside(figure: Figure, rows: Rows) -> Both:
    memories = [row["share"] for row in rows]
    return [x for (x,) in marks(traces(figure), "x")], [
        *memories, *(round(row["tokens"] / row["budget_tokens"], 6) for row in rows)
    ]  # fmt: skip


def fullness(figure: Figure, rows: Rows) -> Both:
    fields = ("most", "tokens_most") if len({row["bank"] for row in rows}) == 1 else ("most",)
    return marks(traces(figure), "x", "y"), [(_day(row), row[name]) for name in fields for row in rows]


def turnover(figure: Figure, rows: Rows) -> Both:
    """What came counts up, what left down."""
    came, left = ("written", "back"), ("evicted", "merged", "gone")
    told = [(_day(row), row[name]) for name in came for row in rows]
    told += [(_day(row), -row[name]) for name in left for row in rows]
    drawn = marks(traces(figure), "x", "y")
    return [one for one in drawn if one[1]], [one for one in told if one[1]]


def regret(figure: Figure, rows: Rows) -> Both:
    return marks(traces(figure), "x", "y"), [(_day(row), row["share"]) for row in rows]


def work(figure: Figure, rows: Rows) -> Both:
    (curve,) = traces(figure)
    told = [(round((place + 1) / len(rows), 6), row["cumulative"]) for place, row in enumerate(rows)]
    return marks([curve], "x", "y"), [(0.0, 0.0), *told]


def never(figure: Figure, rows: Rows) -> Both:
    drawn = [y for (y,) in marks(traces(figure), "y")]
    return drawn, [*(row["memories"] - row["never"] for row in rows), *(row["never"] for row in rows)]


def conversations(figure: Figure, rows: Rows) -> Both:
    drawn = marks(traces(figure), "y", "x")
    return drawn, [(place, row[name]) for name in ("held", "archived") for place, row in enumerate(rows)]


def curve(of: str) -> Reader:
    """A line of the lab: the share of room against the field `of`."""
    return points("share", of)


def lineage(figure: Figure, rows: Rows) -> Both:
    drawn = marks(traces(figure, mode="markers+text"), "text", "x")
    return drawn, [(row["version"], row["generation"]) for row in rows]


def compared(figure: Figure, rows: Rows) -> Both:
    drawn = []
    for one in traces(figure):
        reach = zip(one["y"], one["x"], one["error_x"]["arrayminus"], one["error_x"]["array"], strict=True)
        drawn += [(place, x, round(x - down, 5), round(x + up, 5)) for place, x, down, up in reach]
    told = [
        (place, row["difference"], round(row["low"], 5), round(row["high"], 5)) for place, row in enumerate(rows)
    ]  # fmt: skip
    return drawn, told


def drift(figure: Figure, rows: Rows) -> Both:
    return marks(traces(figure, "bar"), "y", "x"), [(place, row["index"]) for place, row in enumerate(rows)]


def distribution(figure: Figure, rows: Rows) -> Both:
    drawn = [(round(y, 6), n) for y, n in marks(traces(figure), "y", "text")]
    told = [
        (round(100 * row[f"share_{when}"], 6), row[when]) for when in ("then", "now") for row in rows
    ]  # fmt: skip
    return drawn, told


READERS: dict[str, Reader] = {
    "run_loss": points("step", "value"), "run_left_out": points("step", "value"),
    "adapters_lineage": lineage, "adapters_compared": compared, "adapters_drift": drift,
    "adapters_distribution": distribution,
    "life_importance": importance, "life_calibration": calibration, "life_budget": budget, "life_evictions": spans,
    "life_weights": weights, "life_moment": moment,
    "recall_contributions": contributions, "recall_floor": points("fit", "weight"), "recall_reread": reread,
    "memory_scores": scores, "memory_recalls": parts, "memory_happened": happened,
    "banks_beside": beside, "banks_composition": counted("memories", by=lambda row: (row["age"], row["group"])),
    "banks_fullness": fullness, "banks_turnover": turnover,
    "banks_leaving": counted(by=lambda row: (row["reason"], row["policy"])),
    "banks_regret": regret, "banks_work": work, "banks_never": never,
    "banks_again": counted(by=lambda row: min(1 + row["retold"] + row["merged"], 6)),
    "banks_doubts": counted(by=lambda row: (row["what"], row["settled"])),
    "bank_conversations": conversations,
    "lab_evidence": curve("evidence"), "lab_regret": curve("regret"), "lab_missed": points("left", "missed"),
}  # fmt: skip


def reader_of(route: str) -> Reader:
    """The reader of the route `api_…`; a bank's figures are those of all banks."""
    name = route.removeprefix("api_")
    return READERS.get(name) or READERS[name.replace("bank_", "banks_", 1)]


def compare(client: Client, name: str, address: str) -> None:
    """Ask for one figure: its marks, its table and its export have to say the same, and something."""
    answer = client.get(address)
    assert answer.status_code == 200, address
    drawn = answer.json()
    assert drawn["empty"] == "", name
    checked(drawn["figure"])
    rows = json.loads(exported_by(client, address + ("&" if "?" in address else "?") + "format=json"))
    read = reader_of(name)
    marks, told = read(drawn["figure"], rows)
    assert len(marks) > 0, name
    assert in_order(marks) == in_order(told), name
    for number, one in enumerate(drawn["figure"]["data"]):
        if one["name"] not in GUIDES and any(one is shown for shown in traces(drawn["figure"])):
            assert notices(read, drawn["figure"], rows, number), (name, one["name"])
    assert drawn["table"]["total"] == len(rows)
    for place, column in enumerate(drawn["table"]["columns"]):
        cells = [cell["text"] if isinstance(cell := line[place], dict) else cell for line in drawn["table"]["rows"]]
        if column["kind"] == "number" and column["name"] in rows[0]:
            assert cells == [row[column["name"]] for row in rows[: len(cells)]], (name, column)


def notices(read: Reader, figure: Figure, rows: Rows, number: int) -> bool:
    """Whether the reader would see one other number in this trace."""
    for field in ("x", "y", "z"):
        other = copy.deepcopy(figure)
        values = other["data"][number].get(field) or []
        if changed(values[0] if field == "z" and values else values):
            marks, told = read(other, rows)
            if in_order(marks) != in_order(told):
                return True
    return False


def changed(values: list[Any]) -> bool:
    """Make the first number another one; False where there is none."""
    for place, value in enumerate(values):
        if isinstance(value, int | float):
            values[place] = value + 0.125
            return True
        if isinstance(value, str) and value[:2] == "20":  # an instant
            values[place] = "1999" + value[4:]
            return True
    return False


def in_order(found: list[Any]) -> list[Any]:
    """Marks in an order of their own, whole numbers as what they equal."""
    return sorted((_told(one) for one in found), key=repr)


def _told(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_told, value))
    return float(value) if isinstance(value, int) else value
