"""A memory as one turn uses it: what recall handed on, its short id, and whether the reply used it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.engine.lexical import STOP_WORDS, terms

COVERED = 0.4  # share of a memory's rare words that a reply must hold; the figure is from hindsight on LoCoMo
READ_LETTERS = 20_000  # of an observation: a megabyte of it would hold up everybody
_SHORT_ID_LETTERS = 6
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True)
class RecalledMemory:
    """One memory that recall handed to a turn.

    `role` is user, assistant, tool or other; `at` is aware; `weight` is the softmax share in this recall
    (0..1); `group` is "highly" or "maybe".
    """

    id: str
    text: str
    speaker: str
    role: str
    at: datetime
    weight: float
    group: str


def written_date(at: datetime) -> str:
    """The day of `at` written out in its own zone: 3 May 2023. Locale plays no part."""
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}"


def short_ids(recalled: Sequence[RecalledMemory]) -> dict[str, str]:
    """Name each memory shortly ("m-" and the end of its id), unique among `recalled`.

    The end, because the first half of a time-ordered UUID is the same for memories of one moment.
    """
    plain = {memory.id: "".join(filter(str.isalnum, memory.id)).casefold() for memory in recalled}
    longest = max((len(letters) for letters in plain.values()), default=0)
    for length in range(_SHORT_ID_LETTERS, longest + 1):
        if len({letters[-length:] for letters in plain.values()}) == len(plain):
            return {id_: f"m-{letters[-length:]}" for id_, letters in plain.items()}
    return {id_: f"m-{letters or number}" for number, (id_, letters) in enumerate(plain.items())}


def cited(reply: str, recalled: Sequence[RecalledMemory], observation: str = "") -> set[str]:
    """Ids of the injected memories that the reply used.

    A memory counts as used when the reply names its short id, or holds at least .4 of the memory's rare
    words, weighted by how few of the recalled memories share each. Rare words are its terms without stop
    words and without the words of `observation` (an answer repeats its question, which proves nothing); at
    least two of them must be in the reply unless the memory has only one.
    """
    names = short_ids(recalled)
    mentioned = set(re.findall(r"\bm-[a-z0-9]+\b", reply.casefold()))
    said = set(terms(reply))
    asked = set(terms(observation[:READ_LETTERS]))
    words = {memory.id: set(terms(memory.text)) - asked - STOP_WORDS for memory in recalled}
    spread = Counter(word for own in words.values() for word in own)
    return {
        memory.id
        for memory in recalled
        if names[memory.id] in mentioned or _covers(said, words[memory.id], spread, len(recalled))
    }


def _covers(said: set[str], own: set[str], spread: Counter[str], memories: int) -> bool:
    shared = own & said
    if not shared or len(shared) < min(2, len(own)):
        return False
    weight = {word: math.log(1 + memories / spread[word]) for word in own}
    return sum(weight[word] for word in shared) >= COVERED * sum(weight.values())
