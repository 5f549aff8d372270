"""The policy lab as a job: the same numbers twice, nothing of the bank touched, cancelled, killed, deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from memory.adapters import shipped_adapter
from memory.engine.prior import prior
from memory.engine.types import BankError
from memory.lab import CurveRow, adapters_at_hand, curve_rows, missed_rows
from memory.models import Bank, Job, JobState, LabReplay, LabResult, LabState, Memory
from memory.services import jobs, lab, replays
from memory.services.conversations import erase_conversation, forget_conversation
from memory.services.lab import Asked, LabRefused, ask, cancel, checked, delete, memories_in
from memory.services.replays import StoredConversation
from memory.services.turns import NotFound
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk
from tests.memory.test_tenancy import OWNED
from tests.scenes import make_person

PRIOR = prior().version
SAID = ["My passport number is X1234567", "ok thanks", "We walked along the harbour", "Tea is better than coffee"]


@pytest.fixture
def told(desk: Desk) -> Desk:
    for words in SAID:
        desk.tell(words, f"You said so on day {len(words)}")
    desk.tell("What is my passport number?")
    return desk


def asked(desk: Desk, **fields: Any) -> Asked:
    return Asked(**{"conversations": (desk.conversation_id,), "policies": ("fifo", "importance"),
                    "budgets": ("2", "50%", "100%")} | fields)  # fmt: skip


def begin(desk: Desk, **fields: Any) -> LabReplay:
    with desk.acting():
        return ask(asked(desk, **fields), owner_id=desk.person.pk, now=datetime.now(UTC))


def job_of(replay: LabReplay) -> Job:
    return Job.objects.using("worker").get(kind=lab.JOB, key=str(replay.pk))


def work(replay: LabReplay) -> bool:
    return jobs.run_job(job_of(replay).pk)


def reread(desk: Desk, replay: LabReplay) -> LabReplay:
    with desk.acting():
        return LabReplay.objects.get(pk=replay.pk)


def curves(desk: Desk, replay: LabReplay) -> list[CurveRow]:
    with desk.acting():
        return curve_rows(replay.pk)


def everything() -> dict[str, list[str]]:
    """Every row of every table that a person owns, but for jobs and the lab's own."""
    kept = [model for model in OWNED if model not in (Job, LabReplay, LabResult)]
    return {
        model.__name__: sorted(str(row) for row in model._default_manager.using("owner").values()) for model in kept
    }


def test_a_replay_gives_a_point_for_each_policy_and_budget_and_touches_nothing_else(told: Desk) -> None:
    before, seq = everything(), told.hot().state.seq
    replay = begin(told)
    assert job_of(replay).state == JobState.PENDING
    assert jobs.queue_of(lab.JOB) == "training"
    assert work(replay)
    done = reread(told, replay)
    assert (done.state, done.progress, done.error) == (LabState.DONE, 1.0, "")
    rows = curves(told, replay)
    assert [(row.policy, row.budget, row.memories) for row in rows] == [
        (policy, budget, memories) for policy in ("fifo", "importance")
        for budget, memories in (("2", 2), ("50%", 4), ("100%", 9))
    ]  # fmt: skip
    assert {row.told for row in rows} == {9}
    assert everything() == before
    assert before["Memory"]
    assert told.hot().state.seq == seq
    told.agree()


def test_with_room_for_all_nothing_is_missed_and_with_little_something_is(told: Desk) -> None:
    replay = begin(told)
    work(replay)
    fifo = [row for row in curves(told, replay) if row.policy == "fifo"]
    assert [row.evidence for row in fifo][-1] == 1.0
    assert [row.regret for row in fifo][-1] == 0.0
    assert fifo[0].evidence is not None
    assert fifo[0].evidence < 1.0
    assert fifo[0].kept < fifo[0].recalled == fifo[-1].recalled
    assert fifo[0].regret == round(fifo[0].regretted / 9, 4) > 0
    passport = told.memory(SAID[0]).pk
    with told.acting():
        missed = missed_rows(replay.pk, policy="fifo", budget="2")
    assert passport in [row.memory for row in missed]
    assert len({row.memory for row in missed}) == len(missed) == fifo[0].regretted
    assert all((row.told or 0) <= row.left < row.missed for row in missed)


def test_asked_twice_it_says_the_same(told: Desk) -> None:
    policies = ("random", "merge+importance", "chains+floor(recent=2)+decay", "lfu")
    first, second = begin(told, policies=policies), begin(told, policies=policies)
    work(first)
    work(second)
    assert curves(told, first) == curves(told, second) != []
    with told.acting():
        assert missed_rows(first.pk) == missed_rows(second.pk)


