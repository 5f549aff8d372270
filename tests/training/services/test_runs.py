"""Training runs: from labels to a challenger beside the champion, once, whatever happens on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
import time_machine
from django.db import DatabaseError, OperationalError

from agora_web.accounts.models import User
from memory.adapters import adapter_named, serving_adapter, shipped_adapter
from memory.engine.importance import KINDS
from memory.models import AdapterVersion, Job, JobState
from memory.services.jobs import LEASE, MAX_ATTEMPTS, run_job
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk
from tests.scenes import make_person
from tests.training.services.challengers import stored, upside_down
from tests.training.services.judged import LEAST, converse, judge, set_rules
from training.learner.shared_head import LEAST_CUES
from training.models import Label, Promotion, Rules, RunState, Snapshot, TrainingRun
from training.services import runs, snapshots
from training.services.runs import RunRefused, Settings


@pytest.fixture(autouse=True)
def no_runs(database: None) -> Iterator[None]:
    yield
    for model in (Promotion, TrainingRun, Snapshot, Rules):
        model.objects.using("owner").all().delete()
    AdapterVersion.objects.using("owner").filter(version__startswith="shared-").delete()
    Job.objects.using("owner").filter(kind=runs.JOB).delete()


@pytest.fixture
def operator(database: None) -> Iterator[User]:
    made = make_person("operator@example.org", roles=["operator"])
    yield made
    User.objects.using("owner").filter(pk=made.pk).delete()


@pytest.fixture
def judged(desk: Desk, now: datetime) -> Desk:
    """A person whose memories are judged by an odd taste."""
    set_rules()
    converse(desk)
    judge(desk, now=now)
    return desk


def ask(operator: User, now: datetime, **settings: Any) -> TrainingRun:
    with acting_as(operator.pk):
        return runs.ask(Settings(**settings), by=operator.pk, now=now)


def job_of(run: TrainingRun) -> Job:
    found = runs.job_of(run.pk, using="worker")
    assert found is not None
    return found


def again(run: TrainingRun) -> TrainingRun:
    return TrainingRun.objects.using("worker").get(pk=run.pk)


def test_a_run_learns_from_the_labels_and_reports_its_challenger_beside_the_champion(
    judged: Desk, operator: User, now: datetime
) -> None:
    run = ask(operator, now)
    assert (run.state, run.trigger) == (RunState.PENDING, "asked")
    assert run_job(job_of(run).pk)
    done = again(run)
    assert (done.state, done.error, done.progress, done.stage) == (RunState.DONE, "", 1.0, "report")
    assert done.champion_id == serving_adapter().version
    assert done.report["verdict"] == "better", json.dumps(done.report, indent=1)
    assert done.report["better"] >= 0.95
    ranking = done.report["metrics"]["ranking:user_assistant"]
    assert ranking["challenger"] > ranking["champion"]
    assert ranking["low"] > 0
    assert {guard["kind"] for guard in done.report["guards"] if guard["of"] == "public"} == set(KINDS)
    assert done.report["missing"] == {"two_people": LEAST, "tool_use": LEAST, "recall": LEAST_CUES}
    assert len(done.curves["loss.user_assistant"]) > 1
    assert done.challenger is not None
    manifest = done.challenger.manifest
    assert manifest["parent"] == done.champion_id
    assert manifest["run"] == str(run.pk)
    assert manifest["labels"]["user_assistant"] == 80
    assert manifest["sources"] == {"queue": 80}
    ((kind, learned_from),) = manifest["distributions"].items()
    assert (kind, learned_from["memories"]) == ("user_assistant", 80)
    asked = learned_from["features"]["question"]
    assert (asked["edges"], asked["counts"], asked["mean"]) == ([1000], [40, 40], 0.5)  # two of four are questions
    challenger = adapter_named(done.challenger.version)
    assert serving_adapter().version == done.champion_id, "nothing is promoted by a run"
    for kind in KINDS:
        moved = challenger.importance.priors[kind].weights - serving_adapter().importance.priors[kind].weights
        assert moved.any() == (kind == "user_assistant")
    job = job_of(run)
    assert (job.state, job.progress, job.stage) == (JobState.DONE, 1.0, "report")


def test_what_is_learned_anew_after_an_erasure_keeps_nothing_of_what_had_learned_from_it(
    judged: Desk, operator: User, now: datetime
) -> None:
    """Also where a kind has too few judgements to be learned."""
    tainted = stored(upside_down("shared-tainted"))
    AdapterVersion.objects.using("owner").filter(pk=tainted.pk).update(
        serves=True, manifest={**tainted.manifest, "erased": True}
    )
    run = ask(operator, now, from_scratch=True)
    assert run_job(job_of(run).pk)
    done = again(run)
    assert (done.state, done.champion_id) == (RunState.DONE, "shared-tainted")
    assert done.challenger is not None
    assert done.challenger.parent_id == done.challenger.manifest["parent"] == shipped_adapter().version
    learned = adapter_named(done.challenger.version).importance.priors
    for kind in ("two_people", "tool_use"):
        assert (learned[kind].weights == shipped_adapter().importance.priors[kind].weights).all()


def test_delivered_twice_a_run_is_done_once_and_nothing_changes_afterwards(
    judged: Desk, operator: User, now: datetime
) -> None:
    run = ask(operator, now)
    job = job_of(run)
    assert run_job(job.pk)
    done = again(run)
    assert not run_job(job.pk), "its row says that it is done"
    runs.carry_out(str(run.pk))  # whatever delivers it, past the row
    assert (again(run).finished_at, again(run).report) == (done.finished_at, done.report)
    assert AdapterVersion.objects.filter(version__startswith="shared-").count() == 1
    assert Snapshot.objects.using("worker").count() == 1


def test_the_same_snapshot_and_seed_give_the_same_weights_to_the_bit(
    judged: Desk, operator: User, now: datetime
) -> None:
    weights = []
    for moment in (now, now + timedelta(seconds=1)):
        run = ask(operator, moment)
        assert run_job(job_of(run).pk)
        done = again(run)
        assert done.challenger is not None
        weights.append(bytes(done.challenger.weights or b""))
    assert weights[0] == weights[1]
    digests = set(Snapshot.objects.using("worker").values_list("digest", flat=True))
    assert len(digests) == 1, "the same labels freeze to the same bytes"


class Killed(BaseException):
    """What kill -9 looks like from inside: nothing more is done, nothing is cleaned up."""


def test_a_run_whose_worker_is_killed_is_taken_up_from_its_snapshot_and_gives_the_same_weights(
    judged: Desk, operator: User, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ask(operator, now)
    assert run_job(job_of(whole).pk)
    wanted = again(whole).challenger
    run = ask(operator, now + timedelta(seconds=1))
    job = job_of(run)

    def die(*_args: Any, **_named: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(runs, "train", die)
        with pytest.raises(Killed):
            run_job(job.pk)
    left = again(run)
    assert (left.state, left.stage, left.challenger) == (RunState.RUNNING, "train", None)
    assert left.snapshot is not None
    judge_more = Label.objects.using("owner").filter(memory__bank=judged.bank_id)[:1].get()
    Label.objects.using("owner").filter(pk=judge_more.pk).update(value=0.5)  # said meanwhile: not part of this run
    assert not run_job(job.pk), "its lease still says that somebody has it"
    with time_machine.travel(datetime.now(now.tzinfo) + LEASE + timedelta(seconds=1)):
        assert run_job(job.pk)
    done = again(run)
    assert done.state == RunState.DONE
    assert done.snapshot_id == left.snapshot_id
    assert wanted is not None
    assert done.challenger is not None
    assert bytes(done.challenger.weights or b"") == bytes(wanted.weights or b"")
    assert Snapshot.objects.using("worker").count() == 2


def test_a_run_whose_workers_are_lost_again_and_again_fails_with_its_job(
    judged: Desk, operator: User, now: datetime
) -> None:
    run = ask(operator, now)
    job = job_of(run)
    Job.objects.using("worker").filter(pk=job.pk).update(
        state=JobState.RUNNING, attempts=MAX_ATTEMPTS, lease_until=now - timedelta(seconds=1)
    )
    TrainingRun.objects.using("worker").filter(pk=run.pk).update(state=RunState.RUNNING)
    assert not run_job(job.pk)
    lost = again(run)
    assert (lost.state, lost.error) == (RunState.FAILED, job_of(run).error)
    assert "workers ended" in lost.error


def test_a_full_disk_leaves_a_sentence_and_the_run_is_tried_again(
    judged: Desk, operator: User, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ask(operator, now)
    job = job_of(run)

    def full(*_args: Any, **_named: Any) -> None:
        raise OperationalError("no space left") from psycopg.errors.DiskFull()

    with monkeypatch.context() as patch:
        patch.setattr(snapshots, "freeze", full)
        with pytest.raises(runs.RunInterrupted):
            run_job(job.pk)
    assert again(run).state == RunState.RUNNING
    assert "disk of the database is full" in again(run).error
    assert (job_of(run).state, job_of(run).attempts) == (JobState.PENDING, 1)
    with time_machine.travel(datetime.now(now.tzinfo) + timedelta(seconds=10)):
        assert run_job(job.pk)
    assert (again(run).state, again(run).error) == (RunState.DONE, "")


def test_too_few_labels_say_how_many_are_missing_and_the_champion_serves_on(
    desk: Desk, operator: User, now: datetime
) -> None:
    set_rules()
    converse(desk, 3)
    judge(desk, now=now)
    run = ask(operator, now)
    with pytest.raises(runs.RunFailed):
        run_job(job_of(run).pk)
    failed = again(run)
    assert failed.state == RunState.FAILED
    assert f"{LEAST - 12} of chats with an assistant" in failed.error
    assert (job_of(run).state, job_of(run).error) == (JobState.FAILED, failed.error)
    assert serving_adapter().version == failed.champion_id
    assert not AdapterVersion.objects.filter(version__startswith="shared-").exists()


def test_labels_that_all_say_the_same_fail_with_a_sentence(desk: Desk, operator: User, now: datetime) -> None:
    set_rules()
    converse(desk, 12)
    judge(desk, lambda _: 1.0, now=now)
    run = ask(operator, now)
    with pytest.raises(runs.RunFailed):
        run_job(job_of(run).pk)
    assert "All judgements of chats with an assistant are high" in again(run).error


def test_labels_at_random_teach_nothing_and_the_report_says_so(desk: Desk, operator: User, now: datetime) -> None:
    set_rules()
    converse(desk)
    judge(desk, lambda text: float(hash((text, 3)) % 2), now=now)
    run = ask(operator, now)
    assert run_job(job_of(run).pk)
    assert again(run).report["verdict"] == "not better"


def test_one_run_waits_while_one_runs_and_no_more(judged: Desk, operator: User, now: datetime) -> None:
    first = ask(operator, now)
    assert ask(operator, now + timedelta(seconds=1)).pk == first.pk
    TrainingRun.objects.using("worker").filter(pk=first.pk).update(state=RunState.RUNNING)
    Job.objects.using("worker").filter(key=str(first.pk)).update(state=JobState.RUNNING, lease_until=now + LEASE)
    second = ask(operator, now)
    assert second.pk != first.pk
    assert not run_job(job_of(second).pk)
    waits = job_of(second)
    assert (waits.state, waits.attempts, again(second).state) == (JobState.PENDING, 0, RunState.PENDING)


def test_a_waiting_run_is_cancelled_at_once_and_a_running_one_at_its_next_step(
    judged: Desk, operator: User, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ask(operator, now)
    with acting_as(operator.pk):
        runs.cancel(run.pk, now=now)
    assert again(run).state == RunState.CANCELLED
    assert run_job(job_of(run).pk)
    assert (again(run).state, again(run).snapshot) == (RunState.CANCELLED, None)
    with acting_as(operator.pk), pytest.raises(RunRefused):
        runs.cancel(run.pk, now=now)

    other = ask(operator, now)
    frozen = snapshots.freeze

    def cancelled_meanwhile(*args: Any, **named: Any) -> Snapshot:
        with acting_as(operator.pk):
            runs.cancel(other.pk, now=now)
        return frozen(*args, **named)

    monkeypatch.setattr(snapshots, "freeze", cancelled_meanwhile)
    assert run_job(job_of(other).pk)
    assert (again(other).state, again(other).challenger) == (RunState.CANCELLED, None)
    assert job_of(other).state == JobState.DONE


def test_who_has_no_role_for_it_can_neither_ask_for_a_run_nor_read_one(
    judged: Desk, operator: User, stranger: User, now: datetime
) -> None:
    run = ask(operator, now)
    with acting_as(stranger.pk):
        assert not TrainingRun.objects.filter(pk=run.pk).exists()
        with pytest.raises(DatabaseError):
            runs.ask(by=stranger.pk, now=now)


def test_erased_memories_are_cut_out_of_snapshots(judged: Desk, operator: User, now: datetime) -> None:
    snapshot = snapshots.freeze(serving_adapter(), now=now)
    before = snapshots.dataset_of(snapshot)
    gone = before.memories()[:2]
    assert snapshots.cut_out(gone) == [snapshot.pk]
    left = Snapshot.objects.using("worker").get(pk=snapshot.pk)
    data = snapshots.dataset_of(left)
    assert len(data) == len(before) - 2
    assert not set(data.memories()) & set(gone)
    assert (left.erased, len(left.memories)) == (2, len(before.memories()) - 2)
    assert left.digest != snapshot.digest
    assert snapshots.cut_out(gone) == []
