"""Agents' logs for the bench: tau-bench's dialogues with tool calls, ALFWorld's text, as messages and steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory.engine.compress.identifiers import showings
from memory.engine.compress.messages import SYSTEM_ROLES, Message, from_openai, from_text, split_steps
from memory.engine.compress.worth import acts

BACK = 2  # a use counts when the identifier was last shown at least so many messages before ...
FAR = 6  # ... and is far when it was shown more than so many before


@dataclass(frozen=True)
class Use:
    """An identifier that the agent's message `at` passes on, last shown `back` messages before."""

    name: str
    back: int


@dataclass(frozen=True)
class Log:
    """One conversation of an agent: its messages, and for some of them the uses of identifiers in their actions.

    `task` tells conversations about the same task: they never stand on both sides of a split.
    """

    task: int
    messages: tuple[Message, ...]
    uses: Mapping[int, tuple[Use, ...]]


def read_logs(format: str, path: Path) -> Iterator[Log]:
    """Read a file of conversations. Raises ValueError where it is not of the format."""
    for task, messages in READERS[format](path.read_text(encoding="utf-8")):
        yield Log(task, messages, _uses(messages))


def _tau(text: str) -> Iterator[tuple[int, tuple[Message, ...]]]:
    for conversation in json.loads(text):
        yield int(conversation["task_id"]), from_openai(conversation["traj"])


def _alfworld(text: str) -> Iterator[tuple[int, tuple[Message, ...]]]:
    for number, line in enumerate(text.splitlines()):
        if line.strip():
            yield number, from_text(json.loads(line)["traj"])


READERS: Mapping[str, Callable[[str], Iterator[tuple[int, tuple[Message, ...]]]]] = {"tau": _tau, "alfworld": _alfworld}


def _uses(messages: Sequence[Message]) -> dict[int, tuple[Use, ...]]:
    """What each action passes on that was shown before; the system prompt shows nothing."""
    last: dict[str, int] = {}
    out: dict[int, tuple[Use, ...]] = {}
    for step in split_steps(messages):
        for at, message in enumerate(step.messages, start=step.start):
            passed = {one.name for text in acts(step, message) for one in showings(text)}
            uses = tuple(Use(name, at - last[name]) for name in sorted(passed & set(last)))
            if any(use.back >= BACK for use in uses):
                out[at] = uses
            if message.role not in SYSTEM_ROLES:
                last.update({one.name: at for one in showings(message.shown)})
    return out
