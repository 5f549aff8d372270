"""Identifiers in an agent's text: what a later call passes on letter by letter, so that it must be in view."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from memory.engine.lexical import STOP_WORDS

# Codes (reservation numbers, user ids, dates, amounts of four signs), e-mails, addresses and paths ...
_CODE = regex.compile(
    r"https?://[^\s\"'<>)]+|[\w.+-]+@[\w-]+\.\w[\w.]*|(?<![\w.])[~.]{0,2}/[\w.-]+(?:/[\w.-]+)+"
    r"|\b(?=[A-Za-z0-9_#-]*\d)[A-Za-z0-9_#-]{4,}\b"
)
# ... and things told apart by a number: "drawer 2", "keychain (1)".
_NUMBERED = regex.compile(r"\b(\p{L}{2,}) \(?(\d{1,4})\)?(?![\w-])")
_WORD = regex.compile(r"[\p{L}\p{N}]{2,}")
NEARBY = 80  # characters each side of an identifier whose words tell what it is


@dataclass(frozen=True)
class Showing:
    """An identifier in a text, and the words that stand near it (folded)."""

    name: str
    nearby: frozenset[str]


def words(text: str) -> frozenset[str]:
    """The words of a text, folded, stop words out."""
    return frozenset(word for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS)


def showings(text: str) -> tuple[Showing, ...]:
    """Find the identifiers of a text, each once, in the order in which they first stand there."""
    near: dict[str, set[str]] = {}
    for match in _CODE.finditer(text):
        near.setdefault(match.group(), set()).update(_around(text, match.start(), match.end()))
    for match in _NUMBERED.finditer(text):
        if match[1].casefold() not in STOP_WORDS:
            name = f"{match[1].casefold()} {match[2]}"
            near.setdefault(name, set()).update(_around(text, match.start(), match.end()))
    return tuple(Showing(name, frozenset(nearby)) for name, nearby in near.items())


def _around(text: str, start: int, end: int) -> frozenset[str]:
    return words(text[max(0, start - NEARBY) : start]) | words(text[end : end + NEARBY])


class Reading:
    """What texts say, read once: an agent's list comes again at every step, one step longer.

    It holds words of those texts, so it belongs to one conversation and goes with it.
    """

    def __init__(self) -> None:
        self._showings: dict[str, tuple[Showing, ...]] = {}
        self._words: dict[str, frozenset[str]] = {}
        self.importance: dict[tuple[str, str, str], float] = {}  # (adapter, role, text) -> importance

    def showings(self, text: str) -> tuple[Showing, ...]:
        """The identifiers of a text, as `showings`."""
        if text not in self._showings:
            self._showings[text] = showings(text)
        return self._showings[text]

    def words(self, text: str) -> frozenset[str]:
        """The words of a text, as `words`."""
        if text not in self._words:
            self._words[text] = words(text)
        return self._words[text]
