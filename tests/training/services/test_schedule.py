"""The schedule's verbs, and who may do them: beat's table is guarded in code, rules and jobs by the database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import ProgrammingError, transaction
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, PeriodicTask
from kombu.exceptions import OperationalError

from agora_web.accounts.models import User
from memory.models import Job, JobState
from memory.services.jobs import run_job
from memory.tenancy import acting_as
from tests.scenes import make_person
from training.models import Rules
from training.scheduling.catalogue import PAUSE
from training.scheduling.cron import CronError
from training.scheduling.rows import RUN_NOW
from training.services import schedule
from training.services.schedule import BrokerAway, ScheduleRefused, change, run_now, seed, switch, undo_run

SEEDS = {
    "caretaking": {"task": "memory.sweep", "schedule": 10.0},
    "retraining": {"task": "training.retrain", "schedule": "0 3 * * *"},
    "re-scoring": {"task": "training.rescore_banks", "schedule": "0 3 * * *"},
    "later": {"task": "training.not_here_yet", "schedule": "0 3 * * *"},
}
KNOWN = {"memory.sweep", "training.retrain", "training.rescore_banks"}


@pytest.fixture
def seeded(db: None) -> None:
    seed(SEEDS, KNOWN)


@pytest.fixture
def operator(seeded: None) -> Iterator[User]:
    person = make_person("op@example.org", roles=["operator"])
    with acting_as(person.pk):
        yield person


def row(task: str) -> PeriodicTask:
    return PeriodicTask.objects.get(task=task)


@pytest.mark.django_db
def test_seeding_makes_what_is_missing_and_known_and_shares_equal_times() -> None:
    assert seed(SEEDS, KNOWN) == ["caretaking", "retraining", "re-scoring"]
    assert seed(SEEDS, KNOWN) == []
    assert row("training.retrain").crontab_id == row("training.rescore_banks").crontab_id
    assert not PeriodicTask.objects.filter(task="training.not_here_yet").exists()
    assert seed(SEEDS, {"training.not_here_yet"}) == ["later"]


def test_what_operators_changed_survives_seeding(seeded: None) -> None:
    change("training.retrain", cron="15 2 * * sun", zone="Europe/Lisbon", enabled=True)
    switch("training.rescore_banks", enabled=False)
    seed(SEEDS, KNOWN)
    assert str(row("training.retrain").crontab) == "15 2 * * sun (m/h/dM/MY/d) Europe/Lisbon"
    assert not row("training.rescore_banks").enabled


def test_a_change_of_one_task_leaves_another_with_the_same_times_alone(seeded: None) -> None:
    change("training.retrain", cron="0 5 * * *", zone="UTC", enabled=True)
    assert (row("training.retrain").crontab.hour, row("training.rescore_banks").crontab.hour) == ("5", "3")


def test_what_is_no_cron_changes_nothing(seeded: None) -> None:
    with pytest.raises(CronError):
        change("training.retrain", cron="61 * * * *", zone="UTC", enabled=False)
    assert row("training.retrain").enabled
    assert CrontabSchedule.objects.count() == 1


@pytest.mark.parametrize("task", ["memory.sweep", "training.nothing", "celery.backend_cleanup"])
def test_what_keeps_the_house_going_and_what_nobody_knows_cannot_be_switched_off(seeded: None, task: str) -> None:
    with pytest.raises(ScheduleRefused):
        switch(task, enabled=False)
    with pytest.raises(ScheduleRefused):
        change(task, cron="0 3 * * *", zone="UTC", enabled=False)
    assert row("memory.sweep").enabled


def test_switching_off_keeps_the_last_run_and_switching_on_starts_anew(seeded: None) -> None:
    at = timezone.now() - timedelta(days=2)
    PeriodicTask.objects.filter(task="training.retrain").update(last_run_at=at)
    switch("training.retrain", enabled=False)
    assert (row("training.retrain").enabled, row("training.retrain").last_run_at) == (False, at)
    switch("training.retrain", enabled=True)
    assert (row("training.retrain").enabled, row("training.retrain").last_run_at) == (True, None)


def test_run_now_hands_the_task_to_the_workers_once(operator: User, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(schedule.current_app, "send_task", lambda name, **_: sent.append(name))
    assert run_now("training.retrain", now=timezone.now()) == timedelta()
    run_now("training.retrain", now=timezone.now())
    job = Job.objects.get(kind=RUN_NOW)
    schedule.start_task(job.key)
    assert sent == ["training.retrain"]


def test_run_now_of_what_moves_memories_waits_and_can_be_undone(operator: User) -> None:
    now = timezone.now()
    assert run_now("training.rescore_banks", now=now) == PAUSE
    assert Job.objects.get(kind=RUN_NOW).run_after == now + PAUSE
    assert undo_run("training.rescore_banks", now=now)
    assert Job.objects.get(kind=RUN_NOW).state == JobState.CANCELLED
    assert not undo_run("training.rescore_banks", now=now)
    assert run_now("training.rescore_banks", now=now) == PAUSE, "undone, it can be asked for again"


def test_run_now_knows_only_what_is_scheduled(operator: User) -> None:
    for task in ("training.not_here_yet", "memory.summaries", "os.system"):
        with pytest.raises(ScheduleRefused):
            run_now(task, now=timezone.now())
    assert not Job.objects.filter(kind=RUN_NOW).exists()


def test_a_broker_that_is_away_is_a_sentence_and_tried_again(seeded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(name: str, **_: object) -> None:
        raise OperationalError("no route")

    monkeypatch.setattr(schedule.current_app, "send_task", away)
    with pytest.raises(BrokerAway) as error:
        schedule.start_task("training.retrain")
    assert error.value.retryable


@pytest.mark.django_db
def test_a_person_without_the_role_can_neither_ask_for_a_run_nor_change_the_rules() -> None:
    seed(SEEDS, KNOWN)
    ana = make_person()
    with acting_as(ana.pk):
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            run_now("training.retrain", now=timezone.now())
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            schedule.save_rules(Rules(least_labels=1))


def test_there_is_one_row_of_rules_however_often_it_is_saved(operator: User) -> None:
    schedule.save_rules(Rules(least_labels=40))
    schedule.save_rules(Rules(least_labels=50))
    assert [rules.least_labels for rules in Rules.objects.all()] == [50]


def test_a_job_that_starts_a_task_runs_without_an_owner(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(schedule.current_app, "send_task", lambda name, **_: sent.append(name))
    job = Job.objects.using("worker").create(kind=RUN_NOW, key="training.retrain", owner=None)
    try:
        assert run_job(job.pk)
        assert sent == ["training.retrain"]
    finally:
        Job.objects.using("worker").filter(pk=job.pk).delete()
