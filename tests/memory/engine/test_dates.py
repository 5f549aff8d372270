from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.dates import intervals

WEDNESDAY = datetime(2023, 11, 29, 14, 0, tzinfo=UTC)


def days(text: str, at: datetime = WEDNESDAY) -> list[tuple[str, str]]:
    return [(start.date().isoformat(), end.date().isoformat()) for start, end in intervals(text, at)]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("What did Ana do in June 2023?", "2023-06-01", "2023-07-01"),
        ("on 8 May, 2023", "2023-05-08", "2023-05-09"),
        ("May 8th", "2023-05-08", "2023-05-09"),
        ("on 24 December", "2022-12-24", "2022-12-25"),
        ("last May", "2023-05-01", "2023-06-01"),
        ("early March", "2023-03-01", "2023-04-01"),
        ("in December", "2022-12-01", "2023-01-01"),
        ("in 2022", "2022-01-01", "2023-01-01"),
        ("2023-05-08", "2023-05-08", "2023-05-09"),
        ("2024年4月2日", "2024-04-02", "2024-04-03"),
        ("yesterday", "2023-11-28", "2023-11-29"),
        ("last weekend", "2023-11-25", "2023-11-27"),
        ("last week", "2023-11-20", "2023-11-27"),
        ("last month", "2023-10-01", "2023-11-01"),
        ("last year", "2022-01-01", "2023-01-01"),
        ("last Tuesday", "2023-11-28", "2023-11-29"),
        ("last Wednesday", "2023-11-22", "2023-11-23"),
        ("two weeks ago", "2023-11-13", "2023-11-18"),
    ],
)
def test_a_time_is_resolved_from_the_day_it_is_said(text: str, start: str, end: str) -> None:
    assert days(text) == [(start, end)]


@pytest.mark.parametrize("text", ["I may go and march on", "Feb 30", "my 2 cats", "room 2023b", ""])
def test_what_names_no_time_has_none(text: str) -> None:
    assert days(text) == []


def test_yesterday_begins_at_midnight_where_the_person_is() -> None:
    at = datetime(2023, 11, 29, 3, 0, tzinfo=UTC).astimezone(ZoneInfo("America/New_York"))  # still the 28th there
    ((start, end),) = intervals("yesterday", at)
    assert start.isoformat() == "2023-11-27T00:00:00-05:00"
    assert end.isoformat() == "2023-11-28T00:00:00-05:00"


@given(st.text(max_size=60), st.datetimes(datetime(1, 1, 2), datetime(9998, 1, 1)))
def test_any_text_at_any_time_gives_intervals_that_run_forward(text: str, at: datetime) -> None:
    for start, end in intervals(f"{text} two years ago, last month", at.replace(tzinfo=UTC)):
        assert start < end
