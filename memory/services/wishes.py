"""What a person wants of a memory (to keep it, to be rid of it), told to whoever listens, in the same transaction.

Memory does not know who listens: an app above it subscribes when it starts (training takes wishes as judgements).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum

from memory.models import Memory


class Wish(StrEnum):
    """What was asked of one memory, and what took it back."""

    PIN = "pin"
    UNPIN = "unpin"
    FORGET = "forget"
    UNFORGET = "unforget"


Listener = Callable[[Wish, Memory, datetime], None]
_listeners: list[Listener] = []


def listens(listener: Listener) -> Listener:
    """Have `listener` called with each wish, the memory and the instant, as its person; what it raises undoes the wish.

    Once however often it subscribes.
    """
    if listener not in _listeners:
        _listeners.append(listener)
    return listener


def tell(wish: Wish, memory: Memory, now: datetime) -> None:
    """Say what a person wanted; called within the transaction that does it."""
    for listener in _listeners:
        listener(wish, memory, now)
