"""The analyst's door: a bank that its owner opened is read as itself alone, in a savepoint that can change nothing.

Who may pass is asked of the database (`agora_opened_bank`), which answers for the acting user, and answers nothing
but to an analyst about a bank that is open now. Behind the door the database has another role, which sees that bank's
rows and nothing else of anybody. What is one's own needs no door: it is read as oneself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist
from django.db import connection, transaction
from django.utils.translation import gettext as _

from memory.services.turns import NotFound

Shown = Callable[[str], str]

WORDS = ("text", "title", "newer_text")  # fields of rows that people's words are in: masked behind the door
NAMES = ("speaker",)  # fields that say who it is: left out behind it


# Set for one savepoint. Whoever came back to the application's role in it would act as the analyst, who sees nothing
# there; and a bank named instead of this one shows nothing unless it was opened too.
_OPEN = (
    "SELECT set_config('agora.bank', %s, true), set_config('transaction_read_only', 'on', true), "
    "set_config('role', 'agora_analyst', true)"
)


@dataclass(frozen=True)
class Door:
    """How one person reads a bank, or a thing in it: as themselves, or, masked, what its owner opened to analysts."""

    bank: UUID | None  # the opened bank, somebody else's; None where one reads as oneself
    mask: Shown

    @property
    def masked(self) -> bool:
        """Whether this is another person's bank, of which an analyst sees no more than is left after masking."""
        return self.bank is not None

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
        """Read through the door: inside it the database shows the opened bank alone, and refuses every change.

        Raises `NotFound` where it is shut while somebody reads: its rows are gone between two statements.
        """
        if self.bank is None:
            yield self
            return
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(_OPEN, [str(self.bank)])
            try:
                yield self
            except ObjectDoesNotExist as error:
                raise NotFound(_("There is no such memory bank.")) from error
            # Nothing was written; taken back, the savepoint takes role and settings with it, whatever happened inside.
            transaction.set_rollback(True)


def door_to(thing: UUID, mask: Shown) -> Door:
    """The door to a bank, a conversation, a memory or a recall (its id), for the acting user.

    Where nothing was opened to them they read as themselves, and find what is theirs alone.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT bank FROM agora_opened_bank(%s)", [thing])
        found = cursor.fetchone()
    return Door(found[0] if found else None, mask)


def opened_doors(mask: Shown) -> list[Door]:
    """The doors to all banks that others opened to the acting user, in the order in which the banks were made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT bank FROM agora_opened_banks()")
        return [Door(bank, mask) for (bank,) in cursor.fetchall()]
