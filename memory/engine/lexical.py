"""The lexical half of recall: one tokenizer for every script, and BM25 over the memories that a bank holds."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import regex
import snowballstemmer

from memory.engine.types import Floats

K1, B = 1.2, 0.75

# Scripts without spaces between words: overlapping pairs of characters stand for words.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_SPACED = rf"[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}\u30fc]]+"
_WORD = regex.compile(
    rf"[{_UNSPACED}\p{{M}}\u30fc]+|{_SPACED}(?:[-_.@:/#'’]{_SPACED})*|[\p{{Emoji_Presentation}}]", regex.V1
)
_RUN = regex.compile(rf"[{_UNSPACED}\p{{M}}\u30fc]+")
_FORMAT = regex.compile(r"\p{Cf}")
_PART = regex.compile(r"[-_.@:/#'’]")

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between both but
    by can could did do does doing don down during each few for from further get got had has have having he her here
    hers herself him himself his how i if in into is it its itself just let like ll m me more most my myself no nor not
    now of off oh ok okay on once only or other our ours out over own re really s same she should so some such t than
    that the their theirs them then there these they this those through to too under until up us ve very was we well
    were what when where which while who whom why will with would yeah yes you your yours yourself""".split()  # noqa: SIM905
)


@lru_cache(maxsize=1)
def _stemmer() -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Stem one lower-case word (Snowball English; words of other scripts come back unchanged)."""
    return str(_stemmer().stemWord(word)) if word.isascii() else word


def terms(text: str) -> list[str]:
    """Split `text` into terms, the same way for memories and cues.

    NFKC, case folded, format characters out; spaced scripts stemmed without stop words; runs of unspaced scripts as
    overlapping pairs; identifiers whole and in parts. A text of stop words alone keeps them, so that every text with
    a letter in it can be found by its own words.
    """
    return list(_terms(text))


@lru_cache(maxsize=16)  # a turn asks several times of one text; none stays for long
def _terms(text: str) -> tuple[str, ...]:
    folded = _FORMAT.sub("", unicodedata.normalize("NFKC", text).casefold())
    out: list[str] = []
    stopped: list[str] = []
    for word in _WORD.findall(folded):
        if word.isascii() and word.isalnum():  # most words, by the short way
            (stopped if word in STOP_WORDS else out).append(stem(word))
            continue
        if _RUN.fullmatch(word):
            out += [word] if len(word) == 1 else [word[i : i + 2] for i in range(len(word) - 1)]
            continue
        parts = [part for part in _PART.split(word) if part]
        if len(parts) > 1 and not _is_contraction(word):
            out.append(word)
        for part in parts:
            (stopped if part in STOP_WORDS else out).append(stem(part))
    return tuple(out or stopped)


def _is_contraction(word: str) -> bool:
    return "'" in word or "’" in word


class LexicalIndex:
    """Term postings over numbered slots, changed one memory at a time; scores by BM25 (Robertson and Zaragoza 2009).

    Document frequencies are this bank's alone: no other tenant's words leak into a score.
    """

    def __init__(self) -> None:
        self._postings: dict[str, dict[int, int]] = {}  # term -> slot -> how often
        self._length: dict[int, int] = {}
        self._lengths: Floats = np.zeros(64, dtype=np.float32)  # the same by slot, where there is one
        self._total = 0

    def __len__(self) -> int:
        return len(self._length)

    def add(self, slot: int, words: Sequence[str]) -> None:
        """Index the terms of the memory in `slot`."""
        for term, count in Counter(words).items():
            self._postings.setdefault(term, {})[slot] = count
        self._length[slot] = len(words)
        if slot >= len(self._lengths):
            more = max(slot + 1, 2 * len(self._lengths)) - len(self._lengths)
            self._lengths = np.concatenate([self._lengths, np.zeros(more, dtype=np.float32)])
        self._lengths[slot] = len(words)
        self._total += len(words)

    def discard(self, slot: int, words: Iterable[str]) -> None:
        """Take the memory in `slot`, whose terms are `words`, out again."""
        for term in set(words):
            posting = self._postings.get(term)
            if posting is None:
                continue
            posting.pop(slot, None)
            if not posting:
                del self._postings[term]
        if slot in self._length:
            self._total -= self._length.pop(slot)
            self._lengths[slot] = 0

    def idf(self, term: str) -> float:
        """Weight of a term: ln(1 + (N - n + .5) / (n + .5)), never negative."""
        n, count = len(self._length), len(self._postings.get(term, ()))
        return math.log(1 + (n - count + 0.5) / (count + 0.5))

    def unseen(self, words: Sequence[str]) -> float:
        """Share of the different `words` that no memory holds, 0 for no words and for an empty index."""
        different = set(words)
        if not different or not self._length:
            return 0.0
        return sum(word not in self._postings for word in different) / len(different)

    def scores(self, cue_terms: Sequence[str], slots: int) -> Floats:
        """BM25 of every slot for the cue, as (slots,) float32; empty slots score 0."""
        return self.scores_and_coverage(cue_terms, slots)[0]

    def coverage(self, cue_terms: Sequence[str], slots: int) -> Floats:
        """Share of the cue's idf mass that each slot's memory holds, as (slots,) float32 in [0, 1]."""
        return self.scores_and_coverage(cue_terms, slots)[1]

    def scores_and_coverage(self, cue_terms: Sequence[str], slots: int) -> tuple[Floats, Floats]:
        """Both in one pass: to read the postings of common words is what takes the time."""
        score, held = np.zeros(slots, dtype=np.float32), np.zeros(slots, dtype=np.float32)
        mean = self._total / len(self._length) if self._total else 1.0
        total = 0.0
        for term in set(cue_terms):
            weight = self.idf(term)
            total += weight
            posting = self._postings.get(term)
            if not posting:
                continue
            at = np.fromiter(posting.keys(), dtype=np.int64, count=len(posting))
            tf = np.fromiter(posting.values(), dtype=np.float32, count=len(posting))
            score[at] += weight * tf * (K1 + 1) / (tf + K1 * (1 - B + B * self._lengths[at] / mean))
            held[at] += weight
        return score, held / np.float32(total) if total else held

    def score_outside(self, cue_terms: Sequence[str], words: Sequence[str]) -> tuple[float, float]:
        """BM25 and coverage of a text that is not indexed (an archived memory), by this bank's frequencies."""
        counts: Mapping[str, int] = Counter(words)
        mean = (self._total / len(self._length) if self._length else len(words)) or 1.0
        score = held = total = 0.0
        for term in set(cue_terms):
            weight = self.idf(term)
            total += weight
            tf = counts.get(term, 0)
            if tf:
                held += weight
                score += weight * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(words) / mean))
        return score, held / total if total else 0.0
