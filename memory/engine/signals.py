"""Per-candidate signals of one recall: what the recall head weighs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import regex

from memory.engine.columns import Columns, columns
from memory.engine.dates import intervals
from memory.engine.lexical import terms
from memory.engine.types import Cue, Floats, MemoryItem

NAMES: tuple[str, ...] = (
    "cosine", "lexical", "cosine_previous", "cosine_next", "lexical_previous", "lexical_next",
    "speaker_named", "is_question", "assistant_said", "tool_said", "pinned", "formed", "recency", "age",
    "date_agreement", "length", "numbers", "dated", "when_dated", "when_speaker", "count_numbers", "importance",
    "recalled", "similarity", "coverage",
)  # fmt: skip
NORMALISED: tuple[str, ...] = ("cosine", "lexical", "age", "length", "importance", "recalled")

Indices = npt.NDArray[np.int64]
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Arabic}\p{Cyrillic}\p{Devanagari}]")
_LETTER = regex.compile(r"\p{L}")
_WHEN = regex.compile(
    r"^\W*(?:so |and |but )?when\b|\b(?:what|which) (?:date|day|month|year|time)\b|\bhow long ago\b|"
    r"什么时候|几月|几号|何时",
    regex.IGNORECASE,
)
_COUNT = regex.compile(
    r"\bhow (?:many|much|old|long|far|tall|often|big|large)\b|\bwhat (?:number|amount|price|age)\b|"
    r"多少|几个|几岁|多大|多高|多久",
    regex.IGNORECASE,
)
DAY = 86_400.0  # seconds
TOLD_AFTER = 7.0  # days: how soon people tell of what happened
FEW = 8  # speakers that are looked for one by one


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
    adapted: Floats | None = None  # (N,) cosine in the space of the vector adapter, where there is one


@dataclass(frozen=True)
class Signals:
    """The signals of all candidates, (N, len(NAMES)), and the constants that z-scoring used."""

    values: Floats
    normalisation: Mapping[str, tuple[float, float]]


def compute(cue: Cue, candidates: Candidates) -> Signals:
    """Turn raw scores into signals. Cosine and BM25 are z-scored within the candidates, a neighbour's score is the
    neighbour's own z-score (0 where there is none); `similarity` and `coverage` stay absolute, for the floor.

    With a vector adapter the cosines are those of its space, all but `similarity`: the floor was set in the frozen.
    """
    of_items = columns(candidates.items)
    normalised, constants = _normalised(cue, candidates, of_items)
    cosine, lexical, *_others = normalised
    named = _speaker_named(cue.text, candidates.items, of_items)
    when, count = bool(_WHEN.search(cue.text)), bool(_COUNT.search(cue.text))
    by_name = {
        **dict(zip(NORMALISED, normalised, strict=True)),
        "cosine_previous": _of_neighbour(cosine, candidates.previous),
        "cosine_next": _of_neighbour(cosine, candidates.next),
        "lexical_previous": _of_neighbour(lexical, candidates.previous),
        "lexical_next": _of_neighbour(lexical, candidates.next),
        "speaker_named": named,
        "is_question": of_items["question"],
        "assistant_said": of_items["assistant"],
        "tool_said": of_items["tool"],
        "pinned": of_items["pinned"],
        "formed": of_items["formed"],
        "recency": _recency(of_items),
        "date_agreement": _date_agreement(cue, of_items),
        "numbers": of_items["numbers"],
        "dated": of_items["dated"],
        "when_dated": when * of_items["dated"],
        "when_speaker": when * named,
        "count_numbers": count * of_items["numbers"],
        "similarity": candidates.cosine,
        "coverage": candidates.coverage,
    }
    values = np.empty((len(NAMES), len(candidates.items)), dtype=np.float32).T  # signal by signal, as it is filled
    for number, name in enumerate(NAMES):
        values[:, number] = by_name[name]
    return Signals(values, constants)


@lru_cache(maxsize=16)  # a recall asks several times of one cue
def reads_like_english(text: str) -> bool:
    """Say whether the (English) encoder can read most of the text's letters."""
    letters = len(_LETTER.findall(text))
    return letters == 0 or len(_UNSPACED.findall(text)) * 2 < letters


