"""The first start on an empty home, made once for all tests that need a whole AGORA."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.flows.running_agora import RunningAgora

PEOPLE = 80


@dataclass(frozen=True)
class FirstStart:
    """A stopped home, with what its first start printed and how long things took."""

    agora: RunningAgora
    lines: tuple[str, ...]
    started_in_s: float
    stopped_in_s: float
    left: int  # processes that were there after the end
    people: tuple[dict[str, str], ...]  # {"email", "session"}, the administrator first

    @property
    def password(self) -> str:
        """The administrator's, from the line that shows it."""
        found = re.search(r"Sign in as (\S+) with the password (\S+)", "\n".join(self.lines))
        assert found is not None, self.lines
        return found.group(2)


def first_start(home: Path, **environment: str) -> FirstStart:
    """Start an empty home, make people in it, stop it."""
    agora = RunningAgora(home, **environment)
    try:
        agora.start()
        people = agora.python("tests.flows.make_people", str(PEOPLE))
    finally:
        stopped_in_s = agora.stop()
    return FirstStart(
        agora, tuple(agora.lines), agora.took_s, stopped_in_s, len(agora.processes()), tuple(people)
    )  # fmt: skip
