"""Whether a newer memory says otherwise than an older one: without a model, so only what words alone can show.

Compared are statements of the same person about the same thing: the same words but for one value (a number, a date, a
name) or a negation, or a correction by its own words. What happened once is no state, and two such differ by right.
Meant to be right where it speaks; most contradictions it does not see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import regex

from memory.engine.features import has_code, is_asking, is_small_talk, negations
from memory.engine.lexical import terms
from memory.engine.text import sentences
from memory.engine.types import Floats, MemoryItem, Role

NEAR, NEAREST = 0.5, 50  # cosine of two memories, at least; so many of the nearest are compared
ALIKE, CORRECTED = 0.6, 0.34  # share of both statements' words that they share; less where it corrects by its own words
LEAST = 2  # words of both, at least


class Doubt(StrEnum):
    """What the newer one says otherwise."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    NEGATION = "negation"
    CORRECTION = "correction"


_MONTHS = (
    r"jan(?:uary)?|feb(?:ruary)?|march|apr(?:il)?|may(?= \d)|(?<=\d )may|june|july|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DATE = regex.compile(
    rf"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:\b\d{{1,2}} (?:of )?)?\b(?:{_MONTHS})\b(?: \d{{1,2}}\b)?|"
    r"\b\d{1,2}:\d\d\b|\b\d{1,2} ?[ap]\.?m\b|"
    r"\b(?:19|20)\d\d\b|\b\d{1,2}(?:st|nd|rd|th)\b|\b(?:noon|midnight|tomorrow|tonight)\b|"
    r"\bat (?:\d{1,2}(?!:)|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b(?! \p{Ll}+ (?:street|st))",
    regex.IGNORECASE,
)
_NUMBER = regex.compile(
    r"[\w.+-]+@[\w-]+\.\w[\w.]*|\b(?=\w*\p{N})\w{4,}\b|\p{N}+(?:[.,]\p{N}+)*|"
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)\b",
    regex.IGNORECASE,
)
_NAME = regex.compile(r"(?<!^)(?<![.!?…:“\"]\s)\b(?!I\b|I['’])\p{Lu}[\p{L}\p{M}'’-]+")
_NEGATORS = regex.compile(r"\b(?:not|no longer|never|cannot|without|any ?more)\b|n['’]t\b", regex.IGNORECASE)
_CORRECTION = regex.compile(
    r"\b(?:actually|no longer|any ?more|instead of|i meant|correction|i was wrong|turns? out|has changed|have changed|"
    r"changed (?:to|from)|moved (?:to|from)|is now|are now|now (?:live|lives|work|works|use|uses)|rescheduled|"
    r"postponed|cancelled|canceled|called off|switched (?:to|from)|i (?:have |just )?(?:quit|stopped)|"
    r"not .{1,40}, but)\b",
    regex.IGNORECASE,
)
# What happened once, or goes on happening: two of them are two events.
_PAST = regex.compile(
    r"\b(?:(?<!\b(?:is|are|am|be|been) )\p{L}{3,}ed|was|were|did|went|ran|bought|ate|saw|met|had|made|got|took|gave|"
    r"came|paid|spent|won|lost|read|wrote|drove|flew|sold|found|left|told|said|thought|slept|swam|rode|heard|felt|"
    r"caught|held|kept|taught|yesterday|ago|last (?:week|month|year|night|weekend|summer|winter|spring|autumn|fall)|"
    r"this morning|today)\b",
    regex.IGNORECASE,
)
_UNSURE = regex.compile(
    r"\b(?:maybe|perhaps|might|if|would|could|or|wish|hope|imagine|probably|about)\b", regex.IGNORECASE
)
# Cheering, advice and what a picture shows say nothing of how things are.
_URGING = regex.compile(
    r"!\s*$|^\[|^\W*(?:keep|go|never|don['’]t|do not|let['’]?s|just|remember|believe|stay|look|check|take|try|thanks?|"
    r"good|glad|great|wow|yeah|yep)\b",
    regex.IGNORECASE,
)
# Where one name can only be one: elsewhere ("I like Porto") two names stand side by side.
_SINGLE = frozenset(
    terms(
        "lives living live work works working studies study stays moved based born called named name address street "
        "office boss manager doctor dentist teacher husband wife married favourite favorite capital located school "
        "university employer landlord password flight hotel venue"
    )
)


@dataclass(frozen=True)
class Statement:
    """One sentence, taken apart: what it is about, and its values."""

    text: str

    @cached_property
    def dates(self) -> frozenset[str]:
        """Days, months, hours and years."""
        return frozenset(match.group().casefold() for match in _DATE.finditer(self.text))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Other numbers, as digits or words."""
        return frozenset(match.casefold() for match in _NUMBER.findall(_DATE.sub(" ", self.text)))

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of people and places, less the word that begins the sentence."""
        return frozenset(
            name.removesuffix("'s").removesuffix("’s") for name in _NAME.findall(_DATE.sub(" ", self.text))
        )

    @cached_property
    def subject(self) -> frozenset[str]:
        """What is left: the words it is about."""
        bare = _NEGATORS.sub(" ", _NUMBER.sub(" ", _DATE.sub(" ", self.text)))
        for name in self.names:
            bare = bare.replace(name, " ")
        return frozenset(terms(bare)) - _FILLERS

    @property
    def states(self) -> bool:
        """Whether it says how something is, or will be: no question, nothing that happened once, nothing unsure."""
        return not (
            is_asking(self.text) or _UNSURE.search(self.text) or is_small_talk(self.text) or _URGING.search(self.text)
        )

    @property
    def happened(self) -> bool:
        """Whether it tells what happened."""
        return bool(_PAST.search(self.text))

    @property
    def corrects(self) -> bool:
        """Whether it says by its own words that something is not as it was."""
        return bool(_CORRECTION.search(self.text))


