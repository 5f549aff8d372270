"""Per-candidate signals of one recall: what the recall head weighs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import regex

from memory.engine.columns import Columns, columns
from memory.engine.lexical import terms
from memory.engine.types import Cue, Floats, MemoryItem

NAMES: tuple[str, ...] = (
    "cosine", "lexical", "cosine_previous", "cosine_next", "lexical_previous", "lexical_next",
    "speaker_named", "is_question", "assistant_said", "pinned", "recency",
    "similarity", "coverage",
)  # fmt: skip
NORMALISED: tuple[str, ...] = ("cosine", "lexical")

Indices = npt.NDArray[np.int64]
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Arabic}\p{Cyrillic}\p{Devanagari}]")
_LETTER = regex.compile(r"\p{L}")


@dataclass(frozen=True)
class Candidates:
    """What one recall chooses from; every array has one row a candidate."""

    items: Sequence[MemoryItem]
    cosine: Floats  # (N,) with the cue
    lexical: Floats  # (N,) BM25
    coverage: Floats  # (N,) share of the cue's idf mass, 0..1
    previous: Indices  # (N,) row of the side before in the same session, -1 where it is no candidate
    next: Indices
    archived: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Signals:
    """The signals of all candidates, (N, len(NAMES)), and the constants that z-scoring used."""

    values: Floats
    normalisation: Mapping[str, tuple[float, float]]


def compute(cue: Cue, candidates: Candidates) -> Signals:
    """Turn raw scores into signals. Cosine and BM25 are z-scored within the candidates, a neighbour's score is the
    neighbour's own z-score (0 where there is none); `similarity` and `coverage` stay absolute, for the floor."""
    constants: dict[str, tuple[float, float]] = {}
    cosine = _z("cosine", candidates.cosine, constants)
    lexical = _z("lexical", candidates.lexical, constants)
    of_items = columns(candidates.items)
    by_name = {
        "cosine": cosine,
        "lexical": lexical,
        "cosine_previous": _of_neighbour(cosine, candidates.previous),
        "cosine_next": _of_neighbour(cosine, candidates.next),
        "lexical_previous": _of_neighbour(lexical, candidates.previous),
        "lexical_next": _of_neighbour(lexical, candidates.next),
        "speaker_named": _speaker_named(cue.text, candidates.items, of_items),
        "is_question": of_items["question"],
        "assistant_said": of_items["assistant"],
        "pinned": of_items["pinned"],
        "recency": _recency(of_items),
        "similarity": candidates.cosine,
        "coverage": candidates.coverage,
    }
    values = np.empty((len(candidates.items), len(NAMES)), dtype=np.float32)
    for number, name in enumerate(NAMES):
        values[:, number] = by_name[name]
    return Signals(values, constants)


def reads_like_english(text: str) -> bool:
    """Say whether the (English) encoder can read most of the text's letters."""
    letters = len(_LETTER.findall(text))
    return letters == 0 or len(_UNSPACED.findall(text)) * 2 < letters


def _z(name: str, raw: Floats, constants: dict[str, tuple[float, float]]) -> Floats:
    mean, deviation = (float(raw.mean()), float(raw.std())) if len(raw) else (0.0, 0.0)
    if deviation < 1e-6:  # all alike: the signal says nothing
        constants[name] = (mean, 0.0)
        return np.zeros_like(raw)
    constants[name] = (mean, deviation)
    return (raw - np.float32(mean)) / np.float32(deviation)


def _of_neighbour(scores: Floats, neighbour: Indices) -> Floats:
    out = np.zeros_like(scores)
    there = neighbour >= 0
    out[there] = scores[neighbour[there]]
    return out


def _recency(of_items: Columns) -> Floats:
    """The newest candidate 1, the oldest 0, by order in time: of two rivals the later one is likelier to hold."""
    at = of_items["at"]
    ranks = np.searchsorted(np.unique(at), at)
    return np.asarray(ranks / max(1, int(ranks.max(initial=0))), dtype=np.float32)


def _speaker_named(text: str, items: Sequence[MemoryItem], of_items: Columns) -> npt.NDArray[np.bool_]:
    """Whether the text names the candidate's speaker, (N,)."""
    words = set(terms(text))
    codes, first = np.unique(of_items["speaker"], return_index=True)
    named = [code for code, i in zip(codes, first, strict=True) if words & set(terms(items[int(i)].speaker))]
    return np.isin(of_items["speaker"], named)
