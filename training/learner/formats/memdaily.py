"""MemDaily: Chinese messages of one person about a day's facts; 60 short trajectories laid end to end make a bank."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory.engine.types import Role, Side
from training.learner.streams import Question, Stream, StreamSide

LAID_END_TO_END = 60
SEED = 5
SPEAKER = "User"
_DATE = re.compile(r"(\d{4})年(\d{2})月(\d{2})日\D+(\d{2}):(\d{2})")


def read(paths: Sequence[Path]) -> list[Stream]:
    """All trajectories of all files in name order, shuffled with one seed, in groups of 60; the last is shorter."""
    trajectories: list[tuple[str, dict[str, Any]]] = []
    for path in sorted(paths, key=lambda path: path.name):
        trajectories += [(path.stem, row) for row in json.loads(path.read_text(encoding="utf-8"))]
    random.Random(SEED).shuffle(trajectories)
    starts = range(0, len(trajectories), LAID_END_TO_END)
    return [_stream(number, trajectories[at : at + LAID_END_TO_END]) for number, at in enumerate(starts)]


def parse_date(text: str) -> datetime:
    """A date such as `2024年04月01日 周一 08:30`, as UTC. Raises ValueError."""
    found = _DATE.match(text)
    if found is None:
        raise ValueError(f"{text!r} is no date of MemDaily.")
    return datetime(*map(int, found.groups()), tzinfo=UTC)  # type: ignore[arg-type, misc]


def _stream(number: int, rows: Sequence[tuple[str, dict[str, Any]]]) -> Stream:
    sides: list[StreamSide] = []
    questions: list[Question] = []
    for session, (kind, row) in enumerate(rows):
        for position, message in enumerate(row["message_list"]):
            name = f"{session}:{message['mid']}"
            at = parse_date(message["time"])
            turn = len(sides)
            sides.append(
                StreamSide(name, message["message"], Role.USER, SPEAKER, at, session, position, turn, Side.OBSERVATION)
            )
        for question in row["question_list"]:
            evidence = frozenset(f"{session}:{step}" for step in question["target_step_id"])
            name = f"{number}:{session}:{question['qid']}"
            at, reply = parse_date(question["time"]), str(question.get("answer", ""))
            questions.append(Question(name, question["question"], at, evidence, kind, reply))
    return Stream(f"memdaily-{number}", "user_assistant", sides, questions, group=f"memdaily-{number}")
