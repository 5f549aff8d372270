"""What a reader hands over: conversations as turns of two sides, and the one error it raises.

The records are plain and frozen. Text in them has been through `clean_text`; instants are aware and in UTC;
JSON objects hold finite numbers only. Whoever stores them needs no further checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from memory.engine.types import Role

Kind = Literal["two_people", "user_assistant", "tool_use"]
KINDS: tuple[Kind, ...] = ("two_people", "user_assistant", "tool_use")

JsonObject = dict[str, Any]

SHOWN_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class TrajectorySide:
    """One half of a turn: what was said, by whom, when.

    `external_id` is the side's name in the file it came from (LoCoMo: the dia_id, such as ``D3:7``) and is
    unique within its conversation.
    """

    text: str
    speaker: str
    role: Role
    at: datetime | None
    external_id: str = ""


@dataclass(frozen=True, slots=True)
class TrajectoryTurn:
    """One round of observation and action; at least one of the two is there.

    `ordinal` counts from 1 through the whole conversation, `session` from 1 upwards and never falls.
    """

    ordinal: int
    session: int
    external_id: str
    observation: TrajectorySide | None
    action: TrajectorySide | None
    place: str | None = None
    tool_calls: tuple[JsonObject, ...] = ()
    outcome: JsonObject | None = None

    @property
    def sides(self) -> tuple[TrajectorySide, ...]:
        """The sides that are there, observation first."""
        return tuple(side for side in (self.observation, self.action) if side is not None)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One whole conversation. The same `external_id` means the same conversation on a second import."""

    external_id: str
    title: str
    kind: Kind
    turns: tuple[TrajectoryTurn, ...]
    metadata: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file: its line (counted from 1, None if unknown) and a sentence."""

    line: int | None
    sentence: str

    def __str__(self) -> str:
        return self.sentence if self.line is None else f"Line {self.line}: {self.sentence}"


class TrajectoryError(Exception):
    """A file cannot be read as conversations. Carries all problems; `line` and `sentence` are the first's.

    Trying the same file again gives the same answer, so it is never retryable.
    """

    retryable = False

    def __init__(self, line: int | None, sentence: str, more: Sequence[Problem] = ()) -> None:
        self.line = line
        self.sentence = sentence
        self.problems: tuple[Problem, ...] = (Problem(line, sentence), *more)
        super().__init__(line, sentence)

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> TrajectoryError:
        """The error that carries these problems (at least one)."""
        first, *more = problems
        return cls(first.line, first.sentence, more)

    def __str__(self) -> str:
        shown = [str(problem) for problem in self.problems[:SHOWN_PROBLEMS]]
        rest = len(self.problems) - len(shown)
        if rest:
            shown.append(f"And {rest} more.")
        return "\n".join(shown)
