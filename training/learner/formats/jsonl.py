"""AGORA's own JSONL of turns (docs/trajectory-format.md), with lines of questions that name their evidence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory.engine.trajectories.jsonl import read_jsonl
from memory.engine.trajectories.records import Trajectory
from memory.engine.types import Side
from training.learner.streams import Question, Stream, StreamSide

UNKNOWN = datetime(1970, 1, 1, tzinfo=UTC)


def read(paths: Sequence[Path]) -> list[Stream]:
    """A stream a conversation.

    A line with `question` is one: `{"question": text, "evidence": [side ids], "conversation": id, "at": instant,
    "category": name}`; all but the first two may be left out (then it asks the file's only conversation, at its end).
    """
    streams: list[Stream] = []
    for path in paths:
        told: list[tuple[str, Any]] = []
        asked: list[tuple[str, Any]] = []
        for line in path.read_text(encoding="utf-8-sig").split("\n"):
            row = json.loads(line) if line.strip() else None
            (asked if isinstance(row, dict) and "question" in row else told).append((line, row))
        trajectories = read_jsonl("\n".join(line for line, _ in told).encode())
        rows = [row for _, row in asked]
        only = trajectories[0].external_id if len(trajectories) == 1 else None
        streams += [_stream(one, [row for row in rows if row.get("conversation", only) == one.external_id])
                    for one in trajectories]  # fmt: skip
    return streams


def _stream(trajectory: Trajectory, rows: Sequence[dict[str, Any]]) -> Stream:
    sides: list[StreamSide] = []
    for turn in trajectory.turns:
        for side, said in ((Side.OBSERVATION, turn.observation), (Side.ACTION, turn.action)):
            if said is None:
                continue
            same = bool(sides) and sides[-1].session == turn.session
            sides.append(
                StreamSide(
                    said.external_id,
                    said.text,
                    said.role,
                    said.speaker,
                    said.at or UNKNOWN,
                    turn.session,
                    sides[-1].position + 1 if same else 0,
                    turn.ordinal,
                    side,
                )
            )
    known = {side.id for side in sides}
    questions = []
    for number, row in enumerate(rows):
        evidence = frozenset(row.get("evidence") or ())
        missing = evidence - known
        if not evidence:
            raise ValueError(f"A question about {trajectory.external_id} names no evidence: {row['question']}")
        if missing:
            raise ValueError(f"Evidence that is no side of {trajectory.external_id}: {sorted(missing)}")
        at = datetime.fromisoformat(row["at"]) if row.get("at") else sides[-1].at
        name = f"{trajectory.external_id}:{number}"
        questions.append(Question(name, row["question"], at, evidence, row.get("category", "")))
    return Stream(trajectory.external_id, trajectory.kind, sides, questions, group=trajectory.external_id)
