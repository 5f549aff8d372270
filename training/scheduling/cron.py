"""Cron as people write it: five fields, checked with a sentence, said in words, and when it comes next."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from celery.schedules import ParseException, crontab_parser
from cron_descriptor import FormatException, MissingFieldException, Options, WrongArgumentException, get_description
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_celery_beat.models import CrontabSchedule
from django_celery_beat.tzcrontab import TzAwareCrontab

LONGEST = 100  # characters of all five fields
_FIELDS: tuple[tuple[str, Promise, int, int], ...] = (
    ("minute", gettext_lazy("minutes (0 to 59)"), 60, 0),
    ("hour", gettext_lazy("hours (0 to 23)"), 24, 0),
    ("day_of_month", gettext_lazy("days of the month (1 to 31)"), 31, 1),
    ("month_of_year", gettext_lazy("months (1 to 12)"), 12, 1),
    ("day_of_week", gettext_lazy("days of the week (0 to 6, Sunday is 0)"), 7, 0),
)


class CronError(ValueError):
    """A text that is no cron, with the sentence that says why."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def fields_of(text: str) -> dict[str, str]:
    """The five fields by the names that beat's table has for them. Raises `CronError`."""
    parts = text.split()
    if len(text) > LONGEST:
        raise CronError(_("That is too long: at most %(n)d characters.") % {"n": LONGEST})
    if len(parts) != len(_FIELDS):
        raise CronError(
            _("Five fields are needed, with spaces between: minute, hour, day of the month, month, day of the week.")
        )
    for part, (name, title, most, least) in zip(parts, _FIELDS, strict=True):
        try:
            crontab_parser(most, least).parse(_named(name, part))
        except (ParseException, ValueError, KeyError) as error:
            raise CronError(
                _("“%(part)s” does not name %(field)s.") % {"part": part, "field": title}
            ) from error  # fmt: skip
    found = {name: _named(name, part) for part, (name, *_rest) in zip(parts, _FIELDS, strict=True)}
    try:
        next_after(TzAwareCrontab(**found, tz=UTC), datetime.now(UTC))
    except (ValueError, RuntimeError) as error:  # the 31st of February
        raise CronError(_("That day never comes.")) from error
    return found


def _named(name: str, part: str) -> str:
    """Months by name as numbers: the parser knows only days by name."""
    if name != "month_of_year":
        return part.lower()
    months = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
    for number, month in enumerate(months, start=1):
        part = part.lower().replace(month, str(number))
    return part


def text_of(cron: CrontabSchedule) -> str:
    """The five fields as a person writes them."""
    return f"{cron.minute} {cron.hour} {cron.day_of_month} {cron.month_of_year} {cron.day_of_week}"


def in_words(cron: CrontabSchedule) -> str:
    """When that is, as a sentence without the zone: "At 03:30, only on Monday"."""
    options = Options()
    options.use_24hour_time_format = True
    try:
        return str(get_description(text_of(cron), options))
    except (FormatException, MissingFieldException, WrongArgumentException):
        return text_of(cron)


def next_after(cron: TzAwareCrontab, moment: datetime) -> datetime:
    """The first time after `moment` that matches, in UTC. Raises `RuntimeError` for a day that never comes."""
    start, delta, _now = cron.remaining_delta(moment)
    found: datetime = start + delta
    return found.astimezone(UTC)


def zone_name(cron: CrontabSchedule) -> str:
    """The zone in which it is meant."""
    zone = cron.timezone
    return zone.key if isinstance(zone, ZoneInfo) else str(zone)
