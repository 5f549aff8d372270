"""Marks on memories that a newer one contradicts."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest

from memory import selectors
from memory.engine.types import State
from memory.models import Bank, Doubt, Job, Memory
from memory.services import memories
from memory.services.doubts import JOB, ask_for_all, check, settle
from memory.services.jobs import run_job
from memory.services.turns import NotFound
from tests.memory.services.desk import Desk

OLD, NEW = "The code of the garage is 4711.", "The code of the garage is 8822."


@pytest.fixture
def told(desk: Desk) -> Desk:
    for text in (OLD, "I like the sea and the wind at the harbour.", NEW):
        desk.tell(text)
    return desk


def look(desk: Desk, now: datetime) -> int:
    with desk.acting():
        return check(desk.bank_id, now=now)


def named(desk: Desk, text: str) -> UUID:
    with desk.acting():
        found: UUID = Memory.objects.get(bank=desk.bank_id, text=text).pk
    return found


def mark(desk: Desk, text: str) -> dict[str, object] | None:
    with desk.acting():
        bank = Bank.objects.get(pk=desk.bank_id)
        for state in (State.HELD, State.ARCHIVED, State.FORGOTTEN):
            rows, _more = selectors.bank_memories(bank, state=state, query="", page=1)
            for row in rows:
                if row.text == text:
                    found: dict[str, object] | None = selectors.memory_json(row)["doubt"]
                    return found
    raise AssertionError(text)


def test_an_older_memory_is_marked_and_stays_where_it_is(told: Desk, now: datetime) -> None:
    before = told.hot().state.seq
    assert look(told, now) == 1
    found = mark(told, OLD)
    assert found is not None
    assert (found["what"], found["text"], found["newer"]) == ("number", NEW, str(named(told, NEW)))
    assert mark(told, NEW) is None
    assert told.hot().state.seq == before
    assert OLD in told.texts()


def test_a_pair_is_marked_once_and_not_again_once_its_person_has_looked(told: Desk, now: datetime) -> None:
    assert [look(told, now), look(told, now)] == [1, 0]
    with told.acting():
        settle(named(told, OLD), now=now)
    assert mark(told, OLD) is None
    assert look(told, now) == 0
    told.tell("The code of the garage is 5555.")
    assert look(told, now) == 2, "what is newer still is another matter"
    assert mark(told, OLD) is not None


def test_a_mark_is_not_shown_while_either_is_being_forgotten_and_goes_with_either(told: Desk, now: datetime) -> None:
    look(told, now)
    with told.acting():
        memories.forget(named(told, NEW), now=now)
    assert mark(told, OLD) is None
    with told.acting():
        memories.unforget(named(told, NEW), now=now)
    assert mark(told, OLD) is not None
    with told.acting():
        memories.erase(named(told, NEW), now=now)
        assert not Doubt.objects.exists()


def test_settling_what_is_not_there_is_not_found(told: Desk, now: datetime) -> None:
    with told.acting(), pytest.raises(NotFound):
        settle(uuid4(), now=now)


def test_each_bank_is_looked_through_once_and_again_after_something_was_written(told: Desk, now: datetime) -> None:
    def jobs() -> list[Job]:
        rows = Job.objects.using("worker").filter(kind=JOB, key=str(told.bank_id))
        return list(rows.order_by("created_at"))

    assert ask_for_all(now) >= 1
    (job,) = jobs()
    assert run_job(job.pk)
    assert mark(told, OLD) is not None
    Job.objects.using("worker").filter(pk=job.pk).update(started_at=now + timedelta(hours=1))
    ask_for_all(now)
    assert len(jobs()) == 1
    Job.objects.using("worker").filter(pk=job.pk).update(started_at=now - timedelta(hours=1))
    ask_for_all(now)
    assert len(jobs()) == 2
