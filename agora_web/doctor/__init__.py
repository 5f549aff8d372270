"""Whether this AGORA is well: each check says what it found, or raises `Ill` with the cause and the cure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agora_web.doctor import processes, remembering, storage
from agora_web.doctor.illness import Ill


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


Check = Callable[[], str]


def diagnose() -> Iterator[Finding]:
    """Run every check in turn. Those that need the database say so when it is away."""
    database_answers = True
    for name, check, needs_database in checks():
        if needs_database and not database_answers:
            yield Finding(name, False, _("Not looked at."), _("Mend the database first."))
            continue
        try:
            yield Finding(name, True, check())
        except Ill as ill:
            yield Finding(name, False, ill.cause, ill.cure)
            database_answers = database_answers and name != "database"


def checks() -> list[tuple[str, Check, bool]]:
    """Name and function of each check, and whether it needs the database."""
    return [
        ("database", storage.database, False),
        ("schema", storage.schema, True),
        ("extension", storage.extension, True),
        ("row-level security", storage.row_level_security, True),
        ("memory", remembering.round_trip, True),
        ("encoder", remembering.encoder_width, True),
        ("broker", processes.broker, False),
        ("worker", lambda: processes.worker("default"), False),
        ("training worker", lambda: processes.worker("training"), False),
        ("beat", processes.beat, True),
        ("language model", processes.language_model, False),
        ("disk", storage.disk, False),
    ]
