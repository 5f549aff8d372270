"""Changes of the schedule: seeded once, then the operators'. One transaction a verb; beat follows within seconds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from celery import current_app
from django.db import transaction
from django.utils.translation import gettext as _
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask, PeriodicTasks
from kombu.exceptions import OperationalError

from memory.engine.types import BankError
from memory.models import Job, JobState
from memory.services.jobs import enqueue, handles
from training.models import Rules
from training.scheduling.catalogue import PAUSE, SCHEDULED, Scheduled
from training.scheduling.cron import fields_of
from training.scheduling.rows import RUN_NOW


class ScheduleRefused(BankError):
    """The schedule cannot be changed so; the sentence says why."""

    retryable = False


class BrokerAway(BankError):
    """A task could not be handed to the workers; it is tried again."""

    retryable = True


def seed(seeds: Mapping[str, Mapping[str, Any]], known: Collection[str]) -> list[str]:
    """Make the rows that beat's table lacks, of tasks that are `known`; returns their names.

    A row that is there stays as operators left it: their changes survive a restart. Seeds are `name: {task, schedule,
    enabled}`; a schedule is seconds, or cron in UTC.
    """
    made: list[str] = []
    with transaction.atomic():
        there = set(PeriodicTask.objects.filter(name__in=seeds).values_list("name", flat=True))
        for name, told in seeds.items():
            if name in there or told["task"] not in known:
                continue
            PeriodicTask.objects.create(
                name=name, task=told["task"], enabled=told.get("enabled", True), **_timing(told["schedule"])
            )
            made.append(name)
    return made


def _timing(schedule: str | float) -> dict[str, Any]:
    if isinstance(schedule, str):
        return {"crontab": _crontab(schedule, "UTC"), "interval": None}
    every = {"every": int(schedule), "period": IntervalSchedule.SECONDS}
    found = IntervalSchedule.objects.filter(**every).first()
    return {"interval": found or IntervalSchedule.objects.create(**every), "crontab": None}


def _crontab(text: str, zone: str) -> CrontabSchedule:
    """The row of these fields in this zone: equal ones are shared. Raises `CronError`."""
    wanted = {**fields_of(text), "timezone": zone}
    return CrontabSchedule.objects.filter(**wanted).first() or CrontabSchedule.objects.create(**wanted)


def change(task: str, *, cron: str, zone: str, enabled: bool) -> None:
    """Let a task run at other times, or not at all. Raises `CronError`, `ScheduleRefused`.

    Beat counts from the change on: a time that has passed today is not caught up with.
    """
    with transaction.atomic():
        row = _locked(task)
        row.crontab, row.interval, row.enabled = _crontab(cron, zone), None, enabled
        row.last_run_at = None
        row.save()


def switch(task: str, *, enabled: bool) -> None:
    """Turn a task on or off. Raises `ScheduleRefused`."""
    with transaction.atomic():
        row = _locked(task)
        if row.enabled == enabled:
            return
        if enabled:
            row.enabled, row.last_run_at = True, None
            row.save()
        else:  # by a statement: saving would take the time of its last run away
            PeriodicTask.objects.filter(pk=row.pk).update(enabled=False)
            PeriodicTasks.update_changed()


def _locked(task: str) -> PeriodicTask:
    row = PeriodicTask.objects.select_for_update().filter(task=task).first()
    if row is None or task not in SCHEDULED:
        raise ScheduleRefused(_("There is no such task in the schedule."))
    if SCHEDULED[task].house:
        raise ScheduleRefused(_("This keeps everything else going; it is always on."))
    return row


def run_now(task: str, *, now: datetime) -> timedelta:
    """Have a task started once, beside its schedule; returns after how long.

    One that moves memories waits a minute, so that it can be undone. Asked twice, it runs once.
    """
    about = _startable(task)
    pause = PAUSE if about.moves else timedelta()
    if not Job.objects.filter(kind=RUN_NOW, key=task, state=JobState.PENDING).exists():
        enqueue(RUN_NOW, task, owner_id=None, run_after=now + pause if pause else None)
    return pause


def _startable(task: str) -> Scheduled:
    if task not in SCHEDULED or not PeriodicTask.objects.filter(task=task).exists():
        raise ScheduleRefused(_("There is no such task in the schedule."))
    return SCHEDULED[task]


def undo_run(task: str, *, now: datetime) -> bool:
    """Take "Run now" back while it waits. False when it has begun."""
    waiting = Job.objects.filter(kind=RUN_NOW, key=task, state=JobState.PENDING)
    return bool(waiting.update(state=JobState.CANCELLED, finished_at=now))


@handles(RUN_NOW)
def start_task(key: str) -> None:
    """Hand the task to the workers once this job is committed. Raises `BrokerAway`."""
    try:
        current_app.send_task(key, retry=False, ignore_result=True)
    except OperationalError as error:
        raise BrokerAway(_("The broker cannot be reached, so no worker knows of it yet.")) from error


def save_rules(rules: Rules) -> None:
    """Let other rules hold; there is one row of them."""
    told = {field.name: getattr(rules, field.name) for field in Rules._meta.concrete_fields if not field.primary_key}
    Rules.objects.update_or_create(pk=1, defaults=told)
