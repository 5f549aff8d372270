"""The log of looks: what an analyst read behind the door is written down for the bank's owner, before it is shown."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from uuid import UUID

from django.db import connection
from django.utils.translation import gettext as _

from memory.services.turns import NotFound


class Visit(Enum):
    """What was asked for: (pages, exports) that it counts as. A figure belongs to a page that was counted."""

    PAGE = (1, 0)
    FIGURE = (0, 0)
    EXPORT = (0, 1)


def note_look(banks: Collection[UUID], visit: Visit) -> None:
    """Write down that the acting analyst looked at these opened banks; outside the door, which lets nothing be written.

    Raises `NotFound` where one was closed meanwhile: nothing is shown that its owner could not see was shown.
    """
    if not banks:
        return
    wanted = set(banks)
    with connection.cursor() as cursor:
        cursor.execute("SELECT agora_looked(%s::uuid[], %s, %s)", [list(wanted), *visit.value])
        written = cursor.fetchone()[0]
    if written != len(wanted):
        raise NotFound(_("There is no such memory bank."))
