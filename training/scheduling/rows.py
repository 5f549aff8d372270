"""What the schedule's page reads: beat's rows with their last and next run, and what is overdue."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_celery_beat.models import PeriodicTask
from django_celery_beat.tzcrontab import TzAwareCrontab

from memory.models import Job, JobState
from memory.thousands import counted
from training.scheduling import cron
from training.scheduling.catalogue import SCHEDULED, Scheduled

SILENT = timedelta(minutes=2)  # something is due every ten seconds, and beat notes each run
WAITING = timedelta(minutes=10)  # a job whose time came so long ago has no worker
SETTLING_S = 120.0  # after a start beat and workers need a moment to take up what lay still
RUN_NOW = "schedule.run"  # the kind of job that starts one task once; its key is the task's name
_started = time.monotonic()


@dataclass(frozen=True)
class Row:
    """One scheduled task as the page shows it. Times are in UTC."""

    about: Scheduled
    task: PeriodicTask
    words: str  # when, as a sentence
    zone: str  # in which that is meant; "" for an interval
    last: datetime | None
    next: datetime | None  # None while it is switched off
    overdue: timedelta | None  # beyond its grace
    asked: Job | None = None  # a "Run now" that waits or runs

    @property
    def enabled(self) -> bool:
        return bool(self.task.enabled)


@dataclass(frozen=True)
class Alarm:
    """What does not run as it should: one sentence for each thing, the gravest first."""

    sentences: Sequence[str]


def rows(now: datetime) -> list[Row]:
    """Every scheduled task that this page knows, in the catalogue's order; [] before beat has ever started."""
    found = {task.task: task for task in _tasks()}
    asked = {job.key: job for job in Job.objects.filter(kind=RUN_NOW, state__in=(JobState.PENDING, JobState.RUNNING))}
    return [
        _row(about, found[name], now, asked.get(name)) for name, about in SCHEDULED.items() if name in found
    ]  # fmt: skip


def row_of(task: str, now: datetime) -> Row | None:
    """One of them, by its task's name."""
    return next((row for row in rows(now) if row.about.task == task), None)


def alarm(now: datetime, *, running_s: float | None = None) -> Alarm:
    """What is overdue; nothing while this process is younger than two minutes (`running_s`: its age)."""
    running_s = time.monotonic() - _started if running_s is None else running_s
    tasks = _tasks()
    if running_s < SETTLING_S or not tasks:
        return Alarm(())
    said: list[str] = []
    ran = [task.last_run_at for task in tasks if task.last_run_at]
    noted = max(ran) if ran else min(task.date_changed for task in tasks)
    if now - noted > SILENT:
        said.append(
            _("Beat, which starts what is scheduled, has been silent for %(time)s.") % {"time": spoken(now - noted)}
        )
    else:
        said += _overdue(tasks, now)
    said += _unclaimed(now)
    return Alarm(said)


def _overdue(tasks: Sequence[PeriodicTask], now: datetime) -> list[str]:
    seen = [_row(SCHEDULED[task.task], task, now, None) for task in tasks if task.task in SCHEDULED]
    return [
        _("“%(title)s” is overdue by %(time)s.") % {"title": row.about.title, "time": spoken(row.overdue)}
        for row in seen if row.overdue is not None
    ]  # fmt: skip


def _unclaimed(now: datetime) -> list[str]:
    waiting = Job.objects.filter(state=JobState.PENDING, run_after__lt=now - WAITING).count()
    if not waiting:
        return []
    told = ngettext(
        "%(n)s job has waited for more than ten minutes: no worker takes it.",
        "%(n)s jobs have waited for more than ten minutes: no worker takes them.",
        waiting,
    )
    return [told % counted({"n": waiting})]


def _tasks() -> list[PeriodicTask]:
    return list(PeriodicTask.objects.select_related("crontab", "interval"))


def _row(about: Scheduled, task: PeriodicTask, now: datetime, asked: Job | None) -> Row:
    coming = _next(task) if task.enabled else None
    late = now - coming if coming else timedelta()
    return Row(
        about, task, _words(task), cron.zone_name(task.crontab) if task.crontab else "", task.last_run_at,
        coming, late if late > about.grace else None, asked,
    )  # fmt: skip


def _next(task: PeriodicTask) -> datetime | None:
    """When beat starts it next, counted as beat counts: from its last run, or else from its last change."""
    base: datetime = task.last_run_at or task.date_changed
    if task.interval is not None:
        every: timedelta = task.interval.schedule.run_every
        return base + every
    schedule = task.schedule
    return cron.next_after(schedule, base.astimezone(UTC)) if isinstance(schedule, TzAwareCrontab) else None


def _words(task: PeriodicTask) -> str:
    if task.crontab is not None:
        return cron.in_words(task.crontab)
    if task.interval is None:
        return str(task.schedule)
    return _("Every %(time)s") % {"time": spoken(task.interval.schedule.run_every)}


def spoken(length: timedelta) -> str:
    """A length of time in its largest unit: "3 hours"."""
    seconds = int(length.total_seconds())
    if seconds < 90:
        return ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}
    minutes = round(seconds / 60)
    if minutes < 90:
        return ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes}
    hours = round(minutes / 60)
    if hours < 48:
        return ngettext("%(n)d hour", "%(n)d hours", hours) % {"n": hours}
    days = round(hours / 24)
    return ngettext("%(n)d day", "%(n)d days", days) % {"n": days}