def _normalised(cue: Cue, candidates: Candidates, of_items: Columns) -> tuple[Floats, dict[str, tuple[float, float]]]:
    """The signals of `NORMALISED` in deviations from their mean, (len(NORMALISED), N), and mean and deviation of each.

    What is alike for all candidates says nothing: it is 0, and so is its deviation.
    """
    raw = np.empty((len(NORMALISED), len(candidates.items)), dtype=np.float32)
    raw[0] = candidates.cosine if candidates.adapted is None else candidates.adapted
    raw[1], raw[2], raw[3] = candidates.lexical, _age(cue, of_items), of_items["length"]
    raw[4], raw[5] = of_items["importance"], np.log1p(of_items["recalls"])
    if not raw.size:
        return raw, dict.fromkeys(NORMALISED, (0.0, 0.0))
    mean, deviation = raw.mean(axis=1), raw.std(axis=1)
    alike = deviation < 1e-6
    deviation[alike] = 0.0
    constants = dict(zip(NORMALISED, zip(mean.tolist(), deviation.tolist(), strict=True), strict=True))
    raw -= mean[:, None]
    raw /= np.where(alike, np.float32(1), deviation)[:, None]
    raw[alike] = 0.0
    return raw, constants


def _of_neighbour(scores: Floats, neighbour: Indices) -> Floats:
    out = np.zeros_like(scores)
    there = neighbour >= 0
    out[there] = scores[neighbour[there]]
    return out


def _age(cue: Cue, of_items: Columns) -> Floats:
    """ln(1 + days) from when a memory was said to the cue, 0 for what lies ahead."""
    days = np.maximum(0.0, cue.at.timestamp() - of_items["at"]) / DAY
    return np.asarray(np.log1p(days), dtype=np.float32)


def _date_agreement(cue: Cue, of_items: Columns) -> Floats:
    """1 for what was said in a time that the cue speaks of; people tell afterwards, so it fades in the days behind."""
    out = np.zeros(len(of_items["at"]), dtype=np.float32)
    for start, end in intervals(cue.text, cue.at):
        late = (of_items["at"] - end.timestamp()) / DAY
        after = np.where(late < 0, 1.0, np.exp(-np.maximum(late, 0) / TOLD_AFTER))
        out = np.maximum(out, np.where(of_items["at"] >= start.timestamp(), after, 0.0)).astype(np.float32)
    return out


def _recency(of_items: Columns) -> Floats:
    """The newest candidate 1, the oldest 0, by order in time: of two rivals the later one is likelier to hold."""
    at = of_items["at"]
    order = np.argsort(at, kind="stable")
    ranked = at[order]
    later = np.zeros(len(at))
    later[1:] = ranked[1:] != ranked[:-1]
    ranks = np.cumsum(later)
    recency = np.empty(len(at), dtype=np.float32)
    recency[order] = ranks / max(1.0, float(ranks[-1:].sum()))
    return recency


@lru_cache(maxsize=1_000)
def _name(speaker: str) -> frozenset[str]:
    return frozenset(terms(speaker))


def _speaker_named(text: str, items: Sequence[MemoryItem], of_items: Columns) -> npt.NDArray[np.bool_]:
    """Whether the text names the candidate's speaker, (N,)."""
    words, codes = set(terms(text)), of_items["speaker"]
    named = np.zeros(len(codes), dtype=np.bool_)
    for first in _first_of_each(codes):
        if not words.isdisjoint(_name(items[first].speaker)):
            named |= codes == codes[first]
    return named


def _first_of_each(codes: Indices) -> list[int]:
    """Where each code stands first. Of the few that a bank mostly has they are found without sorting all."""
    left = np.ones(len(codes), dtype=np.bool_)
    found: list[int] = []
    while left.any():
        if len(found) == FEW:
            return [int(first) for first in np.unique(codes, return_index=True)[1]]
        found.append(int(left.argmax()))
        left &= codes != codes[found[-1]]
    return found
