"""Hindsight: what later replies made of what was told before, as labels of its importance. No person, no gold.

A memory is credited where it was recalled for a question *and* the reply that followed took rare words from it that
the question did not have; of several the one that brought the words up, not one that only says them again, and an
identifier that a later action passes on credits what showed it last. Being recalled alone is no credit: as a label
it does harm. So are statements, whose replies reuse words by the way: only cues that ask are read
(docs/lab-log.md, "Self-supervision").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.engine.features import identifiers
from memory.engine.lexical import K1, B, terms
from memory.engine.posterior import Doubles

Indices = npt.NDArray[np.int64]

MOST = 20  # of the memories recalled for one cue: those further down can hardly have been handed on
TRUSTED = 0.5  # share of the head's own logit that counts as evidence of which memory was used
ENOUGH = 1.5  # BM25 of what was used by the reply, from which on a credit is whole: a bare "2" says little
LEAST_BACK = 2  # sides between an action and the latest showing of what it passes on


@dataclass(frozen=True)
class Credit:
    """Which memories one later reply or action used: rows (K,) among all, and the share of the credit of each, 0..1."""

    rows: Indices
    shares: Doubles


@dataclass(frozen=True)
class Lived:
    """A question that was asked, the reply that followed, and what had been recalled for it: rows, best first, with
    their logits over the temperature. All of them were told before."""

    cue: str
    reply: str
    rows: Indices  # (K,)
    logits: Doubles  # (K,)


class Told:
    """The N memories of one bank in the order in which they were told, as hindsight reads them."""

    def __init__(self, texts: Sequence[str], sessions: Sequence[Hashable]) -> None:
        self.words = [Counter(terms(text)) for text in texts]
        self.fresh: list[frozenset[str]] = []  # the words that nobody had said before in the session
        said: dict[Hashable, set[str]] = {}
        for words, session in zip(self.words, sessions, strict=True):
            before = said.setdefault(session, set())
            self.fresh.append(frozenset(words.keys() - before))
            before.update(words)
        self._holding = Counter(word for words in self.words for word in words)
        self._length = [sum(words.values()) for words in self.words]
        self._mean = sum(self._length) / len(self._length) if self._length else 1.0

    def __len__(self) -> int:
        return len(self.words)

    def idf(self, word: str) -> float:
        """ln(1 + (N - n + .5) / (n + .5)): what a word says among these memories."""
        n = self._holding.get(word, 0)
        return math.log(1 + (len(self) - n + 0.5) / (n + 0.5))

    def brought(self, words: Collection[str], rows: Indices) -> Doubles:
        """BM25 of each of `rows` for those of the `words` that it brought up first in its session, (K,)."""
        weights = {word: self.idf(word) for word in words}
        out = np.zeros(len(rows))
        for place, row in enumerate(rows.tolist()):
            usual = K1 * (1 - B + B * self._length[row] / (self._mean or 1.0))
            counts = self.words[row]
            shared = self.fresh[row] & weights.keys()
            out[place] = sum(weights[word] * counts[word] * (K1 + 1) / (counts[word] + usual) for word in shared)
        return out


def credited(told: Told, lived: Lived, importance: Doubles) -> Credit | None:
    """What the reply used of what was recalled, given the head's logit of each memory (N,); None if nothing.

    The share of each is its chance of being what was used: a softmax over how well it fitted the cue, what of the
    reply it brought up, and the head's own opinion; all of it smaller where hardly anything of the reply is found.
    """
    rows = lived.rows[:MOST]
    new = sorted(set(terms(lived.reply)) - set(terms(lived.cue)))
    if not len(rows) or not new:
        return None
    found = told.brought(new, rows)
    chance = _softmax(lived.logits[:MOST] + found + TRUSTED * importance[rows])
    whole = min(1.0, float(chance @ found) / ENOUGH)
    return Credit(rows, chance * whole) if whole > 0 else None


def passed_on(
    texts: Sequence[str], side: Sequence[int], said: Sequence[str], actions: Collection[int],
    session: Sequence[Hashable],
) -> list[Credit]:  # fmt: skip
    """What later actions passed on: a credit for every identifier in an action that was shown at least two sides back.

    `texts` (N,) are the memories and `side` (N,) the number of the side that each was told by; `said` (S,) are the
    sides whole, in order, `session` (S,) which of them belong together, `actions` which of them act.
    """
    memories: dict[int, list[int]] = {}
    for row, number in enumerate(side):
        memories.setdefault(number, []).append(row)
    shown: dict[tuple[Hashable, str], int] = {}
    out: list[Credit] = []
    for at, text in enumerate(said):
        names = sorted(identifiers(text))
        for name in names if at in actions else ():
            last = shown.get((session[at], name))
            if last is None or at - last < LEAST_BACK:
                continue
            rows = [row for row in memories.get(last, ()) if name in texts[row]]
            if rows:
                out.append(Credit(np.array(rows), np.ones(len(rows))))
        shown.update({(session[at], name): at for name in names})
    return out


def values_of(size: int, credits: Sequence[Credit]) -> Doubles:
    """The label of each of `size` memories, 0..1: the chance that any of the credits is its."""
    missed = np.ones(size)
    for credit in credits:
        np.multiply.at(missed, credit.rows, 1.0 - np.clip(credit.shares, 0.0, 1.0))
    return 1.0 - missed


def _softmax(logits: Doubles) -> Doubles:
    exponentials = np.exp(logits - logits.max())
    return np.asarray(exponentials / exponentials.sum())
