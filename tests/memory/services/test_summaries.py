"""Summaries of old stretches on the real database, and what becomes of them when a source goes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from agora_web.accounts.models import User
from memory.engine.types import State
from memory.models import Job, Memory, MemorySource, Turn
from memory.services import memories
from memory.services.banks import BankConfiguration, configure_bank
from memory.services.conversations import erase_conversation, forget_conversation
from memory.services.jobs import run_job
from memory.services.summaries import JOB, MILESTONE_JOB, SESSIONS, Grain, ask_for_all, summarise
from tests.memory.services.desk import Desk

TALK = [
    "My sister Vera moved to Lisbon in May. It was a long drive with the dog.",
    "Vera works at the harbour in Lisbon now. The harbour is loud at night.",
    "Vera found a flat above the harbour, with a blue door and a balcony.",
    "The harbour of Lisbon has forty boats, and Vera paints them in spring.",
    "Vera asks me to visit Lisbon in June. I said that I would come by train.",
    "In Lisbon the trains to the harbour leave every ten minutes until midnight.",
]
LATER = timedelta(days=2)


@pytest.fixture
def desk(person: User) -> Desk:
    """A bank from which a stretch has left, with room for a summary again."""
    full = Desk(person, memories=5)
    for text in TALK:
        full.tell(text)
    for number in range(5):
        full.tell(
            f"Entirely different, matter {number}: 4{number} kilos of copper wire for 9{number} euros on 3 May 2024."
        )
    return full


def wide(desk: Desk) -> None:
    with desk.acting():
        configure_bank(desk.bank_id, BankConfiguration(50, 100_000, "importance", 300, False), now=now())


def now() -> datetime:
    return datetime.now(UTC) + LATER


def sum_up(desk: Desk) -> list[UUID]:
    with desk.acting():
        made = summarise(desk.bank_id, now=now())
    desk.agree()
    return made


def row(desk: Desk, memory: UUID) -> Memory | None:
    with desk.acting():
        return Memory.objects.filter(pk=memory).first()


def parts_of(desk: Desk, memory: UUID) -> list[UUID]:
    return list(desk.hot().state.marks[memory].parts)


def test_what_left_of_an_old_stretch_comes_back_as_one_memory_with_its_sources(desk: Desk) -> None:
    wide(desk)
    (made,) = sum_up(desk)
    summary = row(desk, made)
    assert summary is not None
    assert (summary.kind, summary.state) == ("summary", State.HELD)
    assert "Vera" in summary.text
    with desk.acting():
        sources = {source.turn_id for source in MemorySource.objects.filter(memory=made)}
        told = {part.turn_id for part in Memory.objects.filter(pk__in=parts_of(desk, made))}
        states = set(Memory.objects.filter(pk__in=parts_of(desk, made)).values_list("state", "archive_reason"))
    assert sources == told != set()
    assert states == {(State.ARCHIVED, "budget")}
    assert any("Vera" in text for text in desk.ask("Where does Vera work in Lisbon, at which harbour?").injected)


def test_a_stretch_is_summed_up_once_and_only_when_it_is_old(desk: Desk) -> None:
    wide(desk)
    with desk.acting():
        assert summarise(desk.bank_id, now=datetime.now(UTC)) == []
    assert len(sum_up(desk)) == 1
    assert sum_up(desk) == []


def test_a_summary_that_would_be_the_first_to_leave_is_not_written(desk: Desk) -> None:
    before = desk.hot().state.seq
    sum_up(desk)
    with desk.acting():
        held = Memory.objects.filter(bank=desk.bank_id, state=State.HELD, kind="summary").count()
        written = Memory.objects.filter(bank=desk.bank_id, kind="summary").count()
    assert written == held
    assert desk.hot().state.held <= 5
    assert (desk.hot().state.seq == before) == (held == 0)


@pytest.mark.parametrize("verb", ["forget", "erase"])
def test_a_source_that_goes_takes_the_summary_along_and_the_next_is_made_without_it(desk: Desk, verb: str) -> None:
    wide(desk)
    (made,) = sum_up(desk)
    gone, *others = parts_of(desk, made)
    with desk.acting():
        getattr(memories, verb)(gone, now=now())
    desk.agree()
    assert row(desk, made) is None
    assert all((found := row(desk, other)) is not None and found.state == State.ARCHIVED for other in others)
    with desk.acting():
        words = Memory.objects.filter(pk=gone).values_list("text", flat=True).first() or TALK[0]
    for again in sum_up(desk):
        assert gone not in parts_of(desk, again)
        found = row(desk, again)
        assert found is not None
        assert words.split(". ")[0] not in found.text


def test_forgetting_a_summary_forgets_the_memories_whose_words_it_shows_and_undo_brings_all_back(desk: Desk) -> None:
    wide(desk)
    (made,) = sum_up(desk)
    parts = parts_of(desk, made)
    with desk.acting():
        memories.forget(made, now=now())
    desk.agree()
    assert {found.state for one in [made, *parts] if (found := row(desk, one))} == {State.FORGOTTEN}
    with desk.acting():
        memories.unforget(made, now=now())
    desk.agree()
    summary = row(desk, made)
    assert summary is not None
    assert summary.state == State.HELD
    assert {found.state for one in parts if (found := row(desk, one))} == {State.ARCHIVED}


def test_erasing_a_summary_erases_its_parts(desk: Desk) -> None:
    wide(desk)
    (made,) = sum_up(desk)
    parts = parts_of(desk, made)
    with desk.acting():
        memories.erase(made, now=now())
    desk.agree()
    assert [row(desk, one) for one in [made, *parts]] == [None] * (len(parts) + 1)
    assert not any(set(parts) & set(parts_of(desk, again)) for again in sum_up(desk))


def test_a_conversation_that_goes_takes_its_summary_along(desk: Desk) -> None:
    wide(desk)
    (made,) = sum_up(desk)
    with desk.acting():
        forget_conversation(desk.conversation_id, keep_memories=False, now=now())
        erase_conversation(desk.conversation_id, now=now() + timedelta(hours=1))
    assert row(desk, made) is None


def test_a_part_can_be_restored_and_stands_beside_the_summary(desk: Desk) -> None:
    wide(desk)
    (made,) = sum_up(desk)
    part = parts_of(desk, made)[0]
    with desk.acting():
        memories.restore(part, now=now())
    state = desk.agree()
    assert (state.marks[part].state, state.marks[made].state) == (State.HELD, State.HELD)


def test_each_bank_with_an_old_stretch_gets_its_job_and_a_worker_does_it_as_the_owner(desk: Desk) -> None:
    wide(desk)
    assert ask_for_all(datetime.now(UTC)) == 0 or not jobs(desk)
    assert ask_for_all(now()) >= 1
    (job,) = jobs(desk)
    assert run_job(job.pk)
    desk.agree()


def jobs(desk: Desk) -> list[Job]:
    return list(Job.objects.using("worker").filter(kind=JOB, key=str(desk.bank_id)))


# --- milestones -----------------------------------------------------------------------------------------------------


def spread_over_sessions(desk: Desk, outcome_in: int | None) -> None:
    """What was told of Vera becomes one session a turn; one of them may end with an outcome."""
    with desk.acting():
        vera = Turn.objects.filter(observation__in=TALK).order_by("ordinal")
        for session, turn in enumerate(vera):
            Turn.objects.filter(pk=turn.pk).update(
                session=session, outcome={"reward": 1} if session == outcome_in else None
            )
            Memory.objects.filter(turn=turn.pk).update(session=session)
        Turn.objects.exclude(pk__in=vera.values("pk")).update(session=len(TALK))


def sessions_of(desk: Desk, memory: UUID) -> set[int]:
    with desk.acting():
        return set(Memory.objects.filter(pk__in=parts_of(desk, memory)).values_list("session", flat=True))


def sum_up_milestones(desk: Desk) -> list[UUID]:
    with desk.acting():
        return summarise(desk.bank_id, now=now(), grain=Grain.MILESTONE)


def test_sessions_up_to_an_outcome_are_summed_up_as_one(desk: Desk) -> None:
    spread_over_sessions(desk, outcome_in=4)
    wide(desk)
    assert sum_up(desk) == [], "no session alone has enough to sum up"
    (made,) = sum_up_milestones(desk)
    assert len(sessions_of(desk, made)) > 1
    assert max(sessions_of(desk, made)) <= 4
    assert sum_up_milestones(desk) == []


def test_without_an_outcome_five_sessions_are_a_milestone_once_the_next_has_begun(desk: Desk) -> None:
    spread_over_sessions(desk, outcome_in=None)
    wide(desk)
    (made,) = sum_up_milestones(desk)
    assert len(sessions_of(desk, made)) > 1
    assert max(sessions_of(desk, made)) < SESSIONS


def test_what_follows_the_last_outcome_waits_for_the_next(desk: Desk) -> None:
    spread_over_sessions(desk, outcome_in=0)
    wide(desk)
    assert sum_up_milestones(desk) == []


def test_a_bank_is_given_one_job_for_its_milestones(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    spread_over_sessions(desk, outcome_in=4)
    assert ask_for_all(now()) == 0
    assert ask_for_all(now(), Grain.MILESTONE) == ask_for_all(now(), Grain.MILESTONE) == 1
    with desk.acting():
        job = Job.objects.get(kind=MILESTONE_JOB)
    wide(desk)
    monkeypatch.setattr("memory.services.summaries.timezone.now", now)
    assert run_job(job.pk)
    with desk.acting():
        assert Memory.objects.filter(kind="summary").count() == 1
