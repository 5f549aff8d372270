"""A regular look whether newer memories say otherwise than older ones. It marks them for their person; none leaves."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Max
from django.utils import timezone

from memory.engine.doubts import doubts_among
from memory.engine.types import Role, State
from memory.hot_banks import hot_banks
from memory.models import Bank, Doubt, Job, JobState, Memory
from memory.services.jobs import enqueue, handles
from memory.services.turns import NotFound
from memory.tenancy import acting_as

JOB = "memory.check"
NEWEST = 500  # memories of a bank that are compared with all before them
SLACK = timedelta(minutes=5)  # a memory may have been written while the last look was on its way


def ask_for_all(now: datetime) -> int:
    """Give each bank its job in which something was written since the last look. Found as the sweeping role."""
    looked: dict[str, datetime] = dict(
        Job.objects.using("worker").filter(kind=JOB, state=JobState.DONE).values_list("key").annotate(Max("started_at"))
    )
    written = Memory.objects.using("worker").filter(state=State.HELD, role__in=(Role.USER, Role.OTHER))
    asked = 0
    for bank, owner, newest in written.values_list("bank", "owner").annotate(Max("written_at")):
        if str(bank) in looked and newest < looked[str(bank)] - SLACK:
            continue
        with acting_as(owner):
            enqueue(JOB, str(bank), owner_id=owner)
        asked += 1
    return asked


@handles(JOB)
def check_bank(key: str) -> None:
    """Look through one bank, as its owner."""
    check(UUID(key), now=timezone.now())


def check(bank_id: UUID, *, now: datetime) -> int:
    """Mark the held memories of a bank that a newer one contradicts; returns how many marks are new."""
    bank = Bank.objects.select_related("space").filter(pk=bank_id).first()
    if bank is None:
        return 0
    hot = hot_banks.open(bank)
    with hot.lock:
        items = list(hot.memories())
        vectors = hot.vectors([item.id for item in items])
    newest = sorted(range(len(items)), key=lambda row: -items[row].written)[:NEWEST]
    pairs = [(items[older].id, items[newer].id, what) for older, newer, what in doubts_among(items, vectors, newest)]
    known = set(Doubt.objects.filter(bank=bank).values_list("memory", "newer"))
    new = [pair for pair in pairs if pair[:2] not in known]
    Doubt.objects.bulk_create(
        [Doubt(owner_id=bank.owner_id, bank=bank, memory_id=older, newer_id=newer, what=what.value, at=now)
         for older, newer, what in new],
        ignore_conflicts=True,
    )  # fmt: skip
    return len(new)


def settle(memory_id: UUID, *, now: datetime) -> None:
    """Take the marks off a memory: its person has looked. Raises `NotFound`."""
    if not Memory.objects.filter(pk=memory_id).exists():
        raise NotFound("There is no such memory. It may have been erased.")
    Doubt.objects.filter(memory=memory_id, settled_at=None).update(settled_at=now)
