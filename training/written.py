"""The features of what banks wrote, counted in bins over all banks: by the database, for staff, nobody's rows."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from django.db import connection

from memory.engine.importance import TOOLS_FROM

Bins = Mapping[str, Sequence[Sequence[int]]]  # by kind: edges of each feature, in the order of `features.NAMES`
Row = tuple[str, int, int, int]  # kind, feature, bin, memories
KEPT = 16  # answers: other days, other versions


class WrittenCounts:
    """Counts that are taken once: as long as nothing has happened in any bank, they are what they were.

    A page asks for them with each of its figures. Only one of those that ask at the same time counts.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, datetime, str], Sequence[Row]] = OrderedDict()
        self._lock = threading.Lock()

    def since(self, moment: datetime, bins: Bins) -> Sequence[Row]:
        """How what was written since the day of `moment` (UTC) lies in the bins. Nothing for who is no staff."""
        state = _state()
        if state is None:
            return ()
        day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        asked = json.dumps(bins, sort_keys=True)
        with self._lock:
            return self._once((state, day, asked), lambda: _counted(day, asked))

    def _once(self, key: tuple[str, datetime, str], count: Callable[[], Sequence[Row]]) -> Sequence[Row]:
        if key not in self._kept:
            self._kept[key] = count()
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def _state() -> str | None:
    """What changes with every event of any bank; None for who is no staff."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT agora_written_state()")
        found = cursor.fetchone()
    return found[0] if found else None


def _counted(day: datetime, bins: str) -> Sequence[Row]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, feature, bin, memories FROM agora_written_features(%s, %s, %s)", [day, bins, TOOLS_FROM]
        )
        return tuple(cursor.fetchall())


written = WrittenCounts()
