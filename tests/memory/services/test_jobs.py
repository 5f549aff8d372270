import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
import time_machine
from django.db import connection
from kombu.exceptions import OperationalError

from agora_web.accounts.models import User
from memory.encoding import encoder
from memory.engine.encoder import embedded_text
from memory.engine.types import BankError, State
from memory.models import Job, JobState, Memory, MemorySource, Recall
from memory.services import conversations, jobs, memories, sweeps
from memory.services.jobs import HANDLERS, LEASE, MAX_ATTEMPTS, due_jobs, enqueue, handles, queue_of, run_job
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk

LATER = timedelta(minutes=11)
Log = list[str]


@pytest.fixture
def log() -> Iterator[Log]:
    """What the handler of kind `test.note` was called with."""
    calls: Log = []

    @handles("test.note")
    def note(key: str) -> None:
        calls.append(key)

    yield calls
    del HANDLERS["test.note"]


@pytest.fixture
def failing(log: Log) -> Iterator[Callable[[Exception], None]]:
    """Makes the handler raise; call it with the error."""
    note = HANDLERS["test.note"]

    def fail_with(error: Exception) -> None:
        def fail(key: str) -> None:
            note(key)
            raise error

        HANDLERS["test.note"] = fail

    yield fail_with
    HANDLERS["test.note"] = note


def job_of(person: User, key: str = "a", *, run_after: datetime | None = None) -> Job:
    with acting_as(person.pk):
        enqueue("test.note", key, owner_id=person.pk, run_after=run_after)
        return Job.objects.filter(key=key).latest("created_at")


def again(job: Job) -> Job:
    return Job.objects.using("worker").get(pk=job.pk)


def due(person: User, now: datetime) -> list[uuid.UUID]:
    mine = set(Job.objects.using("worker").filter(owner=person.pk).values_list("pk", flat=True))
    return [pk for pk, _ in due_jobs(now) if pk in mine]


def test_a_job_delivered_twice_runs_once(person: User, log: Log, now: datetime) -> None:
    job = job_of(person)
    assert due(person, now + LATER) == [job.pk]
    assert run_job(job.pk)
    assert not run_job(job.pk)
    assert log == ["a"]
    done = again(job)
    assert (done.state, done.attempts, done.lease, done.lease_until, done.error) == (JobState.DONE, 1, None, None, "")
    assert done.finished_at is not None
    assert due(person, now + LATER) == []


def test_a_job_that_is_being_done_is_not_done_again(person: User, log: Log) -> None:
    job = job_of(person)
    seen: list[bool] = []
    HANDLERS["test.note"] = lambda key: seen.append(run_job(job.pk))
    assert run_job(job.pk)
    assert seen == [False]


