"""What is overdue, by a clock that the test sets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django_celery_beat.models import PeriodicTask

from memory.models import Job
from memory.tenancy import acting_as
from tests.scenes import make_person
from training.scheduling.rows import alarm, row_of, rows, spoken
from training.services.schedule import change, seed, switch

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
SEEDS = {
    "caretaking": {"task": "memory.sweep", "schedule": 10.0},
    "retraining": {"task": "training.retrain", "schedule": "0 3 * * *"},
    "summaries": {"task": "memory.summaries", "schedule": "0 4 * * *", "enabled": False},
}
LONG = 1000.0  # seconds that this process has run


def ran(task: str, at: datetime) -> None:
    PeriodicTask.objects.filter(task=task).update(last_run_at=at, date_changed=at)


@pytest.fixture
def scheduled(db: None) -> None:
    seed(SEEDS, {told["task"] for told in SEEDS.values()})
    ran("memory.sweep", NOW - timedelta(seconds=5))
    ran("training.retrain", datetime(2026, 7, 1, 3, 0, 1, tzinfo=UTC))


def said(now: datetime = NOW, running_s: float = LONG) -> str:
    return " ".join(alarm(now, running_s=running_s).sentences)


def test_what_ran_as_it_should_raises_no_alarm(scheduled: None) -> None:
    assert said() == ""
    assert [row.overdue for row in rows(NOW)] == [None, None, None]


def test_the_rows_stand_in_the_catalogues_order_with_words_zone_last_and_next(scheduled: None) -> None:
    first, second, third = rows(NOW)
    names = [row.about.task for row in (first, second, third)]
    assert names == ["training.retrain", "memory.summaries", "memory.sweep"]
    assert (first.words, first.zone) == ("At 03:00", "UTC")
    assert first.next == datetime(2026, 7, 2, 3, tzinfo=UTC)
    assert (second.enabled, second.next) == (False, None)
    assert (third.words, third.zone) == ("Every 10 seconds", "")


def test_a_job_that_did_not_start_is_overdue_only_after_its_grace(scheduled: None) -> None:
    due = datetime(2026, 7, 2, 3, tzinfo=UTC)
    for late, overdue in ((14, False), (16, True)):
        now = due + timedelta(minutes=late)
        ran("memory.sweep", now)
        row = row_of("training.retrain", now)
        assert row is not None
        assert (row.overdue is not None) == overdue
        assert ("“Retraining” is overdue by 16 minutes." in said(now)) == overdue


def test_what_is_switched_off_is_never_overdue(scheduled: None) -> None:
    switch("training.retrain", enabled=False)
    now = NOW + timedelta(days=3)
    ran("memory.sweep", now)
    assert said(now) == ""


def test_a_silent_beat_is_told_alone_and_not_every_job_that_waits_for_it(scheduled: None) -> None:
    now = NOW + timedelta(days=3)
    assert said(now) == "Beat, which starts what is scheduled, has been silent for 3 days."
    assert said(NOW + timedelta(seconds=100)) == ""


def test_nothing_is_told_in_the_first_two_minutes_and_before_beat_has_ever_run(db: None) -> None:
    assert said(NOW) == ""
    seed(SEEDS, {"memory.sweep"})
    ran("memory.sweep", NOW - timedelta(days=1))
    assert said(NOW, running_s=60.0) == ""
    assert said(NOW) != ""


def test_jobs_that_no_worker_takes_are_told_to_operators(scheduled: None) -> None:
    operator = make_person("op@example.org", roles=["operator"])
    with acting_as(operator.pk):
        Job.objects.create(kind="memory.erase", key="a", owner=operator, run_after=NOW - timedelta(minutes=11))
        Job.objects.create(kind="memory.erase", key="b", owner=operator, run_after=NOW - timedelta(minutes=9))
        assert said() == "1 job has waited for more than ten minutes: no worker takes it."


def test_a_changed_time_is_counted_from_the_change(scheduled: None) -> None:
    change("training.retrain", cron="0 * * * *", zone="Europe/Berlin", enabled=True)
    now = datetime.now(UTC)
    row = row_of("training.retrain", now)
    assert row is not None
    assert (row.last, row.zone, row.overdue) == (None, "Europe/Berlin", None)
    assert row.next is not None
    assert now < row.next <= now + timedelta(hours=1)


@pytest.mark.parametrize(
    ("length", "words"),
    [(1, "1 second"), (89, "89 seconds"), (300, "5 minutes"), (7200, "2 hours"), (200_000, "2 days")],
)
def test_lengths_of_time_are_spoken_in_their_largest_unit(length: int, words: str) -> None:
    assert spoken(timedelta(seconds=length)) == words
