"""ALFWorld as ReAct text: an agent in a household; thoughts and actions after `>`, what it then sees without."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import regex

from memory.engine.types import Role
from training.learner.streams import Stream, Use, numbered

BEGAN = datetime(2024, 1, 1, tzinfo=UTC)  # the set has no clock: one message a minute
LEAST_BACK = 2
_THING = regex.compile(r"\b\p{Ll}+ \d+\b")  # "sidetable 1"


def read(paths: Sequence[Path]) -> list[Stream]:
    """A stream a task, in file order."""
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    return [stream_of(f"alfworld:{number}", json.loads(line)["traj"]) for number, line in enumerate(lines)]


def stream_of(name: str, text: str) -> Stream:
    """One task: runs of lines that begin with `>` are the agent's, the others the world's."""
    runs: list[tuple[bool, list[str]]] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        acts = line.startswith(">")
        if not runs or runs[-1][0] != acts:
            runs.append((acts, []))
        runs[-1][1].append(line.removeprefix(">").strip())
    sides = []
    passed: list[str] = []
    seen: list[str] = []
    for number, (acts, lines) in enumerate(runs):
        role, speaker = (Role.ASSISTANT, "Assistant") if acts else (Role.TOOL, "Tool")
        sides.append((0, role, speaker, "\n".join(lines), BEGAN + timedelta(minutes=number), str(number)))
        seen.append("" if acts else "\n".join(lines))
        # thoughts and plans come first; what is done is the last line
        passed.append(lines[-1] if acts and not lines[-1].startswith(("Think:", "ActionPath:")) else "")
    return Stream(name, "tool_use", numbered(sides), uses=_uses(seen, passed), group=name)


def _uses(seen: Sequence[str], passed: Sequence[str]) -> list[Use]:
    """Later uses: things in what is done whose latest sight is at least two messages back."""
    shown: dict[str, int] = {}
    uses: set[Use] = set()
    for at, (sight, action) in enumerate(zip(seen, passed, strict=True)):
        for thing in set(_THING.findall(action)):
            if thing in shown and at - shown[thing] >= LEAST_BACK:
                uses.add(Use(at, shown[thing]))
        shown |= dict.fromkeys(_THING.findall(sight), at)
    return sorted(uses, key=lambda use: (use.at, use.source))
