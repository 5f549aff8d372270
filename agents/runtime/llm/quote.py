"""Scribe: answers without any model, by quoting the memory that fits best, with its date and speaker.

What it says is always one of three things: the words of a memory marked as a quotation, a plain "I remember
nothing about that", or an acknowledgement. It never does what a memory says.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, Sequence
from datetime import tzinfo

from agents.runtime.llm.port import Delta, Message
from agents.runtime.llm.quoting import blockquote
from agents.runtime.recalled import READ_LETTERS, RecalledMemory, written_date
from memory.engine.lexical import STOP_WORDS, terms
from memory.engine.text import sentences

MOST_QUOTES = 3
MOST_PAUSED_S = 0.3  # the reply is known whole: eyes may follow it, but nobody shall wait for it
ALIKE = 0.6  # share of common terms from which a second memory says nothing new
SAME = 0.85  # from here a memory is what the person has just said
FURTHER = 0.2  # a further quote has at least this share of the best one's weight
INSTEAD = 0.25  # a user's memory with this share of the weight of the assistant's goes before it
CLEAR = 0.5  # weight from which a memory without a common word is still worth showing
_NAMELESS = {"", "user", "you", "me", "human", "person"}

NOTHING = (
    "I remember nothing about that.",
    "I have nothing about that in my memory.",
    "You have not told me anything about that, as far as I remember.",
)
_NEAREST = "I remember nothing that clearly answers this. The nearest that I have:"
_OWN_WORD = "Nobody told me, but"
_PERHAPS = "I am not sure that this is what you mean, but"
_ACKNOWLEDGED = (
    "Noted.",
    "Thank you, I have that.",
    "Good to know.",
    "I see. That goes into my notes.",
    "Understood.",
    "All right, I have taken that in.",
    "Thanks for telling me.",
)
_CHANGED = ("Understood, that has changed.", "Noted as a change.", "I see, so that is different now.")
_GREETED = "Hello. Tell me something, or ask me about something you told me before."
_THANKED = ("You are welcome.", "With pleasure.")
_PARTED = "Goodbye. I am here when you come back."

_GREETING = re.compile(r"\W*(hi|hello|hey|good (morning|afternoon|evening)|greetings)\b", re.IGNORECASE)
_THANKS = re.compile(r"\W*(many thanks|thanks?( you)?|cheers)\b", re.IGNORECASE)
_PARTING = re.compile(r"\W*(bye|goodbye|good night|see you)\b", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(actually|no longer|not any ?more|instead|ha(s|ve) changed|changed (my|our|his|her|their) mind"
    r"|moved to|correction|used to|cancelled|postponed)\b",
    re.IGNORECASE,
)
_ASKS = ("?", "？", "؟")
_SHORT = 6  # words; a longer greeting or thanks also says something


class QuoteBackend:
    """Answers from `recalled` alone. The same input gives the same words every time.

    `zone` is where dates are written in (None: the zone that each memory's instant carries); `reader` is the
    name of the person who talks, so that their own memories are quoted as "you told me".
    """

    def __init__(self, zone: tzinfo | None = None, reader: str = "", word_pause_s: float = 0.0) -> None:
        self._zone = zone
        self._reader = reader
        self._pause = word_pause_s

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        recalled: Sequence[RecalledMemory],
        asking: bool,
        max_tokens: int,
    ) -> AsyncGenerator[Delta, None]:
        """Stream the reply word by word. The last user message is taken as the bare observation."""
        said = [message.content for message in messages if message.role == "user"]
        observation = said[-1] if said else ""
        reply = self.reply(observation, recalled, asking=asking, earlier=said[:-1])
        words = re.findall(r"\s*\S+\s*", reply)
        pause = min(self._pause, MOST_PAUSED_S / max(1, len(words)))
        for word in words:
            yield word
            await asyncio.sleep(pause)

    def reply(
        self,
        observation: str,
        recalled: Sequence[RecalledMemory],
        *,
        asking: bool,
        earlier: Sequence[str] = (),
    ) -> str:
        """The whole reply. `earlier`: the person's messages still in view, for a bank too young to recall."""
        ranked = sorted(recalled, key=lambda memory: -memory.weight)
        if asking:
            return self._answer(observation, ranked, earlier)
        return self._acknowledge(observation, ranked)

    def _answer(self, question: str, ranked: Sequence[RecalledMemory], earlier: Sequence[str]) -> str:
        asked = _words(question)
        usable = [m for m in ranked if not _is_echo(m) and not _is_question(m.text, asked)]
        fitting = [m for m in usable if m.group == "highly" or asked & _words(m.text)]
        if not fitting:
            return self._without_fit(question, asked, usable, earlier)
        best = _prefer_people(fitting)
        quotes = [best, *_further(best, fitting, asked)]
        sure = best.group == "highly" and bool(asked & _words(best.text))
        parts = [f"{_lead_in(best, self._attribution(best), sure)}\n\n{blockquote(best.text)}"]
        parts += [f"Also, {self._attribution(m)}:\n\n{blockquote(m.text)}" for m in quotes[1:]]
        return "\n\n".join(parts)

    def _without_fit(
        self, question: str, asked: set[str], usable: Sequence[RecalledMemory], earlier: Sequence[str]
    ) -> str:
        for text in reversed(earlier):
            if asked & _words(text) and not _is_question(text, asked) and not text.rstrip().endswith("?"):
                return f"A moment ago you told me:\n\n{blockquote(text)}"
        if usable and usable[0].weight >= CLEAR and usable[0].role != "assistant":
            nearest = usable[0]
            return f"{_NEAREST} {self._attribution(nearest)}:\n\n{blockquote(nearest.text)}"
        return _pick(NOTHING, question)

    def _acknowledge(self, told: str, ranked: Sequence[RecalledMemory]) -> str:
        if len(told.split()) <= _SHORT:
            if _GREETING.match(told):
                return _GREETED
            if _THANKS.match(told):
                return _pick(_THANKED, told)
            if _PARTING.match(told):
                return _PARTED
        changed = _CHANGE.search(told) is not None
        words = _words(told)
        first = _pick(_CHANGED if changed else _ACKNOWLEDGED, told)
        for memory in ranked:
            if memory.group != "highly" or memory.role == "assistant" or memory.text.rstrip().endswith("?"):
                continue
            own = _words(memory.text)
            if words & own and _likeness(words, own) < SAME:
                return f"{first} Earlier, {self._attribution(memory)}:\n\n{blockquote(memory.text)}"
        return first

    def _attribution(self, memory: RecalledMemory) -> str:
        """Who said it and when, to stand within a sentence: "on 3 May 2023 you told me"."""
        date = written_date(memory.at.astimezone(self._zone) if self._zone else memory.at)
        if memory.role == "assistant":
            return f"on {date} I said myself"
        name = " ".join(memory.speaker.split())[:60]
        if memory.role == "tool":
            return f"on {date} the tool {_plain(name)} answered" if name else f"on {date} a tool answered"
        if memory.role == "user" and name.casefold() in _NAMELESS | {self._reader.casefold()}:
            return f"on {date} you told me"
        return f"on {date} {_plain(name) or 'someone'} said"


def _lead_in(best: RecalledMemory, attribution: str, sure: bool) -> str:
    if best.role == "assistant":
        return f"{_OWN_WORD} {attribution}:"
    return f"{attribution[:1].upper()}{attribution[1:]}:" if sure else f"{_PERHAPS} {attribution}:"


def _further(best: RecalledMemory, fitting: Sequence[RecalledMemory], asked: set[str]) -> list[RecalledMemory]:
    """At most two more that a person wrote, weigh enough, bear on the question and say something new."""
    chosen = [best]
    for memory in fitting:
        if len(chosen) == MOST_QUOTES:
            break
        if memory in chosen or memory.role == "assistant" or memory.weight < FURTHER * best.weight:
            continue
        own = _words(memory.text)
        if asked & own and all(_likeness(own, _words(other.text)) < ALIKE for other in chosen):
            chosen.append(memory)
    return chosen[1:]


def _prefer_people(fitting: Sequence[RecalledMemory]) -> RecalledMemory:
    """The best memory, but a person's before the assistant's unless it weighs far less."""
    best = fitting[0]
    if best.role != "assistant":
        return best
    people = (m for m in fitting if m.role != "assistant" and m.weight >= INSTEAD * best.weight)
    return next(people, best)


def _is_echo(memory: RecalledMemory) -> bool:
    """What Scribe itself said is either another memory's words or holds none: it answers nothing."""
    if memory.role != "assistant":
        return False
    text = memory.text.strip()
    fixed = (*NOTHING, *_ACKNOWLEDGED, *_CHANGED, *_THANKED, _NEAREST, _OWN_WORD, _PERHAPS, _GREETED, _PARTED)
    return "\n>" in text or text.startswith((">", *fixed))


def _is_question(text: str, asked: set[str]) -> bool:
    """Whether a memory only asks, which answers nothing, or ends in (nearly) the very question."""
    said = sentences(text[:READ_LETTERS])
    if said and all(one.endswith(_ASKS) for one in said):
        return True
    return text.rstrip().endswith(_ASKS) and _likeness(_words(text), asked) >= ALIKE


def _likeness(one: set[str], other: set[str]) -> float:
    """Shared terms over all terms (Jaccard), 1.0 for two empty sets."""
    return len(one & other) / len(one | other) if one | other else 1.0


def _words(text: str) -> set[str]:
    return set(terms(text[:READ_LETTERS])) - STOP_WORDS


def _plain(name: str) -> str:
    """A name inside a sentence, without signs that markdown would read."""
    return re.sub(r"[^\w\s.'’-]", "", re.sub(r"\.(?=\w)|_", " ", name)).strip()


def _pick(phrases: Sequence[str], seed: str) -> str:
    """One of the phrases, by the text: varied from message to message, the same each time."""
    return phrases[hashlib.sha256(seed.encode()).digest()[0] % len(phrases)]
