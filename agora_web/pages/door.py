"""The door through which pages read memory: owners theirs as it is, analysts what was opened to them, masked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from memory import analysis
from memory.analysis import Door
from training.learner.masking import masked

__all__ = ["Door", "opened", "own", "reading", "to"]


@contextmanager
def reading(thing: UUID) -> Iterator[Door]:
    """Read a bank, a conversation, a memory or a recall (its id) as the acting user may.

    Whatever lies behind is read inside, pages are rendered outside: what a page needs of the person who looks at it is
    not there. Selectors raise `NotFound` as ever.
    """
    with to(thing).open() as door:
        yield door


def to(thing: UUID) -> Door:
    """The door to a bank, a conversation, a memory or a recall, not opened yet."""
    return analysis.door_to(thing, masked)


def opened() -> list[Door]:
    """The doors to all banks that others opened to the acting user."""
    return analysis.opened_doors(masked)


def own() -> Door:
    """The door to what is one's own."""
    return Door(None, masked)