def test_a_job_delivered_twice_or_after_its_end_changes_nothing(told: Desk) -> None:
    replay = begin(told)
    work(replay)
    rows = curves(told, replay)
    assert not work(replay)
    lab.carry_out(str(replay.pk))
    assert curves(told, replay) == rows
    lab.carry_out(str(uuid4()))  # one that was deleted before its job began


def test_a_killed_worker_is_followed_by_one_that_goes_on_from_what_is_there(
    told: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = begin(told, adapters=("-", PRIOR))
    whole = lab._Carrying._replay
    done: list[str] = []

    def dies_after_one(self: Any, counted: Any, name: str, step: Any) -> None:
        if done:
            raise SystemExit  # no handler of errors sees a worker that is killed
        done.append(name)
        whole(self, counted, name, step)

    monkeypatch.setattr(lab._Carrying, "_replay", dies_after_one)
    with pytest.raises(SystemExit):
        work(replay)
    assert {row.adapter for row in curves(told, replay)} == {"-"}
    monkeypatch.setattr(lab._Carrying, "_replay", lambda *given: (done.append(given[2]), whole(*given))[1])
    Job.objects.using("worker").filter(pk=job_of(replay).pk).update(lease_until=datetime.now(UTC) - timedelta(hours=1))
    assert work(replay)
    assert done == ["-", PRIOR]
    assert reread(told, replay).state == LabState.DONE
    assert {row.adapter for row in curves(told, replay)} == {"-", PRIOR}


def test_adapters_are_counted_against_one_measure_what_the_serving_one_recalls(told: Desk) -> None:
    replay = begin(told, adapters=("-", PRIOR))
    work(replay)
    rows = curves(told, replay)
    assert {row.adapter for row in rows} == {"-", PRIOR}
    assert {row.references for row in rows} == {shipped_adapter().version}
    assert len({row.recalled for row in rows}) == 1
    with told.acting():
        results = list(LabResult.objects.filter(replay=replay.pk))
    assert len({one.wanted for one in results}) == 1
    assert {row.evidence for row in rows if row.budget == "100%"} == {1.0}


def test_a_replay_that_goes_on_keeps_its_measure_though_another_adapter_serves_by_then(
    told: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = begin(told, adapters=("-", PRIOR))
    whole = lab._Carrying._replay

    def dies_after_one(self: Any, counted: Any, name: str, step: Any) -> None:
        if name == PRIOR:
            raise SystemExit
        whole(self, counted, name, step)

    monkeypatch.setattr(lab._Carrying, "_replay", dies_after_one)
    with pytest.raises(SystemExit):
        work(replay)
    monkeypatch.setattr(lab._Carrying, "_replay", whole)
    with told.acting():
        Bank.objects.filter(pk=told.bank_id).update(adapter=PRIOR)
    Job.objects.using("worker").filter(pk=job_of(replay).pk).update(lease_until=datetime.now(UTC) - timedelta(hours=1))
    assert work(replay)
    rows = curves(told, replay)
    assert {row.adapter for row in rows} == {"-", PRIOR}
    assert {row.references for row in rows} == {shipped_adapter().version}


def test_the_bar_moves_while_a_conversation_is_read_and_no_oftener_than_it_beats(
    told: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replays, "BATCH", 1)
    monkeypatch.setattr(lab, "BEAT_S", 0.0)
    with told.acting():  # nothing is at hand: all of it has to be encoded
        Memory.objects.filter(bank=told.bank_id).delete()
    seen: list[float] = []
    whole = StoredConversation.story

    def watched(self: StoredConversation, step: Any) -> Any:
        def then(share: float) -> None:
            step(share)
            seen.append(LabReplay.objects.using("worker").get(pk=replay.pk).progress)  # so it is committed

        return whole(self, then)

    monkeypatch.setattr(StoredConversation, "story", watched)
    replay = begin(told)
    work(replay)
    assert seen == sorted(set(seen)), "it rises at each step"
    assert len(seen) >= 9 + 5, "nine sides, five cues"
    assert seen[0] > 0
    assert seen[-1] == pytest.approx(lab.READING)
    assert reread(told, replay).state == LabState.DONE

    monkeypatch.setattr(lab, "BEAT_S", 3600.0)
    seen.clear()
    replay = begin(told)
    work(replay)
    assert len(set(seen)) == 1, "one beat, and then none for an hour"


def test_cancelled_before_it_begins_it_never_does_and_while_it_runs_it_ends_soon(
    told: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = begin(told)
    with told.acting():
        cancel(waiting.pk, now=datetime.now(UTC))
    work(waiting)
    assert (reread(told, waiting).state, curves(told, waiting)) == (LabState.CANCELLED, [])

    monkeypatch.setattr(lab, "BEAT_S", 0.0)
    running, whole = begin(told), lab._Carrying._read

    def cancelled_meanwhile(self: Any, conversation: UUID, step: Any) -> Any:
        story = whole(self, conversation, step)
        with told.acting():
            cancel(running.pk, now=datetime.now(UTC))
        return story

    monkeypatch.setattr(lab._Carrying, "_read", cancelled_meanwhile)
    work(running)
    assert (reread(told, running).state, curves(told, running)) == (LabState.CANCELLED, [])
    with told.acting(), pytest.raises(LabRefused, match="over"):
        cancel(running.pk, now=datetime.now(UTC))


def test_deleted_it_is_gone_with_its_results_and_one_that_runs_ends(
    told: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = begin(told)
    work(replay)
    with told.acting():
        delete(replay.pk)
        assert not LabResult.objects.filter(replay=replay.pk).exists()
        with pytest.raises(NotFound):
            delete(replay.pk)
    running, whole = begin(told), lab._Carrying._read

    def deleted_meanwhile(self: Any, conversation: UUID, step: Any) -> Any:
        story = whole(self, conversation, step)
        with told.acting():
            delete(running.pk)
        return story

    monkeypatch.setattr(lab._Carrying, "_read", deleted_meanwhile)
    work(running)
    assert job_of(running).state == JobState.DONE
    with told.acting():
        assert not LabResult.objects.exists()


def test_a_conversation_that_is_erased_takes_its_results_along(told: Desk) -> None:
    replay = begin(told)
    work(replay)
    with told.acting():
        until = forget_conversation(told.conversation_id, keep_memories=False, now=datetime.now(UTC))
        assert erase_conversation(told.conversation_id, now=until + timedelta(seconds=1))
    assert curves(told, replay) == []
    assert reread(told, replay).state == LabState.DONE


def test_another_persons_conversations_and_adapters_are_not_there(told: Desk) -> None:
    ben = make_person("ben-of-the-lab@example.org")
    replay = begin(told)
    try:
        with acting_as(ben.pk):
            with pytest.raises(NotFound):
                ask(asked(told), owner_id=ben.pk, now=datetime.now(UTC))
            assert not LabReplay.objects.exists()
            with pytest.raises(NotFound):
                delete(replay.pk)
            assert next(iter(adapters_at_hand())) == "-"
    finally:
        type(ben).objects.using("owner").get(pk=ben.pk).delete()


def test_a_failed_replay_says_why(told: Desk) -> None:
    replay = begin(told)
    lab.given_up(str(replay.pk), "Its workers ended.")
    failed = reread(told, replay)
    assert (failed.state, failed.error, failed.over) == (LabState.FAILED, "Its workers ended.", True)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"policies": ("best",)}, "There is no retention policy"),
        ({"policies": ()}, "at least one policy"),
        ({"conversations": ()}, "at least one conversation"),
        ({"budgets": ("0",)}, "“0” is no budget"),
        ({"budgets": ("140%",)}, "“140%” is no budget"),
        ({"budgets": ("many",)}, "25%, up to 100%"),
        ({"budgets": tuple(f"{n}%" for n in range(1, 12))}, "too much for one replay"),
        ({"adapters": ("of-nobody",)}, "no such adapter"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(desk: Desk, fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BankError, match=sentence):
        begin(desk, **fields)
    with desk.acting():
        assert not LabReplay.objects.exists()


def test_a_person_has_a_few_open_replays_and_no_more(desk: Desk) -> None:
    for _ in range(lab.MOST_OPEN):
        begin(desk)
    with pytest.raises(LabRefused, match="wait or run already"):
        begin(desk)


def test_what_is_asked_is_spelled_in_one_way_and_once() -> None:
    one = uuid4()
    found = checked(Asked((one, one), ("floor()+importance", "floor", "lru"), (" 25 %", "25.0%", "0200"), ("-", "-")))
    assert found == Asked((one,), (found.policies[0], "lru"), ("25%", "200"), ("-",))
    assert found.banks == 4
    assert (memories_in("25%", 10), memories_in("1%", 10), memories_in("200", 10)) == (2, 1, 200)
