"""Which banks somebody may look at: their own, and those that were opened to them; each with its door and its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from agents.models import Seat
from agora_web.pages import door as doors
from memory import selectors
from memory.analysis import Door
from memory.models import Bank, Memory
from memory.services.turns import NotFound

R = TypeVar("R")
MOST_BANKS = 100  # beside each other: every one is read on its own
TRIES = 3


@dataclass(frozen=True)
class Reach:
    """One bank within reach."""

    bank: UUID
    door: Door
    agent: UUID | None  # whose bank it is for its person, where that is known
    agent_name: str
    name: str  # as the pages call it

    @property
    def opened(self) -> bool:
        """Whether it is somebody else's."""
        return self.door.masked


def one_bank(bank_id: UUID) -> Reach:
    """The bank with this id. Raises `NotFound`."""
    door = doors.to(bank_id)
    with door.open():
        return _reach(selectors.bank(bank_id), door)


def all_banks(agent: UUID | None = None) -> list[Reach]:
    """One's own banks, then those opened to one; with `agent`, those of that agent alone."""
    own = doors.own()
    found = [_reach(bank, own) for bank in Bank.objects.order_by("created_at", "pk")]
    for door in doors.opened():
        with door.open():
            found += [_reach(bank, door) for bank in Bank.objects.filter(pk__in=[door.bank])]
    return [one for one in found if agent is None or one.agent == agent]


def _reach(bank: Bank, door: Door) -> Reach:
    seat = Seat.objects.select_related("agent").filter(bank=bank).first()
    agent_name = seat.agent.name if seat else door.shown(bank.name)
    # the owner of an opened bank is not named: a few letters of its id tell one from another
    name = f"{agent_name} · {bank.pk.hex[:4]}" if door.masked else agent_name
    return Reach(bank.pk, door, seat.agent_id if seat else None, agent_name, name)


def among_many(read: Callable[[], R]) -> R:
    """What `read` finds in all banks within reach: where an owner shuts one meanwhile, it is read again without it.

    `read` asks anew which banks there are. Raises `NotFound` where doors keep being shut.
    """
    for _again in range(TRIES - 1):
        with suppress(NotFound):
            return read()
    return read()


def each(reached: Sequence[Reach], read: Callable[[Reach], R]) -> list[R]:
    """What `read` finds in each bank, each behind its own door."""
    out = []
    for one in reached:
        with one.door.open():
            out.append(read(one))
    return out


def worded(reached: Sequence[Reach], rows: Sequence[Any], words: Callable[[Sequence[Any]], Sequence[Any]]) -> list[Any]:
    """Rows of several banks (`row.bank`) in their order, each with its words as its door shows them."""
    out = list(rows)
    for one in reached:
        places = [place for place, row in enumerate(rows) if row.bank == one.bank]
        if places:
            with one.door.open():
                found = one.door.rows(words([rows[place] for place in places]))
            for place, row in zip(places, found, strict=True):
                out[place] = row
    return out


def adapters_of(reached: Sequence[Reach]) -> list[str]:
    """The versions that scored the banks' memories, in order of their names."""
    found = each(reached, lambda one: set(Memory.objects.filter(bank=one.bank).values_list("adapter", flat=True)))
    return sorted(set().union(*found))
