"""Some time of a bank: between two days, and, where that is asked for, only while one adapter judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

from django.db.models import Q

from memory.engine.bank import BankEvent

Ends = tuple[datetime | None, datetime | None]  # from, and until when (not in it any more); open where there is none


@dataclass(frozen=True)
class Stretch:
    """Some time of a bank, or all of it, and in which zone its days are told."""

    since: datetime | None = None
    until: datetime | None = None  # not in it any more
    zone: tzinfo = UTC
    parts: tuple[Ends, ...] | None = None  # only these parts of it; None for all

    @property
    def whole(self) -> bool:
        """Whether this is all time."""
        return self.since is None and self.until is None and self.parts is None

    def has(self, at: datetime) -> bool:
        return _within(at, (self.since, self.until)) and (
            self.parts is None or any(_within(at, part) for part in self.parts)
        )

    def where(self, name: str) -> Q:
        """As a filter of a query over the field `name`."""
        found = _where(name, (self.since, self.until))
        if self.parts is None:
            return found
        parts = Q(pk__in=[])  # of no part nothing is in it
        for part in self.parts:
            # an open part has everything, which a condition over nothing does not say
            parts |= _where(name, part) or Q(**{f"{name}__isnull": False})
        return found & parts

    def only(self, parts: Iterable[Ends]) -> Stretch:
        """The same time, of which these parts alone count."""
        return replace(self, parts=tuple(parts))


def _within(at: datetime, ends: Ends) -> bool:
    return (ends[0] is None or at >= ends[0]) and (ends[1] is None or at < ends[1])


def _where(name: str, ends: Ends) -> Q:
    told = {f"{name}__gte": ends[0], f"{name}__lt": ends[1]}
    return Q(**{key: at for key, at in told.items() if at is not None})


def judged_by(events: Iterable[BankEvent], adapter: str) -> list[Ends]:
    """The times in which this adapter judged a bank with these events, in order: from the first thing that it scored
    or let go until another one did. The first one judged before, too, and the last one does until now."""
    changes: list[tuple[datetime | None, str]] = []
    for event in events:
        version = event.data.get("adapter", "") if event.memory is not None else ""
        if version and (not changes or changes[-1][1] != version):
            changes.append((event.at if changes else None, version))
    ends = [*(at for at, _version in changes), None][1:]
    return [(at, end) for (at, version), end in zip(changes, ends, strict=True) if version == adapter]
