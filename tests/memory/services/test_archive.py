from datetime import datetime

import pytest

from agora_web.accounts.models import User
from memory.engine.types import State
from memory.models import Job, Recall
from memory.services import memories
from memory.services.jobs import enqueue, run_job
from tests.memory.services.desk import Desk

KEPT = [
    "My passport number is X1234567", "Anna lives in Lisbon since 2019", "My flight is on 3 May at 10:30",
    "My dentist is Dr Ito in Elm Road", "Our budget is €900 for June",
]  # fmt: skip


@pytest.fixture
def archived(person: User) -> Desk:
    """A bank of five that let the piano go."""
    desk = Desk(person, memories=5, archive=False)
    desk.tell("well the piano is old")
    for text in KEPT:
        desk.tell(text)
    assert desk.texts(State.ARCHIVED) == ["well the piano is old"]
    return desk


def test_only_the_archives_words_are_indexed(archived: Desk) -> None:
    assert archived.postings() == {"well the piano is old": ["old", "piano"]}


def test_the_archive_is_asked_where_the_bank_is_set_so(archived: Desk) -> None:
    assert archived.ask("Is the piano old?").injected == []
    archived.configure(recall_archive=True)
    asked = archived.ask("Is the piano old?")
    assert asked.injected == ["well the piano is old"]
    row = asked.trace.rows[0]
    assert (row["state"], row["injected"]) == ("archived", True)
    assert asked.trace.candidates == 6
    assert archived.texts() == KEPT  # recalling restores nothing
    archived.agree()


def test_a_restored_memory_is_a_candidate_once(archived: Desk, now: datetime) -> None:
    archived.configure(recall_archive=True)
    with archived.acting():
        memories.restore(archived.memory("well the piano is old").pk, now=now)
    asked = archived.ask("Is the piano old?")
    assert [row.item.text for row in asked.found.rows].count("well the piano is old") == 1
    assert asked.found.rows[0].state is State.HELD
    assert asked.trace.candidates == 6  # five held, one in the archive


def test_forgotten_memories_are_in_no_archive(archived: Desk, now: datetime) -> None:
    archived.configure(recall_archive=True)
    with archived.acting():
        memories.forget(archived.memory("well the piano is old").pk, now=now)
    asked = archived.ask("Is the piano old?")
    assert asked.trace.candidates == 5
    assert archived.postings() == {}


def test_an_archived_memory_is_found_by_its_words_alone(person: User) -> None:
    """Among many archived ones that lie nearer by vector, the rare word decides."""
    desk = Desk(person, memories=5, archive=True)
    desk.tell("ok zylophon")
    for i in range(26):
        desk.tell(f"ok so number {i} then")
    for text in KEPT:
        desk.tell(text)
    assert "ok zylophon" in desk.texts(State.ARCHIVED)
    assert "ok zylophon" in desk.ask("zylophon?").injected


def scored(desk: Desk, trace: Recall) -> list[dict[str, object]]:
    with desk.acting():
        enqueue("memory.score_archive", str(trace.pk), owner_id=desk.person.pk)
        job = Job.objects.get(key=str(trace.pk), state="pending")
    assert run_job(job.pk)
    with desk.acting():
        return list(Recall.objects.get(pk=trace.pk).regretted)


def test_an_archived_memory_that_a_cue_would_have_recalled_is_regretted(archived: Desk) -> None:
    trace = archived.ask("Is the piano old?").trace
    found = scored(archived, trace)
    assert [row["memory"] for row in found] == [str(archived.memory("well the piano is old").pk)]
    assert found[0]["group"] in {"highly", "maybe"}
    assert scored(archived, trace) == found  # once more changes nothing


def test_what_a_cue_would_not_have_recalled_is_not_regretted(archived: Desk) -> None:
    assert scored(archived, archived.ask("When is my flight?").trace) == []


def test_a_withdrawn_memory_is_not_regretted(archived: Desk, now: datetime) -> None:
    turn = archived.memory("well the piano is old").turn_id
    assert turn is not None
    with archived.acting():
        memories.withdraw_turns(archived.bank_id, [turn], now=now)
    assert scored(archived, archived.ask("Is the piano old?").trace) == []


def test_scoring_a_trace_that_is_gone_does_nothing(archived: Desk, now: datetime) -> None:
    trace = archived.ask("Is the piano old?").trace
    with archived.acting():
        enqueue("memory.score_archive", str(trace.pk), owner_id=archived.person.pk)
        job = Job.objects.get(key=str(trace.pk))
        Recall.objects.filter(pk=trace.pk).delete()
    assert run_job(job.pk)


def test_an_erased_memory_leaves_the_regrets_too(archived: Desk, now: datetime) -> None:
    trace = archived.ask("Is the piano old?").trace
    assert scored(archived, trace)
    with archived.acting():
        memories.erase(archived.memory("well the piano is old").pk, now=now)
        assert Recall.objects.get(pk=trace.pk).regretted == []
