"""The analyst's door: a bank that its owner opened is read as its owner, in a transaction that can change nothing.

Who may pass is asked of the database (`agora_opened_bank`), which answers for the acting user, and answers nothing
but to an analyst about a bank that is open now. What is one's own needs no door: it is read as oneself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from memory.tenancy import acting_as

Shown = Callable[[str], str]

WORDS = ("text", "title", "newer_text")  # fields of rows that people's words are in: masked behind the door
NAMES = ("speaker",)  # fields that say who it is: left out behind it


@dataclass(frozen=True)
class Door:
    """How one person reads a bank, or a thing in it: as themselves, or, masked, as the owner who opened it."""

    owner: UUID | None  # whose bank it is, where it is somebody else's
    bank: UUID | None  # the opened bank; None where one reads as oneself
    mask: Shown

    @property
    def masked(self) -> bool:
        """Whether this is another person's bank, of which an analyst sees no more than is left after masking."""
        return self.owner is not None

    def shown(self, text: str) -> str:
        """A text as whoever reads may see it."""
        return self.mask(text) if self.masked else text

    def rows(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Rows (dataclasses) with their words as whoever reads may see them, and behind the door without names."""
        return [self._row(row) for row in rows] if self.masked else rows

    def _row(self, row: Any) -> Any:
        changed: dict[str, Any] = {name: self.mask(getattr(row, name)) for name in WORDS if getattr(row, name, "")}
        changed |= {name: "" for name in NAMES if getattr(row, name, "")}
        return replace(row, **changed) if changed else row

    @contextmanager
    def open(self) -> Iterator[Door]:
        """Read through the door: inside it the database sees the owner, and refuses every change."""
        if self.owner is None:
            yield self
            return
        with transaction.atomic(), acting_as(self.owner):
            with connection.cursor() as cursor:
                # In a savepoint this ends with it, and inside it nothing can set it back.
                cursor.execute("SET LOCAL transaction_read_only = on")
            yield self


def door_to(thing: UUID, mask: Shown) -> Door:
    """The door to a bank, a conversation, a memory or a recall (its id), for the acting user.

    Where nothing was opened to them they read as themselves, and find what is theirs alone.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT bank, owner FROM agora_opened_bank(%s)", [thing])
        found = cursor.fetchone()
    return Door(owner=found[1], bank=found[0], mask=mask) if found else Door(owner=None, bank=None, mask=mask)


def opened_doors(mask: Shown) -> list[Door]:
    """The doors to all banks that others opened to the acting user, in the order in which the banks were made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT bank, owner FROM agora_opened_banks()")
        return [Door(owner=owner, bank=bank, mask=mask) for bank, owner in cursor.fetchall()]
