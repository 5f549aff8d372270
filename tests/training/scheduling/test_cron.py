from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django_celery_beat.models import CrontabSchedule
from django_celery_beat.tzcrontab import TzAwareCrontab

from training.scheduling.cron import CronError, fields_of, in_words, next_after, text_of


@pytest.mark.parametrize(
    "text",
    ["30 3 * * *", "*/15 * * * *", "0 6 * * mon", "5,35 8-18/2 * * mon-fri", "0 0 1 jan,jul *", "0 12 29 2 *"],
)
def test_cron_that_people_write_is_read(text: str) -> None:
    assert set(fields_of(text)) == {"minute", "hour", "day_of_month", "month_of_year", "day_of_week"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Five fields"),
        ("30 3 * *", "Five fields"),
        ("30 3 * * * *", "Five fields"),
        ("60 3 * * *", "“60” does not name minutes"),
        ("-1 3 * * *", "“-1” does not name minutes"),
        ("0 24 * * *", "“24” does not name hours"),
        ("0 3 0 * *", "“0” does not name days of the month"),
        ("0 3 * 13 *", "“13” does not name months"),
        ("0 3 * * 7", "“7” does not name days of the week"),
        ("0 3 * * someday", "“someday” does not name days of the week"),
        ("*/0 * * * *", "“*/0” does not name minutes"),
        ("0 3 31 2 *", "never comes"),
        ("1," * 60 + "1 * * * *", "too long"),
        ("@daily", "Five fields"),
    ],
)
def test_what_is_no_cron_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(CronError) as refused:
        fields_of(text)
    assert sentence in refused.value.sentence


def test_a_month_by_its_name_is_the_same_as_by_its_number() -> None:
    assert fields_of("0 0 1 JAN,jul *")["month_of_year"] == "1,7"


def test_cron_is_said_in_words_and_spelled_as_it_was_written() -> None:
    row = CrontabSchedule(**fields_of("30 3 * * *"))
    assert in_words(row) == "At 03:30"
    assert text_of(row) == "30 3 * * *"
    assert "Monday" in in_words(CrontabSchedule(**fields_of("0 6 * * mon")))


def test_the_next_time_is_in_the_zone_of_the_cron_also_across_summer_time() -> None:
    nightly = TzAwareCrontab(**fields_of("30 3 * * *"), tz=ZoneInfo("Europe/Berlin"))
    assert next_after(nightly, datetime(2026, 10, 24, 12, tzinfo=UTC)) == datetime(2026, 10, 25, 2, 30, tzinfo=UTC)
    assert next_after(nightly, datetime(2026, 10, 25, 12, tzinfo=UTC)) == datetime(2026, 10, 26, 2, 30, tzinfo=UTC)
    assert next_after(nightly, datetime(2026, 7, 1, 1, 29, tzinfo=UTC)) == datetime(2026, 7, 1, 1, 30, tzinfo=UTC)


def test_the_next_time_comes_after_the_moment_itself() -> None:
    hourly = TzAwareCrontab(**fields_of("0 * * * *"), tz=UTC)
    assert next_after(hourly, datetime(2026, 7, 1, 5, 0, 2, tzinfo=UTC)) == datetime(2026, 7, 1, 6, tzinfo=UTC)
