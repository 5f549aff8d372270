"""Whether this AGORA is well: each check says what it found, or raises `Ill` with the cause and the cure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext as _

from agora_web.doctor import processes, remembering, starting, storage
from agora_web.doctor.illness import Ill

ASK_AGAIN_S = 0.5


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's report."""

    name: str
    ok: bool
    found: str
    cure: str = ""

    def __str__(self) -> str:
        if self.ok:
            return f"ok   {self.name}: {self.found}"
        return f"FAIL {self.name}: {self.found} – {self.cure}"


class Check(NamedTuple):
    """One thing to look at; `look` returns what it found or raises `Ill`."""

    name: str
    look: Callable[[], str]
    needs_database: bool = False
    comes_late: bool = False  # `make run` starts it after the first page, so that it may be away for some seconds


def diagnose(
    waits_for: Callable[[str], None] = lambda name: None, *, sleep: Callable[[float], None] = time.sleep
) -> Iterator[Finding]:
    """Run every check in turn. Those that need the database say so when it is away.

    What comes late is waited for while AGORA is starting; `waits_for` is then told its name, once.
    """
    database_answers = True
    for check in checks():
        if check.needs_database and not database_answers:
            yield Finding(check.name, False, _("Not looked at."), _("Mend the database first."))
            continue
        finding = _looked(check)
        if not finding.ok and check.comes_late and starting.still_s():
            waits_for(check.name)
            while not finding.ok and starting.still_s():
                sleep(ASK_AGAIN_S)
                finding = _looked(check)
        database_answers = database_answers and (finding.ok or check.name != "database")
        yield finding


def _looked(check: Check) -> Finding:
    try:
        return Finding(check.name, True, check.look())
    except Ill as ill:
        return Finding(check.name, False, ill.cause, ill.cure)


def checks() -> list[Check]:
    """Every check, in the order of the report."""
    return [
        Check("database", storage.database),
        Check("schema", storage.schema, needs_database=True),
        Check("extension", storage.extension, needs_database=True),
        Check("row-level security", storage.row_level_security, needs_database=True),
        Check("memory", remembering.round_trip, needs_database=True),
        Check("encoder", remembering.encoder_width, needs_database=True),
        Check("broker", processes.broker),
        Check("worker", lambda: processes.worker("default"), comes_late=True),
        Check("training worker", lambda: processes.worker("training"), comes_late=True),
        Check("beat", processes.beat, needs_database=True, comes_late=True),
        Check("language model", processes.language_model, comes_late=True),
        Check("disk", storage.disk),
    ]
