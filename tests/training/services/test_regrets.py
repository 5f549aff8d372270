"""Regret: a label only where the person then said it again; counted by what let it go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from agora_web.accounts.models import User
from memory.engine.types import State
from memory.models import Bank, Event, Job, Recall, Turn
from memory.services import jobs, memories
from memory.services.recalls import regretted_by
from tests.memory.services.desk import Asked, Desk
from training.counts import Given, Regrets, given, regrets, unreadable
from training.models import Label, ModelAsked, Source
from training.services.regrets import JOB, WEIGHT, label_regrets, look_back

PIANO = "the piano of aunt Vera stands in Ghent"
KEPT = [f"My flight {n}{n}{n} to Porto leaves on {n} March at 7:15 from gate {n}" for n in range(1, 6)]


@pytest.fixture
def asked(person: User) -> tuple[Desk, Asked]:
    """A bank that let the piano go for room, and was then asked for it."""
    desk = Desk(person, memories=5, policy="fifo")
    for text in (PIANO, *KEPT):
        desk.tell(text)
    assert desk.texts(State.ARCHIVED) == [PIANO]
    question = desk.ask("Where is the piano of my aunt?")
    with desk.acting():
        Turn.objects.filter(pk=question.turn.pk).update(action="I do not know.")
        trace = Recall.objects.select_related("turn__owner", "bank__space").get(pk=question.trace.pk)
        trace.regretted = regretted_by(trace)
        trace.save(update_fields=["regretted"])
        assert [row["memory"] for row in trace.regretted] == [str(desk.memory(PIANO).pk)]
    return desk, question


def labelled(desk: Desk) -> list[tuple[str, float, float, str]]:
    with desk.acting():
        label_regrets(Bank.objects.select_related("space").get(pk=desk.bank_id), now=timezone.now())
        rows = Label.objects.filter(source="regret").order_by("about")
        return list(rows.values_list("about", "value", "weight", "text"))


def test_being_recallable_alone_is_no_label(asked: tuple[Desk, Asked]) -> None:
    desk, _ = asked
    assert labelled(desk) == []
    desk.open("Never mind, what about my flight?")
    assert labelled(desk) == []


def test_what_the_person_then_says_again_was_worth_keeping_and_fitted_that_cue(asked: tuple[Desk, Asked]) -> None:
    desk, question = asked
    desk.open("It stands at Vera's, in Ghent!")
    wanted = [("importance", 1.0, WEIGHT, PIANO), ("relevance", 1.0, WEIGHT, PIANO)]
    assert labelled(desk) == wanted
    assert labelled(desk) == wanted  # looked at again nothing doubles
    with desk.acting():
        assert set(Label.objects.values_list("recall", flat=True)) == {question.trace.pk}


def test_a_message_that_was_edited_away_no_longer_says_it(asked: tuple[Desk, Asked]) -> None:
    desk, _ = asked
    told = desk.open("It stands at Vera's, in Ghent!")
    assert len(labelled(desk)) == 2
    with desk.acting():
        Turn.objects.filter(pk=told.pk).update(replaced_at=timezone.now())
    assert labelled(desk) == []


def test_what_is_erased_has_no_label(asked: tuple[Desk, Asked]) -> None:
    desk, _ = asked
    desk.open("It stands at Vera's, in Ghent!")
    with desk.acting():
        memories.erase(desk.memory(PIANO).pk, now=timezone.now())
    assert labelled(desk) == []


def test_banks_that_regretted_lately_get_a_job_which_labels_as_their_owner(asked: tuple[Desk, Asked]) -> None:
    desk, question = asked
    desk.open("It stands at Vera's, in Ghent!")
    assert look_back(timezone.now()) >= 1
    job = Job.objects.using("worker").get(kind=JOB, key=str(desk.bank_id))
    assert jobs.run_job(job.pk)
    with desk.acting():
        assert Label.objects.filter(source="regret").count() == 2
        Recall.objects.filter(pk=question.trace.pk).update(at=datetime(2020, 1, 1, tzinfo=UTC))
    Job.objects.using("owner").filter(kind=JOB).delete()
    look_back(timezone.now())
    assert not Job.objects.using("worker").filter(kind=JOB, key=str(desk.bank_id)).exists()


def counted(since: datetime, adapter: str) -> list[Regrets]:
    return [row for row in regrets(since) if row.adapter == adapter]


def test_regret_is_counted_for_the_policy_and_the_adapter_that_let_it_go(asked: tuple[Desk, Asked]) -> None:
    desk, question = asked
    with desk.acting():  # other tests' banks must not count here
        Event.objects.filter(bank=desk.bank_id, kind="evicted").update(
            data={"policy": "fifo", "adapter": "of-this-test", "reason": "budget"}
        )
    hour_ago = timezone.now() - timedelta(hours=1)
    assert counted(hour_ago, "of-this-test") == [Regrets("fifo", "of-this-test", 1, 1, 1, 0)]
    desk.open("It stands at Vera's, in Ghent!")
    labelled(desk)
    assert counted(hour_ago, "of-this-test") == [Regrets("fifo", "of-this-test", 1, 1, 1, 1)]
    assert counted(hour_ago, "of-this-test")[0].percent == 100.0
    assert counted(timezone.now() + timedelta(hours=1), "of-this-test") == []
    with desk.acting():  # what left only after the cue was not missed by it
        Recall.objects.filter(pk=question.trace.pk).update(at=timezone.now() - timedelta(minutes=30))
    assert counted(hour_ago, "of-this-test") == [Regrets("fifo", "of-this-test", 1, 0, 0, 0)]


def test_what_each_source_said_is_counted_over_all_banks(asked: tuple[Desk, Asked]) -> None:
    desk, question = asked
    desk.open("It stands at Vera's, in Ghent!")
    labelled(desk)
    future = datetime(2990, 1, 1, tzinfo=UTC)
    assert (given(future), unreadable(future)) == ([], (0, 0))
    with desk.acting():  # a time of this test's own
        Label.objects.update(at=future)
        for n, rated in enumerate((2, 0)):
            turn = question.turn.pk if n else desk.open("Hello?").pk
            ModelAsked.objects.create(owner=desk.person, turn_id=turn, memories=2, rated=rated, at=future)
    assert given(future) == [Given(Source.REGRET, 2, 1, 2 * WEIGHT)]
    assert unreadable(future) == (2, 1)
