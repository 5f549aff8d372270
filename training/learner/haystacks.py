"""Haystacks to train on: short labelled chats laid together, so that each cue is asked of many other sessions."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import replace

import regex

from memory.engine.types import Role
from training.learner.streams import Question, Stream, StreamSide, session_traces

STREAMS_A_HAYSTACK = 24
_FIRST_PERSON = (
    (regex.compile(r"\bI'm\b|\bI am\b"), "{name} is"),
    (regex.compile(r"\bI've\b"), "{name} has"),
    (regex.compile(r"\bmy\b|\bmine\b", regex.IGNORECASE), "{name}'s"),
    (regex.compile(r"\bI\b|\bme\b|\bmyself\b"), "{name}"),
)
_NAMES = ("Nora", "Felix", "Priya", "Tomas", "Amina", "Jonas", "Lucia", "Henrik", "Mei", "Omar", "Clara", "Pavel")


def laid_together(streams: Sequence[Stream], *, without: Collection[str] = (), seed: int = 1) -> list[Stream]:
    """Shuffle streams with one question each and lay 24 of them into one haystack, its sessions in order of time.

    Sessions with a trace in `without` (they stand in a set that is measured on) are left out, and so is every question
    whose evidence they hold.
    """
    asked = [stream for stream in streams if stream.questions]
    random.Random(seed).shuffle(asked)
    starts = range(0, len(asked), STREAMS_A_HAYSTACK)
    laid = [_haystack(f"haystack-{seed}-{at}", asked[at : at + STREAMS_A_HAYSTACK], without) for at in starts]
    return [haystack for haystack in laid if haystack.questions]


def _haystack(name: str, streams: Sequence[Stream], without: Collection[str]) -> Stream:
    sessions: list[list[StreamSide]] = []
    questions: list[Question] = []
    for stream in streams:
        gone: set[str] = set()
        for sides in stream.sessions:
            if not session_traces(sides).isdisjoint(without):
                gone |= {side.id for side in sides}
            else:
                sessions.append([replace(side, id=f"{stream.name}|{side.id}") for side in sides])
        for question in stream.questions:
            if not question.evidence & gone:
                evidence = frozenset(f"{stream.name}|{side}" for side in question.evidence)
                questions.append(replace(question, evidence=evidence))
    sessions.sort(key=lambda sides: sides[0].at)
    out: list[StreamSide] = []
    turn = 0
    for number, sides in enumerate(sessions):
        out += [replace(side, session=number, turn=turn + side.turn - sides[0].turn) for side in sides]
        turn = out[-1].turn + 1
    return Stream(name, streams[0].kind, out, questions, group=name)


def as_two_people(stream: Stream, seed: int = 1) -> Stream:
    """The same chat as if two people had it: the user and the assistant get names, and a question that says "I" asks
    about that person. So the head learns what it means that a cue names a speaker, of which no trainable set has any.
    """
    person, other = random.Random(f"{stream.name} {seed}").sample(_NAMES, 2)
    sides = [
        replace(side, speaker=person) if side.role is Role.USER else replace(side, speaker=other, role=Role.OTHER)
        for side in stream.sides
    ]
    questions = [replace(question, text=_about(question.text, person)) for question in stream.questions]
    name = f"{stream.name}-two"
    return Stream(name, "two_people", sides, questions, group=stream.group)


def _about(text: str, name: str) -> str:
    for pattern, instead in _FIRST_PERSON:
        text = pattern.sub(instead.format(name=name), text)
    return text
