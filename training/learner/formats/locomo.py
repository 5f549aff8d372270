"""LoCoMo: two people over months; questions name their evidence by message. For measuring only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory.engine.trajectories.locomo import evidence_ids, read_locomo
from memory.engine.types import Side
from training.learner.streams import Question, Stream, StreamSide

CATEGORIES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop"}  # 5, adversarial, has no evidence
LONG_AGO = datetime(2023, 1, 1, tzinfo=UTC)


def read(paths: Sequence[Path]) -> list[Stream]:
    """The conversations of LoCoMo files, with the questions of categories 1 to 4 whose evidence exists."""
    streams: list[Stream] = []
    for path in paths:
        data = path.read_bytes()
        samples = json.loads(data)
        for trajectory, sample in zip(read_locomo(data), samples, strict=True):
            sides: list[StreamSide] = []
            for turn in trajectory.turns:
                both = ((Side.OBSERVATION, turn.observation), (Side.ACTION, turn.action))
                for side, said in both:
                    if said is None:
                        continue
                    same = bool(sides) and sides[-1].session == turn.session
                    position = sides[-1].position + 1 if same else 0
                    at = said.at or LONG_AGO
                    sides.append(
                        StreamSide(
                            said.external_id,
                            said.text,
                            said.role,
                            said.speaker,
                            at,
                            turn.session,
                            position,
                            turn.ordinal,
                            side,
                        )
                    )
            asked_at = sides[-1].at + timedelta(days=1)
            questions = _questions(trajectory.external_id, sample["qa"], {side.id for side in sides}, asked_at)
            streams.append(Stream(trajectory.external_id, "two_people", sides, questions, group=trajectory.external_id))
    return streams


def _questions(name: str, rows: Sequence[dict[str, Any]], known: set[str], at: datetime) -> list[Question]:
    out: list[Question] = []
    for number, row in enumerate(rows):
        evidence = frozenset(one for text in row.get("evidence", ()) for one in evidence_ids(text)) & known
        if row["category"] in CATEGORIES and evidence:
            reply = str(row.get("answer", ""))
            out.append(Question(f"{name}:{number}", row["question"], at, evidence, CATEGORIES[row["category"]], reply))
    return out