def test_a_job_runs_as_its_owner(person: User, log: Log) -> None:
    def who(key: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_user, current_setting('agora.user')")
            log.append(" ".join(cursor.fetchone()))

    HANDLERS["test.note"] = who
    run_job(job_of(person).pk)
    assert log == [f"agora_app {person.pk}"]


def test_a_job_waits_for_its_time(person: User, log: Log, now: datetime) -> None:
    job = job_of(person, run_after=now + timedelta(minutes=5))
    assert due(person, now + timedelta(minutes=4)) == []
    assert not run_job(job.pk)
    assert log == []
    with time_machine.travel(now + timedelta(minutes=6)):
        assert due(person, now + timedelta(minutes=6)) == [job.pk]
        assert run_job(job.pk)
    assert log == ["a"]


def test_a_lost_lease_lets_another_worker_claim_and_the_first_cannot_finish(
    person: User, log: Log, now: datetime
) -> None:
    job = job_of(person)
    lost = uuid.uuid4()
    claimed = jobs._claim(job.pk, lost, now + timedelta(seconds=1))  # a worker that then falls silent
    assert claimed is not None
    assert not run_job(job.pk)
    with time_machine.travel(now + LEASE + timedelta(seconds=5)):
        assert run_job(job.pk)
    assert not jobs._finish(job.pk, lost, state=JobState.FAILED, error="late")
    assert not jobs.renew(job.pk, lost)
    assert (again(job).state, again(job).attempts, again(job).error) == (JobState.DONE, 2, "")


def test_a_lease_that_is_still_ours_can_be_renewed(person: User, log: Log, now: datetime) -> None:
    job, lease = job_of(person), uuid.uuid4()
    jobs._claim(job.pk, lease, now + timedelta(seconds=1))
    with time_machine.travel(now + LEASE - timedelta(seconds=10)):
        assert jobs.renew(job.pk, lease)
    with time_machine.travel(now + LEASE + timedelta(seconds=5)):
        assert not run_job(job.pk)


def test_a_failing_job_is_tried_again_later_and_then_given_up(
    person: User, log: Log, failing: Callable[[Exception], None], now: datetime
) -> None:
    failing(RuntimeError("secret words of a person"))
    job, at, waits = job_of(person), now, []
    for attempt in range(1, MAX_ATTEMPTS + 1):
        with time_machine.travel(at + timedelta(seconds=1), tick=False):
            with pytest.raises(RuntimeError):
                run_job(job.pk)
            tried = again(job)
            assert tried.attempts == attempt
            waits.append((tried.run_after - at).total_seconds() - 1 if attempt < MAX_ATTEMPTS else None)
            at = max(at, tried.run_after)
    assert waits == [5, 20, 80, 320, None]
    assert (tried.state, tried.error) == (JobState.FAILED, "RuntimeError: see the worker's log.")
    assert not run_job(job.pk)
    assert len(log) == MAX_ATTEMPTS


def test_an_error_that_trying_again_cannot_cure_is_final(
    person: User, log: Log, failing: Callable[[Exception], None]
) -> None:
    failing(BankError("The bank is closed. Open it."))
    job = job_of(person)
    with pytest.raises(BankError):
        run_job(job.pk)
    assert (again(job).state, again(job).error) == (JobState.FAILED, "The bank is closed. Open it.")


def test_what_a_failing_job_wrote_is_rolled_back(
    desk: Desk, log: Log, failing: Callable[[Exception], None], now: datetime
) -> None:
    desk.tell("My bike is red")
    memory = desk.memory("My bike is red").pk

    def half(key: str) -> None:
        memories.erase(memory, now=now)
        raise RuntimeError

    HANDLERS["test.note"] = half
    with pytest.raises(RuntimeError):
        run_job(job_of(desk.person).pk)
    assert desk.texts() == ["My bike is red"]
    desk.agree()


def test_a_job_that_each_of_its_workers_died_of_is_given_up(person: User, log: Log, now: datetime) -> None:
    job, at = job_of(person), now + timedelta(seconds=1)
    for _ in range(MAX_ATTEMPTS):
        assert jobs._claim(job.pk, uuid.uuid4(), at) is not None
        at += LEASE + timedelta(seconds=1)
    assert jobs._claim(job.pk, uuid.uuid4(), at) is None
    assert again(job).state == JobState.FAILED
    assert "workers" in again(job).error
    assert due(person, at + LATER) == []


def test_one_open_job_a_key_and_the_newest_time_counts(person: User, log: Log, now: datetime) -> None:
    first = job_of(person, run_after=now + timedelta(minutes=5))
    assert job_of(person, run_after=now + timedelta(minutes=9)).pk == first.pk
    assert again(first).run_after == now + timedelta(minutes=9)
    assert job_of(person, "b").pk != first.pk
    run_job(job_of(person, "b").pk)
    assert job_of(person, "b").state == JobState.PENDING  # a done one does not stand in the way


def test_a_broker_that_is_away_does_not_hold_up_the_work(
    person: User, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_args: object, **_kwargs: object) -> None:
        raise OperationalError

    monkeypatch.setattr(jobs.current_app, "send_task", away)
    assert job_of(person).state == JobState.PENDING


def test_a_forgotten_memory_is_erased_when_its_time_is_over(desk: Desk, now: datetime) -> None:
    for i in range(5):
        desk.tell(f"My bike number {i} is red")
    asked = desk.ask("Which bike number 3 is red?")
    memory = desk.memory("My bike number 3 is red")
    vector = embedded_text("Ana", memory.at, memory.text)
    with desk.acting():
        memories.forget(memory.pk, now=now)
        job = Job.objects.get(key=str(memory.pk))
    assert not run_job(job.pk)
    encoder().encode([vector])
    with time_machine.travel(now + LATER):
        assert run_job(job.pk)
    with desk.acting():
        assert not Memory.objects.filter(pk=memory.pk).exists()
        assert not MemorySource.objects.filter(memory=memory.pk).exists()
        assert str(memory.pk) not in repr(Recall.objects.get(pk=asked.trace.pk).rows)
    before = encoder().calls
    encoder().encode([vector])
    assert encoder().calls == before + 1  # the cache has forgotten it
    assert desk.happened(memory.pk)[-2:] == ["forgotten", "erased"]
    desk.agree()


def test_erasure_leaves_alone_what_was_brought_back_or_forgotten_anew(desk: Desk, now: datetime) -> None:
    desk.tell("My bike is red")
    memory = desk.memory("My bike is red").pk
    with desk.acting():
        memories.forget(memory, now=now)
        memories.unforget(memory, now=now)
        job = Job.objects.get(key=str(memory))
    with time_machine.travel(now + LATER):
        assert run_job(job.pk)
    assert desk.texts() == ["My bike is red"]
    with desk.acting():
        memories.forget(memory, now=now + LATER)
        anew = Job.objects.get(key=str(memory), state=JobState.PENDING)
    sweeps.erase_forgotten(str(memory))  # delivered too early, by whomever
    assert desk.texts(State.FORGOTTEN) == ["My bike is red"]
    with time_machine.travel(now + 2 * LATER):
        assert run_job(anew.pk)
    assert desk.reread(memory) is None


def test_a_forgotten_conversation_is_erased_when_its_time_is_over(desk: Desk, now: datetime) -> None:
    desk.tell("My bike is red")
    with desk.acting():
        conversations.forget_conversation(desk.conversation_id, keep_memories=False, now=now)
        job = Job.objects.get(key=str(desk.conversation_id))
    with time_machine.travel(now + LATER):
        assert run_job(job.pk)
    assert desk.conversation() is None
    assert desk.texts(State.FORGOTTEN) == []
    desk.agree()


def test_jobs_done_a_week_ago_are_swept_and_failed_ones_stay(person: User, log: Log, now: datetime) -> None:
    done, failed, fresh = job_of(person, "a"), job_of(person, "b"), job_of(person, "c")
    for job, state, days in ((done, JobState.DONE, 8), (failed, JobState.FAILED, 8), (fresh, JobState.DONE, 6)):
        Job.objects.using("worker").filter(pk=job.pk).update(state=state, finished_at=now - timedelta(days=days))
    sweeps.forget_old_jobs(now)
    left = set(Job.objects.using("worker").filter(owner=person.pk).values_list("pk", flat=True))
    assert left == {failed.pk, fresh.pk}


def test_silent_turns_of_everybody_are_ended_as_interrupted(desk: Desk, now: datetime) -> None:
    turn, alive = desk.open("One"), desk.open("Two", conversation=desk.begin())
    with desk.acting():
        for one, action, beat in ((turn, "I was say", now - timedelta(seconds=11)), (alive, "", now)):
            type(one).objects.filter(pk=one.pk).update(state="running", action=action, heartbeat_at=beat)
    assert sweeps.interrupt_silent_turns(now) >= 1
    with desk.acting():
        turn.refresh_from_db()
        alive.refresh_from_db()
    assert (turn.state, turn.action, turn.error_retry) == ("interrupted", "I was say", True)
    assert alive.state == "running"


def test_what_people_wait_for_is_not_behind_a_training() -> None:
    import memory.services.lab  # noqa: F401 (registers what does its jobs)
    import training.tasks  # noqa: F401

    assert {kind for kind in HANDLERS if queue_of(kind) == "training"} == {
        "memory.lab", "training.run", "training.counterfactual", "training.hindsight", "training.model_rating",
    }  # fmt: skip
    assert {queue_of(kind) for kind in ("training.settle", "training.rescore", "memory.erase")} == {"default"}
