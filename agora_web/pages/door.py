"""The door through which pages read memory: owners theirs as it is, analysts what was opened to them, masked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from uuid import UUID

from django.http import HttpRequest
from rest_framework.request import Request

from memory import analysis
from memory.analysis import Door
from memory.services.looks import Visit, note_look
from training.learner.masking import masked

__all__ = ["Door", "Visit", "opened", "own", "passed", "reading", "to", "visit_of"]


@contextmanager
def reading(thing: UUID, visit: Visit = Visit.PAGE) -> Iterator[Door]:
    """Read a bank, a conversation, a memory or a recall (its id) as the acting user may.

    Whatever lies behind is read inside, pages are rendered outside: what a page needs of the person who looks at it is
    not there. What an analyst reads is noted for the owner. Selectors raise `NotFound` as ever.
    """
    door = to(thing)
    with door.open():
        yield door
    passed([door], visit)


def passed(doors: Iterable[Door], visit: Visit) -> None:
    """Note for the owners that an analyst looked. Raises `NotFound` where a door was shut meanwhile."""
    note_look([door.bank for door in doors if door.bank is not None], visit)


def visit_of(request: HttpRequest | Request) -> Visit:
    """Whether a figure is asked for, or an export of its rows."""
    return Visit.EXPORT if request.GET.get("format") else Visit.FIGURE


def to(thing: UUID) -> Door:
    """The door to a bank, a conversation, a memory or a recall, not opened yet."""
    return analysis.door_to(thing, masked)


def opened() -> list[Door]:
    """The doors to all banks that others opened to the acting user."""
    return analysis.opened_doors(masked)


def own() -> Door:
    """The door to what is one's own."""
    return Door(None, masked)
