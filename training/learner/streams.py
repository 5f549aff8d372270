"""A conversation as learning and measuring see it: a stream of sides, and the cues whose evidence is known."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memory.engine.types import Role, Side

NOT_BY_CHANCE = 60  # characters


@dataclass(frozen=True)
class StreamSide:
    """One utterance, whole. `position` counts the sides of its session from 0, `turn` the turns of the stream."""

    id: str
    text: str
    role: Role
    speaker: str
    at: datetime
    session: int
    position: int
    turn: int
    side: Side


@dataclass(frozen=True)
class Question:
    """A cue asked after the stream's end, with the ids of the sides that answer it.

    `reply` is what was then answered, where the set says: hindsight reads it, and never the evidence.
    """

    id: str
    text: str
    at: datetime
    evidence: frozenset[str]
    category: str
    reply: str = ""


@dataclass(frozen=True)
class Use:
    """A later use inside the stream: side number `at` passes on what side number `source` showed last."""

    at: int
    source: int


@dataclass(frozen=True)
class Stream:
    """One conversation, or one haystack of sessions. `group` names what must not stand on both sides of a split."""

    name: str
    kind: str  # "two_people", "user_assistant" or "tool_use"
    sides: Sequence[StreamSide]
    questions: Sequence[Question] = ()
    uses: Sequence[Use] = field(default=())
    group: str = ""

    @property
    def evidence(self) -> frozenset[str]:
        """Sides that anything later needs."""
        used = {self.sides[use.source].id for use in self.uses}
        return frozenset(used.union(*(question.evidence for question in self.questions)))

    @property
    def sessions(self) -> list[list[StreamSide]]:
        """The sides by session, in order."""
        by_number: dict[int, list[StreamSide]] = {}
        for side in self.sides:
            by_number.setdefault(side.session, []).append(side)
        return list(by_number.values())

    @property
    def fingerprints(self) -> frozenset[str]:
        """A hash for each session: the same session in two sets has the same."""
        return frozenset(map(session_fingerprint, self.sessions))

    @property
    def traces(self) -> frozenset[str]:
        """What tells that a session of another set is one of these, even where a sentence was put into it."""
        return frozenset().union(*map(session_traces, self.sessions))


def session_fingerprint(sides: Sequence[StreamSide]) -> str:
    """A hash of a session's words, white space folded: what tells whether a test's text stands in training data."""
    return hashlib.sha256("\x1f".join(" ".join(side.text.split()) for side in sides).encode()).hexdigest()


def session_traces(sides: Sequence[StreamSide]) -> frozenset[str]:
    """The session's fingerprint, and one of each side that is too long to be said twice by chance."""
    long = (side for side in sides if len(side.text) >= NOT_BY_CHANCE)
    return frozenset({session_fingerprint(sides), *(session_fingerprint([side]) for side in long)})


def numbered(sides: Sequence[tuple[int, Role, str, str, datetime, str]]) -> list[StreamSide]:
    """Sides from (session, role, speaker, text, at, id) in order, with positions and turns.

    A turn is what one speaker on the observing side says (user, tool) and the action that follows it.
    """
    out: list[StreamSide] = []
    first = sides[0][1:3] if sides else None
    for session, role, speaker, text, at, name in sides:
        before = out[-1] if out and out[-1].session == session else None
        observing = role is Role.TOOL or (role is Role.USER and (first is None or first[0] is not Role.OTHER))
        side = Side.OBSERVATION if observing else Side.ACTION
        joins = before is not None and side is Side.ACTION and before.side is Side.OBSERVATION
        turn = (out[-1].turn if out else -1) + (0 if joins else 1)
        position = before.position + 1 if before is not None else 0
        out.append(StreamSide(name, text, role, speaker, at, session, position, turn, side))
    return out
