"""Beat seeds its table once: what operators changed survives its restart."""

from __future__ import annotations

import pytest
from celery import Celery
from celery.schedules import crontab
from django_celery_beat.models import PeriodicTask

from agora_web.beat import SeedingScheduler
from agora_web.celery import app as agora_app
from training.services.schedule import change, switch

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture
def app(transactional_db: None) -> Celery:
    agora_app.loader.import_default_modules()
    return agora_app


def start(app: Celery) -> SeedingScheduler:
    return SeedingScheduler(app=app, lazy=False)


def test_a_first_start_makes_a_row_of_each_task_that_there_is(app: Celery) -> None:
    scheduler = start(app)
    made = dict(PeriodicTask.objects.values_list("task", "enabled"))
    assert made.keys() == {one["task"] for one in app.conf.beat_schedule.values()} & set(app.tasks)
    assert {"memory.run_due_jobs", "memory.sweep", "training.retrain"} <= made.keys()
    assert scheduler.schedule.keys() >= {"jobs that are due", "turns whose server is gone"}


def test_what_an_operator_changed_survives_a_restart_of_beat(app: Celery) -> None:
    start(app)
    change("training.retrain", cron="*/5 * * * *", zone="Europe/Berlin", enabled=True)
    switched = PeriodicTask.objects.exclude(task="training.retrain").filter(crontab__isnull=False).first()
    if switched is not None:
        switch(switched.task, enabled=False)
    again = start(app)
    entry = again.schedule["retraining"]
    assert entry.schedule == crontab("*/5") or str(entry.model.crontab.timezone) == "Europe/Berlin"
    assert str(entry.model.crontab) == "*/5 * * * * (m/h/dM/MY/d) Europe/Berlin"
    if switched is not None:
        assert not PeriodicTask.objects.get(pk=switched.pk).enabled


def test_a_running_beat_follows_a_change(app: Celery) -> None:
    scheduler = start(app)
    assert scheduler.schedule == scheduler.schedule  # read, and looked at again, as every few seconds
    change("training.retrain", cron="7 * * * *", zone="UTC", enabled=True)
    assert str(scheduler.schedule["retraining"].model.crontab).startswith("7 * * * *")