# "Room 204 is ...", "Monday is ...": here the value says what it is about.
_NUMBERED = regex.compile(
    r"^\W*(?:the |my |our )?(?:\p{L}+ )?(?:\p{N}+|\p{L}+day) (?:is|are|has|have|will)\b", regex.IGNORECASE
)
_FILLERS = frozenset(terms("actually now really still just also well currently today please remember know think"))


def doubt(older: MemoryItem, newer: MemoryItem) -> Doubt | None:
    """What the newer memory says otherwise than the older one, or None. Only of one person's own words."""
    return _told(older, newer, statements(older), statements(newer))


def statements(item: MemoryItem) -> list[Statement]:
    """What a memory states, sentence by sentence; nothing of what is not its person's word."""
    if not _comparable(item):
        return []
    return [one for one in map(Statement, sentences(item.text)) if one.states and one.subject]


def _told(
    older: MemoryItem, newer: MemoryItem, before: Sequence[Statement], after: Sequence[Statement]
) -> Doubt | None:  # fmt: skip
    if older.role is not newer.role or older.speaker != newer.speaker or older.at >= newer.at:
        return None
    for new in after:
        if new.happened and not new.corrects:
            continue
        for old in before:
            if found := _between(old, new):
                return found
    return None


def _comparable(item: MemoryItem) -> bool:
    return item.kind == "side" and item.role in (Role.USER, Role.OTHER) and not has_code(item.text)


def _between(old: Statement, new: Statement) -> Doubt | None:
    shared = old.subject & new.subject
    alike = len(shared) / max(1, len(old.subject | new.subject))
    named = len(shared) + len(old.names & new.names)
    if new.corrects:
        enough = named >= LEAST or (named and old.subject <= new.subject)
        if alike < CORRECTED or not enough:
            return None
        return Doubt.CORRECTION if _differ(old, new, 0) or negations(new.text) > negations(old.text) else None
    same = old.subject <= new.subject or new.subject <= old.subject  # else each is about something of its own
    if old.happened or not same or alike < ALIKE or _turned(old.text) != _turned(new.text):
        return None
    differ = _differ(old, new, 1)
    if differ == [Doubt.NAME] and len(old.names ^ new.names) == 2 and shared & _SINGLE:
        return Doubt.NAME if named >= LEAST or old.subject == new.subject else None
    if named < LEAST or Doubt.NAME in differ:
        return None
    if len(differ) == 1:
        return None if _NUMBERED.match(old.text) or _NUMBERED.match(new.text) else differ[0]
    if not differ and negations(old.text) % 2 != negations(new.text) % 2 and old.names == new.names:
        return Doubt.NEGATION
    return None


def _differ(old: Statement, new: Statement, gone: int) -> list[Doubt]:
    """Kinds of value that both have, where the newer one has another, and lacks at least `gone` of the older one's."""
    values = (
        (Doubt.DATE, old.dates, new.dates), (Doubt.NUMBER, old.numbers, new.numbers), (Doubt.NAME, old.names, new.names)
    )  # fmt: skip
    return [kind for kind, before, after in values if before and after - before and len(before - after) >= gone]


def _turned(text: str) -> tuple[bool, bool]:
    """Which way it goes: to or from a place, before or after something."""
    words = set(text.casefold().split())
    return bool(words & {"from", "after"}), bool(words & {"without", "before"})


def doubts_among(
    items: Sequence[MemoryItem], vectors: Floats, newer: Sequence[int]
) -> list[tuple[int, int, Doubt]]:  # fmt: skip
    """Of memories with vectors (N, E): (older, newer, what) for the rows in `newer`, each older one once, by the newest
    memory that says otherwise."""
    found: dict[int, tuple[int, Doubt]] = {}
    told: dict[int, list[Statement]] = {}

    def of(row: int) -> list[Statement]:
        if row not in told:
            told[row] = statements(items[row])
        return told[row]

    for row in sorted(newer, key=lambda row: items[row].at):
        if not of(row):
            continue
        cosines = vectors @ vectors[row]
        nearest = [int(i) for i in (-cosines).argsort(kind="stable")[: NEAREST + 1] if cosines[i] >= NEAR]
        for other in nearest:
            what = _told(items[other], items[row], of(other), of(row)) if other != row else None
            if what is not None:
                found[other] = (row, what)
    return [(older, row, what) for older, (row, what) in sorted(found.items())]
