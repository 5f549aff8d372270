"""What a step is worth to what the agent does next, judged from the steps so far. No LLM, no encoder.

A step is worth what only it shows: the chance that each of its identifiers is passed on soon, and a little for what
its words say beyond that. The weights are rounded from logistic fits (docs/lab-log.md, "Step compression").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import regex

from memory.engine.adapter import Adapter
from memory.engine.compress.identifiers import Reading
from memory.engine.compress.messages import RESULT_ROLES, Message, Step
from memory.engine.features import Context, features
from memory.engine.lexical import LexicalIndex, terms
from memory.engine.statistics import RoleStatistics
from memory.engine.types import Floats, Role

WEIGHTS: Mapping[str, float] = {
    "told": 0.4,  # a user named it first
    "crowd": -0.25,  # ln of the identifiers that stand beside it where they are fewest
    "shown": 0.6,  # ln of the steps that show it
    "passed": 0.9,  # ln(1 + the agent's calls that held it)
    "age": -0.6,  # ln of the steps since it was last shown
    "fits": 0.2,  # how much of what stands near it is what the last steps speak of
    "asked": 0.3,  # how much of its own letters a user said ("keychain 1", "credit_card_22")
    "kind_passed": 0.1,  # ln(1 + others of its kind that the agent's calls held)
}
BIAS = -2.5
_AT = {name: at for at, name in enumerate(WEIGHTS)}
_WEIGHTS = np.array(list(WEIGHTS.values()), dtype=np.float32)

NOW_STEPS = 4  # the last steps tell what the agent works on
WORDS_SHARE = 0.005  # what the best words are worth beside one identifier that is sure to be used
_LETTERS = regex.compile(r"\p{L}{3,}")
_RUN = regex.compile(r"\p{L}+")
_DIGITS = regex.compile(r"\p{N}+")


@dataclass
class _Seen:
    """What is known of one identifier after a pass over the steps."""

    told: bool
    shown: int = 0
    last: int = -1
    passed: int = 0
    crowd: int = 0
    nearby: set[str] = field(default_factory=set)


def use_chances(steps: Sequence[Step], reading: Reading) -> dict[str, float]:
    """How likely each identifier is passed on next, by name, in (0, 1)."""
    found = identifier_features(steps, reading)
    return {name: 1.0 / (1.0 + math.exp(-BIAS - float(values @ _WEIGHTS))) for name, values in found.items()}


def identifier_features(steps: Sequence[Step], reading: Reading) -> dict[str, Floats]:
    """Each identifier's features (len(WEIGHTS),) float32, by name."""
    seen = _survey(steps, reading)
    spread = Counter(word for about in seen.values() for word in about.nearby)
    rare = {word: math.log(1 + len(seen) / count) for word, count in spread.items()}
    now = _words_of((message for step in steps[-NOW_STEPS:] for message in step.messages), reading)
    said = _words_of((message for step in steps for message in step.messages if message.role == "user"), reading)
    kinds = Counter(kind(name) for name, about in seen.items() if about.passed)
    out: dict[str, Floats] = {}
    for name, about in seen.items():
        parts = _LETTERS.findall(name.casefold())
        near = sum(rare[word] for word in about.nearby)
        values = np.zeros(len(WEIGHTS), dtype=np.float32)
        values[_AT["told"]] = about.told
        values[_AT["crowd"]] = math.log(about.crowd)
        values[_AT["shown"]] = math.log(about.shown)
        values[_AT["passed"]] = math.log1p(about.passed)
        values[_AT["age"]] = math.log(len(steps) - about.last)
        values[_AT["fits"]] = sum(rare[word] for word in about.nearby & now) / near if near else 0.0
        values[_AT["asked"]] = sum(part in said for part in parts) / len(parts) if parts else 0.0
        values[_AT["kind_passed"]] = math.log1p(kinds[kind(name)] - bool(about.passed))
        out[name] = values
    return out


def _words_of(messages: Iterable[Message], reading: Reading) -> frozenset[str]:
    return frozenset().union(*(reading.words(message.shown) for message in messages))


def _survey(steps: Sequence[Step], reading: Reading) -> dict[str, _Seen]:
    seen: dict[str, _Seen] = {}
    for at, step in enumerate(steps):
        for message in step.messages:
            passed = {one.name for text in acts(step, message) for one in reading.showings(text)}
            found = reading.showings(message.shown)
            for one in found:
                about = seen.setdefault(one.name, _Seen(told=message.role == "user"))
                about.shown += about.last != at
                about.last = at
                about.passed += one.name in passed
                about.crowd = min(about.crowd or len(found), len(found))
                about.nearby |= one.nearby
    return seen


def kind(name: str) -> str:
    """What sort of identifier it is: the noun of a numbered thing, else the order of its letters and digits."""
    if " " in name:
        return name.split(" ")[0]
    return str(_DIGITS.sub("9", _RUN.sub("a", name)))


def acts(step: Step, message: Message) -> list[str]:
    """What the agent did in a message of a step: its calls' arguments, or its last line before an observation."""
    if message.calls:
        return [call.arguments for call in message.calls]
    if message.role == "assistant" and len(step.messages) > 1:
        return [line for line in message.text.splitlines() if line.strip()][-1:]
    return []


def words_worth(
    steps: Sequence[Step], adapter: Adapter, reading: Reading, vectors: Floats | None = None
) -> list[float]:
    """What each step's words are worth, 0 to `WORDS_SHARE`: importance, new against what came later, near to now.

    `vectors` (S, E), one unit vector a step, stand in for shared words where they are given.
    """
    said = [_words_of(step.messages, reading) for step in steps]
    now = frozenset().union(*said[-NOW_STEPS:])
    later: set[str] = set()
    out = [0.0] * len(steps)
    for at in reversed(range(len(steps))):
        if vectors is None or at + 1 == len(steps):
            new = len(said[at] - later) / len(said[at]) if said[at] else 0.0
            near = len(said[at] & now) / len(said[at]) if said[at] else 0.0
        else:
            cosines = vectors[at + 1 :] @ vectors[at]
            new = 1.0 - max(0.0, float(cosines.max()))
            near = max(0.0, float(cosines[-NOW_STEPS:].mean()))
        worth = max(
            (_importance(message.shown, message.role, adapter, reading) for message in steps[at].messages), default=0.0
        )
        out[at] = WORDS_SHARE * (worth * new + near) / 2
        later |= said[at]
    return out


def _importance(text: str, role: str, adapter: Adapter, reading: Reading) -> float:
    key = (adapter.version, role, text)
    if key not in reading.importance:
        known = Role.TOOL if role in RESULT_ROLES else Role(role) if role in set(Role) else Role.OTHER
        seen = features(text, terms(text), known, Context(False, False, 0.0), LexicalIndex())
        reading.importance[key] = adapter.importance.importance(seen, known, RoleStatistics(), "tool_use")
    return reading.importance[key]
