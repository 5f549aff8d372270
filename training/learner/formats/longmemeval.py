"""LongMemEval: a question over a haystack of chats with an assistant; turns that hold the answer are marked."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory.engine.text import clean_text
from memory.engine.types import Role
from training.learner.streams import Question, Stream, numbered

_DATE = re.compile(r"(\d{4})/(\d{2})/(\d{2}) \(\w+\) (\d{2}):(\d{2})")
ROLES = {"user": (Role.USER, "User"), "assistant": (Role.ASSISTANT, "Assistant")}


def read(paths: Sequence[Path]) -> list[Stream]:
    """A stream a question. Those without an answer (`_abs`) have no question to recall for and no evidence."""
    return [stream_of(json.loads(line)) for path in paths for line in _lines(path)]


def _lines(path: Path) -> list[str]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    return [line for line in text.split("\n") if line.strip()]  # not splitlines: texts hold U+2028


def parse_date(text: str) -> datetime:
    """A date such as `2023/05/30 (Tue) 23:42`, as UTC. Raises ValueError."""
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no date of LongMemEval.")
    return datetime(*map(int, found.groups()), tzinfo=UTC)  # type: ignore[arg-type, misc]


def stream_of(row: dict[str, Any]) -> Stream:
    """One question with its sessions, the oldest first."""
    sessions = sorted(
        zip(map(parse_date, row["haystack_dates"]), row["haystack_session_ids"], row["haystack_sessions"], strict=True),
        key=lambda session: session[0],
    )
    sides = []
    evidence: set[str] = set()
    for number, (at, name, turns) in enumerate(sessions):
        for place, turn in enumerate(turns):
            text = clean_text(turn["content"])
            if not text.strip():
                continue
            role, speaker = ROLES[turn["role"]]
            side = f"{number}:{name}:{place}"
            sides.append((number, role, speaker, text, at, side))
            if turn.get("has_answer"):
                evidence.add(side)
    name = row["question_id"]
    at = parse_date(row["question_date"])
    asked = Question(name, row["question"], at, frozenset(evidence), row["question_type"], str(row.get("answer", "")))
    answerable = bool(evidence) and not name.endswith("_abs")
    return Stream(name, "user_assistant", numbered(sides), (asked,) if answerable else (), group=name)
