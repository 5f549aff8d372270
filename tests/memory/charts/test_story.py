"""Figures of one memory, by value."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from memory.charts.parts import Role, colour
from memory.charts.spans import hue_of
from memory.charts.story import MOST_POINTS, local, parts_figure, scores_figure, stretches_figure
from memory.story import PartRow, ScoreRow, Stretch
from tests.memory.charts.test_parts import checked

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
TOKYO = ZoneInfo("Asia/Tokyo")
ID = UUID(int=7)


def part(number: int, what: str, *, cited: bool = False) -> PartRow:
    return PartRow(
        UUID(int=number), AT + number * DAY, ID, number, 1, number / 10, 0.5, 0.3, 1.5, what, cited, cited, "prior-1"
    )


def test_an_instant_is_drawn_by_the_persons_clock() -> None:
    assert local(AT, TOKYO) == "2026-03-01T21:00:00.000"


def test_a_score_holds_until_the_next_and_the_last_until_now() -> None:
    rows = [
        ScoreRow(1, AT, 0.4, "prior-1", "written", ID, 0.3, 0.6),
        ScoreRow(9, AT + DAY, 0.7, "own-2", "rescored", None),
        ScoreRow(12, AT + 2 * DAY, 0.6, "prior-1", "rescored", None),
    ]
    drawn = scores_figure(rows, AT + 3 * DAY, UTC, label=0.9)
    checked(drawn)
    first, second, judged = drawn["data"]
    assert first["name"] == "prior-1"
    assert first["x"] == [
        "2026-03-01T12:00:00.000", "2026-03-02T12:00:00.000", None,
        "2026-03-03T12:00:00.000", "2026-03-04T12:00:00.000", None,
    ]  # fmt: skip
    assert first["y"] == [0.4, 0.4, None, 0.6, 0.6, None]
    assert second["y"] == [0.7, 0.7, None]
    assert first["error_y"]["array"] == [0.2, 0, 0, 0.0, 0, 0]  # where its step begins, and where it has an interval
    assert first["error_y"]["arrayminus"] == [0.1, 0, 0, 0.0, 0, 0]
    assert judged["y"] == [0.9, 0.9]
    assert scores_figure([], AT, UTC)["data"] == []


def test_each_recall_is_a_point_that_leads_to_it() -> None:
    rows = [part(1, "recalled", cited=True), part(2, "below"), part(3, "recalled"), part(4, "near")]
    drawn = parts_figure(rows, UTC, whats=str.upper, address=lambda recall: f"/{recall.int}/")
    checked(drawn)
    assert [(one["name"], one["y"], one["customdata"]) for one in drawn["data"]] == [
        ("RECALLED", [0.1, 0.3], ["/1/", "/3/"]), ("NEAR", [0.4], ["/4/"]), ("BELOW", [0.2], ["/2/"])
    ]  # fmt: skip
    assert drawn["data"][0]["marker"]["line"]["width"] == [2, 0]
    assert len({one["marker"]["symbol"] for one in drawn["data"]}) == 3


def test_of_very_many_recalls_the_last_are_drawn() -> None:
    drawn = parts_figure([part(number % 9, "below") for number in range(MOST_POINTS + 5)], UTC)
    assert len(drawn["data"][0]["x"]) == MOST_POINTS


def test_where_it_was_is_one_bar_along_time_in_the_colours_of_the_reasons() -> None:
    rows = [
        Stretch("held", "", AT, AT + DAY),
        Stretch("archived", "budget", AT + DAY, AT + 2 * DAY),
        Stretch("held", "", AT + 2 * DAY, None),
    ]
    drawn = stretches_figure(rows, AT + 5 * DAY, UTC)
    checked(drawn)
    assert [(one["name"], one["line"]["color"], one["showlegend"]) for one in drawn["data"]] == [
        ("held", colour(Role.FIRST), True), ("archived: budget", hue_of("budget"), True),
        ("held", colour(Role.FIRST), False),
    ]  # fmt: skip
    assert drawn["data"][-1]["x"] == ["2026-03-03T12:00:00.000", "2026-03-06T12:00:00.000"]
