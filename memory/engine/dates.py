"""What time a cue speaks of: its dates as intervals, resolved in the zone of the one who asks."""

from __future__ import annotations

from datetime import datetime, timedelta

import regex

Interval = tuple[datetime, datetime]  # from, up to (not counted in)

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
            "nine": 9, "ten": 10, "couple": 2, "few": 3}  # fmt: skip
_MONTH = r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"  # noqa: E501
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_CALENDAR = regex.compile(
    rf"\b(?:{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?|{_MONTH} {_DAY}\b(?:,? {_YEAR})?|"
    rf"(?P<last>last |this |next )?{_MONTH}(?:,? (?:of )?{_YEAR})?|{_YEAR}-(?P<number>\d\d)-(?P<day>\d\d)|"
    rf"{_YEAR}年(?:(?P<number>\d{{1,2}})月(?:(?P<day>\d{{1,2}})[日号])?)?|in {_YEAR})(?![\w])",
    regex.IGNORECASE,
)
_RELATIVE = regex.compile(
    r"\b(?:(?P<word>today|yesterday|the day before yesterday)|(?P<which>last|this|past) (?P<unit>week(?:end)?|month|"
    r"year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|(?P<count>\d{1,3}|an?|one|two|three|four|five|six|"
    r"seven|eight|nine|ten|(?:a )?couple(?: of)?|(?:a )?few) (?P<ago>day|week|month|year)s? ago)\b",
    regex.IGNORECASE,
)
_BEFORE_A_MONTH = regex.compile(
    r"\b(?:in|on|since|until|last|this|next|by|during|of|early|late|mid) *$", regex.IGNORECASE
)
UNITS = {"day": 1, "week": 7, "month": 30, "year": 365}  # days, as "three months ago" means them


def intervals(text: str, at: datetime) -> list[Interval]:
    """The times that `text`, said at `at`, speaks of; the month of a bare name is the latest that is not to come."""
    found: list[Interval] = []
    for pattern, resolve in ((_CALENDAR, _calendar), (_RELATIVE, _relative)):
        for match in pattern.finditer(text):
            try:
                interval = resolve(match, text, at)
            except (ValueError, OverflowError):  # no such day, or before the calendar begins
                continue
            if interval is not None:
                found.append(interval)
    return found


def _calendar(match: regex.Match[str], text: str, at: datetime) -> Interval | None:
    name, number = match["month"], match["number"]
    month = _month(name) if name else int(number) if number else None
    year, day = (int(match["year"]) if match["year"] else None), (int(match["day"]) if match["day"] else None)
    # "may" and "march" are words as well: alone they need a preposition before them
    alone = name and year is None and day is None and not match["last"] and name.lower() in ("may", "march", "mar")
    if alone and not _BEFORE_A_MONTH.search(text[: match.start("month")]):
        return None
    if year is None and month is not None:
        year = at.year - (1 if (month, day or 1) > (at.month, at.day) else 0)
    if month is None:
        return _at(at, year or at.year, 1, 1), _at(at, (year or at.year) + 1, 1, 1)
    first = _at(at, year or at.year, month, day or 1)
    if day is not None:
        return first, first + timedelta(days=1)
    return first, _at(at, first.year + month // 12, month % 12 + 1, 1)


def _relative(match: regex.Match[str], _text: str, at: datetime) -> Interval | None:
    today = _at(at, at.year, at.month, at.day)
    day = timedelta(days=1)
    if match["word"]:
        back = {"today": 0, "yesterday": 1}.get(match["word"].lower(), 2)
        return today - back * day, today - (back - 1) * day
    if match["ago"]:
        word = match["count"].lower().removeprefix("a ").removesuffix(" of")
        count = int(word) if word.isdigit() else _NUMBERS.get(word, 1)
        length = UNITS[match["ago"].lower()]
        slack = max(1, length * max(1, count) // 6)
        middle = today - timedelta(days=length * count)
        return middle - slack * day, middle + (slack + 1) * day
    unit, this = match["unit"].lower(), match["which"].lower() == "this"
    if unit in _DAYS:
        back = (today.weekday() - _DAYS.index(unit)) % 7 or (0 if this else 7)
        return today - back * day, today - (back - 1) * day
    if unit == "year":
        year = at.year - (0 if this else 1)
        return _at(at, year, 1, 1), _at(at, year + 1, 1, 1)
    if unit == "month":
        first = _at(at, at.year, at.month, 1)
        before = first - day
        return (first, today + day) if this else (_at(at, before.year, before.month, 1), first)
    monday = today - today.weekday() * day
    if unit == "weekend":
        saturday = monday + (5 if this else -2) * day
        return saturday, saturday + 2 * day
    return (monday, today + day) if this else (monday - 7 * day, monday)


def _at(at: datetime, year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=at.tzinfo)


def _month(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, start=1) if month.startswith(name.lower()[:3]))
