"""Runs about one thing, made into one more general memory without an LLM: which memories, and in which words.

The words are taken from the memories themselves, sentence by sentence. Merging loses what it leaves out, so it leaves
out only courtesy, repetitions and, for room, sentences that say little; never one that negates.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid5

import numpy as np

from memory.engine.features import has_code, is_small_talk, negations
from memory.engine.hot import HotBank
from memory.engine.lexical import terms
from memory.engine.retention.policy import Merging
from memory.engine.text import WINDOW_TOKENS, count_tokens, sentences
from memory.engine.types import Floats, MemoryItem, NewSide, Role

KIND = "merged"
GAP = 4  # sides of a session between two neighbours of a run, at most
WITHIN = timedelta(days=1)  # "yesterday" in it must mean one day
SPEAKER_LETTERS = 120
_VOICES = {Role.USER: "people", Role.OTHER: "people", Role.ASSISTANT: "assistant"}

Idf = Callable[[str], float]


@dataclass(frozen=True)
class Run:
    """Memories about one thing, in order of time, and the words that stand for all of them."""

    parts: tuple[MemoryItem, ...]
    text: str

    @property
    def best(self) -> MemoryItem:
        """The part with the highest importance."""
        return max(self.parts, key=lambda part: part.importance)

    @property
    def role(self) -> Role:
        """The parts' role; where a user and others speak, `other`: not all of it is the user's word."""
        roles = {part.role for part in self.parts}
        return roles.pop() if len(roles) == 1 else Role.OTHER

    @property
    def speaker(self) -> str:
        """Who speaks in it, each once."""
        return ", ".join(dict.fromkeys(part.speaker for part in self.parts if part.speaker))[:SPEAKER_LETTERS]


def can_merge(item: MemoryItem) -> bool:
    """Whether a memory can be part of a run: words of people or of the assistant, that say something.

    What a tool returned and what holds code must stay exact; a merged memory is never merged again; what is pinned
    stays as it is.
    """
    return (
        item.kind == "side"
        and not item.pinned
        and item.role in _VOICES
        and not has_code(item.text)
        and not is_small_talk(item.text)
    )


def run_round(
    memory: MemoryItem, hot: HotBank, merging: Merging, allowed: Callable[[MemoryItem], bool]
) -> Run | None:  # fmt: skip
    """The longest run round a held memory, of memories that are `allowed`; None where it has none.

    The run grows to the nearer of its two neighbours in time as long as each pair is alike enough: what merely leads
    from one thing to the next by small steps is not about one thing.
    """
    near = [
        item for item in hot.session_of(memory.id)
        if allowed(item) and _VOICES[item.role] == _VOICES[memory.role] and abs(item.at - memory.at) <= WITHIN
    ]  # fmt: skip
    here = next((place for place, item in enumerate(near) if item.id == memory.id), None)
    if here is None:
        return None
    vectors = hot.vectors([item.id for item in near])
    grown = _grown(near, vectors, here, merging)
    while len(grown) > 1:  # the last that came is the farthest
        parts = tuple(near[place] for place in sorted(grown))
        text = general_text(parts, merging.share, hot.index.idf)
        if text is not None:
            return Run(parts, text)
        grown.pop()
    return None


def _grown(near: Sequence[MemoryItem], vectors: Floats, here: int, merging: Merging) -> list[int]:
    """Places of the run in the order in which they came to it."""
    run = [here]
    while len(run) < merging.most:
        first, last = min(run), max(run)
        beside = [
            (float((vectors[run] @ vectors[other]).min()), other)
            for other, neighbour in ((first - 1, first), (last + 1, last))
            if 0 <= other < len(near) and _close(near[other], near[neighbour])
        ]
        alike, other = max(beside, default=(0.0, -1))
        if other < 0 or alike < merging.similarity or _span(near, [*run, other]) > WITHIN:
            break
        run.append(other)
    return run


def _close(one: MemoryItem, other: MemoryItem) -> bool:
    return abs(one.place.position - other.place.position) <= GAP


def _span(near: Sequence[MemoryItem], run: Sequence[int]) -> timedelta:
    at = [near[place].at for place in run]
    return max(at) - min(at)


@dataclass(frozen=True)
class Said:
    """One sentence of a part of a run."""

    part: int
    text: str
    words: tuple[str, ...]
    negations: int

    def repeats(self, other: Said, speakers: Sequence[str]) -> bool:
        """Whether the other says all of this: the same speaker, these terms in this order, as many negations."""
        if self.negations != other.negations or speakers[self.part] != speakers[other.part]:
            return False
        rest = iter(other.words)
        return all(word in rest for word in self.words)


def general_text(parts: Sequence[MemoryItem], share: float, idf: Idf) -> str | None:
    """The words of a run: its sentences in their order, with the speakers where these differ.

    Courtesy and repetitions are out. At most `share` of the run's tokens, and what the encoder reads whole: the
    sentences with most rare words stay, and in any case one of each part and all that negate. None where these do not
    fit, or a part has nothing to say.
    """
    speakers = [part.speaker for part in parts]
    told = _told_once(said(parts), speakers)
    limit = min(WINDOW_TOKENS, int(share * sum(part.tokens for part in parts)))
    by_worth = sorted(told, key=lambda one: -_worth(one, idf))
    chosen = {one for one in told if one.negations}
    for part in range(len(parts)):
        best = next((one for one in by_worth if one.part == part), None)
        if best is not None:
            chosen.add(best)
        elif not any(one.part == part for one in said(parts)):
            return None
    if count_tokens(written([one for one in told if one in chosen], speakers)) > limit:
        return None
    for one in by_worth:
        more = [other for other in told if other in chosen or other == one]
        if count_tokens(written(more, speakers)) <= limit:
            chosen.add(one)
    return written([one for one in told if one in chosen], speakers)


def said(parts: Sequence[MemoryItem]) -> list[Said]:
    """All sentences but courtesy; a "no" or "yes" right after a question is an answer."""
    out: list[Said] = []
    asked = False
    for number, part in enumerate(parts):
        for sentence in sentences(part.text):
            if asked or not is_small_talk(sentence):
                out.append(Said(number, sentence, tuple(terms(sentence)), negations(sentence)))
            asked = sentence.endswith(("?", "？", "؟"))
    return out


def _told_once(said: Sequence[Said], speakers: Sequence[str]) -> list[Said]:
    """Without those that another one says too; of two that say the same the first stays."""

    def repeated(place: int) -> bool:
        one = said[place]
        return any(
            one.repeats(other, speakers) and (len(other.words) > len(one.words) or number < place)
            for number, other in enumerate(said) if number != place
        )  # fmt: skip

    return [one for place, one in enumerate(said) if not repeated(place)]


def _worth(one: Said, idf: Idf) -> float:
    """How rare its words are, by the root of its length, as under a token budget."""
    return float(sum(idf(word) for word in set(one.words)) / max(1, count_tokens(one.text)) ** 0.5)


def written(chosen: Sequence[Said], speakers: Sequence[str]) -> str:
    """Sentences of one speaker after the other stand in one line."""
    lines: list[tuple[str, list[str]]] = []
    for one in chosen:
        speaker = speakers[one.part]
        if not lines or lines[-1][0] != speaker:
            lines.append((speaker, []))
        lines[-1][1].append(one.text)
    named = len(set(speakers)) > 1
    return "\n".join(f"{who}: {' '.join(told)}" if named and who else " ".join(told) for who, told in lines)


def side_of(run: Run, vectors: Floats, seq: int, kind: str = KIND) -> NewSide:
    """The run as something to be written: at its first part's place, with the mean of its parts' vectors (K, E).

    The id follows from the parts and the event's number, so that a replay makes the same one. The content names the
    parts, not the words: nobody can tell a merged memory again.
    """
    first = run.parts[0]
    mean = vectors.mean(axis=0)
    names = ":".join(str(part.id) for part in run.parts)
    return NewSide(
        id=uuid5(first.id, f"{kind} {seq}"), text=run.text, role=run.role, speaker=run.speaker, at=first.at,
        turn=first.turn, side=first.side, place=first.place, piece=first.piece,
        content=hashlib.sha256(f"{kind}:{names}".encode()).digest(),
        vector=np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), dtype=np.float32),
    )  # fmt: skip


def item_of(run: Run, side: NewSide) -> MemoryItem:
    """The merged memory: worth what its best part is, as old as the newest, as much recalled as the most recalled."""
    parts = run.parts
    return MemoryItem(
        id=side.id, text=side.text, role=side.role, speaker=side.speaker, at=side.at, turn=side.turn,
        side=side.side, place=side.place, piece=side.piece, kind=KIND, tokens=count_tokens(side.text),
        importance=run.best.importance, written=max(part.written for part in parts),
        written_at=max((part.written_at for part in parts if part.written_at), default=None),
        recalls=max(part.recalls for part in parts), strength=max(part.strength for part in parts),
        last_recalled=max((part.last_recalled for part in parts if part.last_recalled), default=None),
    )  # fmt: skip
