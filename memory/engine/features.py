"""Cheap, causal features of a side when it is written: what the importance head sees.

Nothing here looks at what comes later, and nothing looks at a cue: importance is query-blind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import regex

from memory.engine.lexical import LexicalIndex
from memory.engine.types import Floats, Role

# Only ever appended to: stored features and the sums over them are read by place.
NAMES: tuple[str, ...] = (
    "log_words", "numbers", "date_words", "proper_nouns", "question", "exclamation", "first_person", "attachment",
    "identifiers", "amounts", "paths", "small_talk", "negation", "follows_question", "first_in_session",
    "mean_idf", "sum_idf", "novelty", "role_user", "role_assistant", "role_tool", "role_other",
    "place_in_session", "lines", "quotes", "new_words",
)  # fmt: skip

_QUESTION = regex.compile(r"[?？؟]")
_NUMBER = regex.compile(r"\p{N}+")
_DATE = regex.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|march|april|june|july|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?|monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tomorrow|yesterday|tonight|weekend|"
    r"birthday|anniversary|deadline|(?:last|next|this) (?:week|month|year|spring|summer|autumn|fall|winter)|\d+ ?[ap]m|"
    r"\d{1,2}:\d{2}|(?:19|20)\d\d)\b",
    regex.IGNORECASE,
)
_PROPER = regex.compile(r"(?<![.!?…]\s)(?<!^)\b\p{Lu}[\p{L}\p{M}'’-]+")
_FIRST_PERSON = regex.compile(r"\b(?:i|i'm|i’m|my|me|mine|we|our|us)\b", regex.IGNORECASE)
_IDENTIFIER = regex.compile(r"\b(?=[A-Za-z0-9_#-]*\d)[A-Za-z0-9_#-]{4,}\b|[\w.+-]+@[\w-]+\.\w+")
_AMOUNT = regex.compile(r"\p{Sc}\s?\d|\d\s?(?:\p{Sc}|%|kg|km|eur|usd|dollars?|euros?)(?!\p{L})", regex.IGNORECASE)
_PATH = regex.compile(
    r"https?://\S+|(?:^|\s)[~.]?/[\w.-]+(?:/[\w.-]+)+|\b[\w-]+\.(?:py|js|md|txt|csv|json|pdf|toml|ya?ml)\b"
)
_ATTACHMENT = regex.compile(r"\[shares |```|\battach(?:ed|ment)\b", regex.IGNORECASE)
_NEGATION = regex.compile(r"\b(?:not|no longer|never|n't|cannot|without)\b|n['’]t\b", regex.IGNORECASE)
_SMALL_TALK = regex.compile(
    r"^\W*(?:(?:hi|hello|hey|thanks?|thank you|thx|ok(?:ay)?|great|nice|cool|wow|awesome|sure|yes|yeah|yep|no|nope|bye|"
    r"good (?:morning|night|evening|luck|idea)|see you|take care|sounds good|you're welcome|got it|haha|lol|so much|"
    r"that|sounds|is|are|how|you|doing|a|lot|very|much|for|it)\W*)+$",
    regex.IGNORECASE,
)
_QUOTED = regex.compile(r"[\"“][^\"”]{2,}[\"”]|\*\*[^*]+\*\*")
_ASKING = regex.compile(
    r"^\W*(?:so |and |but |hey |please )*(?:who|whom|whose|what|when|where|why|which|how|do|does|did|is|are|was|were|"
    r"can|could|will|would|should|shall|have|has|had|may|remind me|tell me|show me|find|list|summari[sz]e)\b",
    regex.IGNORECASE,
)


def is_asking(text: str) -> bool:
    """Tell asking cues from telling ones by question mark and first words."""
    return bool(_QUESTION.search(text)) or bool(_ASKING.search(text))


def has_numbers(text: str) -> bool:
    """Whether a text holds a digit."""
    return bool(_NUMBER.search(text))


def is_small_talk(text: str) -> bool:
    """Whether a text is nothing but courtesy."""
    return bool(_SMALL_TALK.match(text))


def has_code(text: str) -> bool:
    """Whether a text holds a block of code."""
    return "```" in text or "~~~" in text


def identifiers(text: str) -> frozenset[str]:
    """Strings that name one thing: at least four characters with a digit among them, and e-mail addresses."""
    return frozenset(_IDENTIFIER.findall(text))


def has_dates(text: str) -> bool:
    """Whether a text speaks of days, months, hours or years."""
    return bool(_DATE.search(text))


def log_words(text: str) -> float:
    """ln(1 + words); of a text without spaces, two characters count as a word."""
    return math.log1p(text.count(" ") + 1 if " " in text else len(text) / 2)


@dataclass(frozen=True)
class Context:
    """What came before a side, as far as its features need it."""

    follows_question: bool
    first_in_session: bool
    best_cosine: float  # to the memories in the bank, 0 for an empty one
    position: int = 0  # of the side in its session


def features(text: str, words: Sequence[str], role: Role, context: Context, index: LexicalIndex) -> Floats:
    """Compute the write-time features of one side, (len(NAMES),) float32, in the order of `NAMES`.

    Counts enter as ln(1 + n): the second number in a sentence says less than the first.
    """
    idf = [index.idf(word) for word in set(words)] if len(index) else []
    values = {
        **_of_text(text),
        "log_words": math.log1p(len(text.split()) if " " in text else len(words)),
        "follows_question": float(context.follows_question),
        "first_in_session": float(context.first_in_session),
        "mean_idf": sum(idf) / len(idf) if idf else 0.0,
        "sum_idf": math.log1p(sum(idf)),
        "novelty": 1.0 - max(0.0, context.best_cosine),
        **{f"role_{name}": float(role == name) for name in Role},
        "place_in_session": math.log1p(context.position),
        "new_words": index.unseen(words),
    }
    return np.array([values[name] for name in NAMES], dtype=np.float32)


@lru_cache(maxsize=8)  # the policy lab tells one turn to many banks; no text stays for long
def _of_text(text: str) -> Mapping[str, float]:
    """What follows from the text alone."""
    return {
        "numbers": _count(_NUMBER, text),
        "date_words": _count(_DATE, text),
        "proper_nouns": _count(_PROPER, text),
        "question": float(bool(_QUESTION.search(text))),
        "exclamation": float("!" in text or "！" in text),
        "first_person": float(bool(_FIRST_PERSON.search(text))),
        "attachment": float(bool(_ATTACHMENT.search(text))),
        "identifiers": _count(_IDENTIFIER, text),
        "amounts": _count(_AMOUNT, text),
        "paths": _count(_PATH, text),
        "small_talk": float(bool(_SMALL_TALK.match(text))),
        "negation": float(bool(_NEGATION.search(text))),
        "lines": math.log1p(text.count("\n")),
        "quotes": _count(_QUOTED, text),
    }


def _count(pattern: regex.Pattern[str], text: str) -> float:
    return math.log1p(len(pattern.findall(text)))


def negations(text: str) -> int:
    """How often a text negates: two texts that differ in it never merge."""
    return len(_NEGATION.findall(text))
