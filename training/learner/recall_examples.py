"""Examples for the recall head: the signals of every memory for one cue, and which memories hold its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import numpy as np

from memory.engine import signals
from memory.engine.encoder import Encoder
from memory.engine.types import Cue, Floats
from memory.engine.vector_adapter import VectorAdapter
from training.learner.banks import FilledBank, cue_of, cue_terms
from training.learner.streams import Question

MODES: tuple[str, ...] = ("asking", "telling", "unread")


@dataclass(frozen=True)
class RecallExample:
    """One cue over one bank of N memories."""

    question: Question
    cue: Cue
    values: Floats  # (N, len(signals.NAMES))
    target: Floats  # (N,), sums to 1: even over the evidence, and over the pieces of one side
    mode: str
    group: str


def mode_of(cue: Cue) -> str:
    """Which of the head's weights read this cue."""
    if not signals.reads_like_english(cue.text):
        return "unread"
    return "asking" if cue.asking else "telling"


def recall_examples(bank: FilledBank, encoder: Encoder, by: VectorAdapter | None = None) -> list[RecallExample]:
    """An example for each question of the bank's stream, by the engine's own candidates and signals; with a vector
    adapter its cosines are those of that space."""
    place: dict[UUID, int] = {item.id: number for number, item in enumerate(bank.hot.memories())}
    number_of = {side.id: number for number, side in enumerate(bank.stream.sides)}
    out: list[RecallExample] = []
    for question in bank.stream.questions:
        cue = cue_of(question, encoder)
        candidates = bank.hot.candidates(cue, cue_terms(cue), by=by)
        values = signals.compute(cue, candidates).values
        target = np.zeros(len(values), dtype=np.float32)
        for side in sorted(question.evidence):
            memories = bank.memories_of[number_of[side]]
            for memory in memories:
                target[place[memory]] += 1.0 / len(memories)
        target /= target.sum()
        out.append(RecallExample(question, cue, values, target, mode_of(cue), bank.stream.group))
    return out
