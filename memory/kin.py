"""What belongs to one memory: what it was merged of or into, and what it is at odds with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from memory import selectors
from memory.models import Doubt
from memory.story import Story
from memory.why import Shown, as_is


@dataclass(frozen=True)
class Kin:
    """A memory that belongs to this one: made of it, part of it, or at odds with it."""

    memory: UUID
    how: str  # "part", "whole", "older" or "newer"
    what: str  # of a doubt: "number", "date" …
    at: datetime
    settled: datetime | None
    text: str


def kin(story: Story, *, shown: Shown = as_is) -> list[Kin]:
    """What the memory was merged of or into, and the doubts between it and others."""
    parts = [UUID(part) for event in story.events for part in event.data.get("parts", [])]
    wholes = [UUID(event.data["into"]) for event in story.events if event.data.get("into")]
    doubts = list(Doubt.objects.filter(Q(memory=story.memory.pk) | Q(newer=story.memory.pk)).order_by("at"))
    # all of them by key: memories joined with memories are a plan that can go wrong by millions of rows
    rows = selectors.memory_rows(
        {*parts, *wholes, *(one for doubt in doubts for one in (doubt.memory_id, doubt.newer_id))}
    )
    found = [
        Kin(pk, how, "", rows[pk].at, None, shown(selectors.shown_text(rows[pk])))
        for how, ids in (("part", parts), ("whole", wholes))
        for pk in dict.fromkeys(ids)
        if pk in rows
    ]
    for doubt in doubts:
        older = doubt.newer_id == story.memory.pk
        other = rows.get(doubt.memory_id if older else doubt.newer_id)
        if other is not None:  # else it was erased since
            text = shown(selectors.shown_text(other))
            found.append(Kin(other.pk, "older" if older else "newer", doubt.what, doubt.at, doubt.settled_at, text))
    return found
