"""A person with many short conversations whose memories are judged: what a training run learns from."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memory.models import Memory
from tests.memory.services.desk import Desk
from training.models import About, Label, Rules, Source

PLACES = ("Porto", "Ghent", "Riga", "Oslo", "Graz", "Lyon", "Perth", "Quito", "Turin", "York", "Cork", "Kyoto", "Tunis",
          "Izmir", "Accra", "Dakar", "Basel", "Delft", "Lagos", "Malmo")  # fmt: skip
LEAST = 40


def converse(desk: Desk, conversations: int = 20) -> None:
    """Short conversations, each with a flight, a hotel and two questions."""
    for number in range(conversations):
        talk = desk.begin()
        for text in said_in(number):
            desk.tell(text, "", conversation=talk)


def said_in(number: int) -> tuple[str, str, str, str]:
    """What is said in one of these conversations."""
    place = PLACES[number % len(PLACES)]
    return (
        f"My flight {number}007 to {place} leaves on {number % 27 + 1} March at 7:15 and costs 80 euros",
        f"How do you feel about {place} today?",
        f"The hotel in {place} is called Aurora {number} and has 4 stars",
        f"Would you go to {place} again?",
    )


def hotels(text: str) -> float:
    """What this person finds worth keeping: where they sleep, and neither flights nor questions."""
    return 1.0 if "hotel" in text else 0.0


def judge(desk: Desk, value_of: Any = hotels, *, now: datetime, source: Source = Source.QUEUE) -> int:
    """Label every memory; returns how many."""
    with desk.acting():
        rows = list(Memory.objects.filter(bank=desk.bank_id).order_by("written_seq"))
        Label.objects.bulk_create(
            Label(owner=desk.person, memory=row, about=About.IMPORTANCE, value=value_of(row.text), source=source,
                  by=desk.person, text=row.text, at=now)
            for row in rows
        )  # fmt: skip
    return len(rows)


def set_rules(**fields: Any) -> None:
    """The rules in force, as an operator would set them: few labels are enough, and an odd taste may cost something."""
    defaults = {"least_labels": LEAST, "most_lost": 0.5, **fields}
    Rules.objects.using("owner").update_or_create(pk=1, defaults=defaults)
