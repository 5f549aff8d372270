"""Small streams written by hand, and an adapter whose numbers are at hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from memory.engine.types import Role
from training.learner.streams import Question, Stream, numbered

MORNING = datetime(2026, 3, 2, 9, tzinfo=UTC)
LATER = MORNING + timedelta(days=30)
SPEAKERS = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.TOOL: "Tool", Role.OTHER: "Ben"}


def stream(
    name: str, *sessions: Sequence[str], asked: Sequence[tuple[str, Sequence[str]]] = (), day: int = 0,
    kind: str = "user_assistant", group: str = "", roles: Sequence[Role] = (Role.USER, Role.ASSISTANT),
) -> Stream:  # fmt: skip
    """Sessions of texts, one a day, said by the roles in turn; side ids are "session:position"."""
    sides = [
        (number, role, SPEAKERS[role], text, MORNING + timedelta(days=day + number, minutes=place), f"{number}:{place}")
        for number, texts in enumerate(sessions)
        for place, text in enumerate(texts)
        for role in [roles[place % len(roles)]]
    ]
    questions = [
        Question(f"{name}:{number}", text, LATER, frozenset(evidence), "facts")
        for number, (text, evidence) in enumerate(asked)
    ]
    return Stream(name, kind, numbered(sides), questions, group=group or name)


FACTS = ("My bike is red", "Anna lives in Lisbon", "I drink green tea", "My dog is called Bruno")


def facts(name: str = "facts", group: str = "") -> Stream:
    """Two sessions about four facts between small talk; three questions, of which one has two sides of evidence."""
    return stream(
        name,
        [FACTS[0], "Nice, a red one.", "ok thanks", "You are welcome!", FACTS[1], "Lisbon is by the sea."],
        [FACTS[2], "Green tea it is.", "ok bye", "See you!", FACTS[3], "A fine name for a dog."],
        asked=[
            ("Which colour has my bike?", ["0:0"]),
            ("Where does Anna live?", ["0:4"]),
            ("What do I drink, and what is my dog called?", ["1:0", "1:4"]),
        ],
        group=group,
    )
