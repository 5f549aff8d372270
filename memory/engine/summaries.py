"""A stretch that has left a bank, in a few of its own sentences: extractive, no LLM is asked.

What was most important and most typical of a session is said once, whole sentence by whole sentence, with the speakers'
names, within a budget of tokens. The parts are only the memories whose sentences stand in it: it goes when one of them
goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from memory.engine.features import has_code, is_small_talk
from memory.engine.merging import Run, Said, item_of, said, side_of, written
from memory.engine.text import WINDOW_TOKENS, count_tokens
from memory.engine.types import Floats, MemoryItem, NewSide, Role

KIND = "summary"
LEAST = 4  # memories of a stretch: fewer say what they say
SHARE = 0.25  # of the stretch's tokens
DIVERSITY = 0.5  # how much what is said already counts against saying more of it


@dataclass(frozen=True)
class Summary:
    """What is written of one stretch: its words with the memories that they are from."""

    run: Run
    importance: float  # the chance that any of its parts is needed


def can_sum_up(item: MemoryItem) -> bool:
    """Whether a memory's sentences may stand in a summary: what tools return and code must stay exact."""
    return item.kind == "side" and item.role is not Role.TOOL and not has_code(item.text)


def summary_of(stretch: Sequence[MemoryItem], vectors: Floats, *, tokens: int = WINDOW_TOKENS) -> Summary | None:
    """The summary of memories of one session in order of time, with their vectors (N, E); None where there is too
    little to sum up.

    At most `tokens`, what the encoder reads whole, and a quarter of the stretch. Each sentence is worth its memory's
    importance times how typical that is of the stretch; the best by maximal marginal relevance stay.
    """
    if len(stretch) < LEAST:
        return None
    room = min(tokens, WINDOW_TOKENS, int(SHARE * sum(item.tokens for item in stretch)))
    chosen = _chosen(said(stretch), stretch, vectors, room)
    if len({one.part for one in chosen}) < 2:
        return None
    parts = sorted({one.part for one in chosen})
    place = {part: number for number, part in enumerate(parts)}
    kept = [replace(one, part=place[one.part]) for one in chosen]
    run = Run(tuple(stretch[part] for part in parts), written(kept, [stretch[part].speaker for part in parts]))
    return Summary(run, 1 - float(np.prod([1 - min(1.0, max(0.0, part.importance)) for part in run.parts])))


def _chosen(sentences: Sequence[Said], stretch: Sequence[MemoryItem], vectors: Floats, room: int) -> list[Said]:
    """Greedily the sentence with the best worth less likeness to what is chosen, that still fits; in their order."""
    cosines = vectors @ vectors.T
    central = np.clip((cosines.sum(axis=1) - 1) / max(1, len(stretch) - 1), 0.01, 1)
    worth = np.array([item.importance for item in stretch]) * central
    worth = worth / max(float(worth.max()), 1e-9)
    left = [one for one in sentences if not is_small_talk(one.text)]
    chosen: list[Said] = []
    while left:
        alike = {one: max((float(cosines[one.part, other.part]) for other in chosen), default=0.0) for one in left}
        best = max(left, key=lambda one: (1 - DIVERSITY) * float(worth[one.part]) - DIVERSITY * alike[one])
        left.remove(best)
        speakers = [item.speaker for item in stretch]
        more = sorted([*chosen, best], key=lambda one: (one.part, sentences.index(one)))
        if count_tokens(written(more, speakers)) <= room:
            chosen = more
    return chosen


def new_side(summary: Summary, vectors: Floats, seq: int) -> NewSide:
    """The summary as something to be written, with the mean of its parts' vectors (K, E)."""
    return side_of(summary.run, vectors, seq, KIND)


def new_item(summary: Summary, side: NewSide) -> MemoryItem:
    """The summary as a memory: worth what its parts are worth together, as old as its newest part."""
    return replace(item_of(summary.run, side), kind=KIND, importance=round(summary.importance, 6))
