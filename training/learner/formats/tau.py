"""tau-bench: an agent with tools serves a customer. A later use passes on an identifier that was shown before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory.engine.text import clean_text
from memory.engine.types import Role
from training.learner.streams import Stream, Use, numbered

IDENTIFIER = re.compile(r"\b(?=[A-Za-z0-9_#-]*\d)[A-Za-z0-9_#-]{4,}\b")
LEAST_BACK = 2  # messages between a use and the latest showing
BEGAN = datetime(2024, 5, 15, 15, 0, tzinfo=UTC)  # the set's own clock, one message a minute
ROLES = {"user": (Role.USER, "User"), "assistant": (Role.ASSISTANT, "Assistant"), "tool": (Role.TOOL, "Tool")}


def read(paths: Sequence[Path]) -> list[Stream]:
    """A stream a dialogue, the system prompt left out; a group a task."""
    return [
        stream_of(f"{path.stem}:{number}", f"task {row['task_id']}", row["traj"])
        for path in paths
        for number, row in enumerate(json.loads(path.read_text(encoding="utf-8")))
    ]


def stream_of(name: str, group: str, messages: Sequence[dict[str, Any]]) -> Stream:
    """One dialogue of messages as OpenAI's API has them."""
    said = [message for message in messages if message["role"] != "system"]
    sides = []
    calls: list[str] = []
    for number, message in enumerate(said):
        role, speaker = ROLES[message["role"]]
        arguments = [f"{call['function']['name']} {call['function']['arguments']}" for call in _calls(message)]
        text = clean_text("\n".join([message.get("content") or "", *arguments])).strip() or "."
        sides.append((0, role, speaker, text, BEGAN + timedelta(minutes=number), str(number)))
        calls.append(" ".join(call["function"]["arguments"] for call in _calls(message)))
    return Stream(name, "tool_use", numbered(sides), uses=uses_of([side[3] for side in sides], calls), group=group)


def _calls(message: dict[str, Any]) -> Sequence[dict[str, Any]]:
    return message.get("tool_calls") or ()


def uses_of(texts: Sequence[str], calls: Sequence[str]) -> list[Use]:
    """Later uses: identifiers in a call's arguments whose latest earlier showing is at least two messages back."""
    shown: dict[str, int] = {}
    uses: set[Use] = set()
    for at, (text, arguments) in enumerate(zip(texts, calls, strict=True)):
        for name in identifiers(arguments):
            if name in shown and at - shown[name] >= LEAST_BACK:
                uses.add(Use(at, shown[name]))
        shown |= dict.fromkeys(identifiers(text), at)
    return sorted(uses, key=lambda use: (use.at, use.source))


def identifiers(text: str) -> Iterable[str]:
    """Strings of at least four letters, digits, `_`, `#` or `-` with a digit among them, each once."""
    return dict.fromkeys(IDENTIFIER.findall(text))
