"""Turns drawn within the day's budget, each once; labels from what masking a memory does to the reply."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from memory.models import Job, Recall, Turn, TurnState
from memory.services import jobs, memories
from memory.services.conversations import forget_conversation
from tests.memory.services.desk import Asked, Desk
from training.learner.likelihood import LikelihoodUnavailable
from training.models import About, Label, Rules
from training.services import counterfactuals
from training.services.counterfactuals import FITTED, JOB, KEPT, choose_turns, scorer

NOW = datetime(2026, 5, 3, 9, tzinfo=UTC)
TOLD = ("Duarte has extension 4711", "The boiler was mended", "I moved to Ghent", "Tea is good")


@pytest.fixture
def budget(database: None) -> Iterator[Rules]:
    rules, _ = Rules.objects.using("owner").update_or_create(pk=1, defaults={"counterfactuals_a_day": 2})
    yield rules
    rules.delete(using="owner")


@pytest.fixture
def asked(desk: Desk) -> Asked:
    for text in TOLD:
        desk.tell(text, "")
    return replied(desk, "Who helps me?", "Duarte answers at extension 4711")


def replied(desk: Desk, question: str, reply: str) -> Asked:
    """A turn that was answered a minute ago from all that it recalled."""
    asked = desk.ask(question)
    with desk.acting():
        Recall.objects.filter(pk=asked.trace.pk).update(injected=asked.trace.recalled)
        ended = timezone.now() - timedelta(minutes=1)
        Turn.objects.filter(pk=asked.turn.pk).update(action=reply, finished_at=ended, state=TurnState.DONE)
    return asked


def chosen(desk: Desk) -> set[UUID]:
    with desk.acting():
        return {UUID(key) for key in Job.objects.filter(kind=JOB).values_list("key", flat=True)}


def test_without_a_budget_nothing_is_asked(desk: Desk, asked: Asked, budget: Rules) -> None:
    Rules.objects.using("owner").update(counterfactuals_a_day=0)
    assert choose_turns(timezone.now()) == 0
    Rules.objects.using("owner").all().delete()
    assert choose_turns(timezone.now()) == 0
    assert chosen(desk) == set()


def test_a_day_asks_no_more_than_its_budget_and_no_turn_twice(desk: Desk, asked: Asked, budget: Rules) -> None:
    turns = {asked.turn.pk, *(replied(desk, f"Is it {n}?", "Yes.").turn.pk for n in range(2))}
    assert choose_turns(timezone.now()) == 2
    first = chosen(desk)
    assert len(first) == 2
    assert choose_turns(timezone.now()) == 0
    with desk.acting():
        Job.objects.filter(kind=JOB).update(created_at=timezone.now() - timedelta(days=2))
    assert choose_turns(timezone.now()) == 1
    assert chosen(desk) == turns


def test_only_replies_of_the_last_day_that_memories_were_handed_to_are_drawn(
    desk: Desk, asked: Asked, budget: Rules
) -> None:
    old, without, edited = (replied(desk, f"Is it {n}?", "Yes.") for n in range(3))
    with desk.acting():
        Turn.objects.filter(pk=old.turn.pk).update(finished_at=timezone.now() - timedelta(days=2))
        Recall.objects.filter(pk=without.trace.pk).update(injected=[])
        Turn.objects.filter(pk=edited.turn.pk).update(replaced_at=timezone.now())
    assert choose_turns(timezone.now()) == 1
    assert chosen(desk) == {asked.turn.pk}
    Job.objects.using("owner").filter(kind=JOB).delete()
    with desk.acting():
        forget_conversation(desk.conversation_id, keep_memories=True, now=timezone.now())
    assert choose_turns(timezone.now()) == 0


def test_the_memory_that_the_reply_leaned_on_is_labelled_needed_and_the_others_unneeded_here(
    desk: Desk, asked: Asked, budget: Rules
) -> None:
    assert choose_turns(timezone.now()) == 1
    job = Job.objects.using("worker").get(kind=JOB, key=str(asked.turn.pk))
    assert jobs.run_job(job.pk)
    with desk.acting():
        relevance = {label.text: label for label in Label.objects.filter(about=About.RELEVANCE)}
        importance = list(Label.objects.filter(about=About.IMPORTANCE))
    assert set(relevance) == set(TOLD)
    # the reply loses duart, extens and 4711: three nats, all that it takes
    assert {text: label.value for text, label in relevance.items()} == dict.fromkeys(TOLD, 0.0) | {TOLD[0]: 1.0}
    assert {label.weight for label in relevance.values()} == {FITTED}
    assert {label.recall_id for label in relevance.values()} == {asked.trace.pk}
    assert [(label.text, label.value, label.weight, label.source, label.by_id) for label in importance] == [
        (TOLD[0], 1.0, KEPT, "counterfactual", None)
    ]
    assert relevance[TOLD[0]].reason == "+3.00 nats"


def test_done_twice_it_leaves_one_label_each(desk: Desk, asked: Asked) -> None:
    for _ in range(2):
        with desk.acting():
            counterfactuals.mask_memories_of(str(asked.turn.pk))
    with desk.acting():
        assert Label.objects.filter(about=About.RELEVANCE).count() == 4


def test_what_is_being_forgotten_is_not_shown_to_the_model(desk: Desk, asked: Asked) -> None:
    with desk.acting():
        memories.forget(desk.memory(TOLD[2]).pk, now=NOW)
        scorer().asked.clear()  # type: ignore[attr-defined]
        counterfactuals.mask_memories_of(str(asked.turn.pk))
        assert Label.objects.filter(about=About.RELEVANCE).count() == 3
    assert len(scorer().asked) == 4  # type: ignore[attr-defined]
    assert not any("Ghent" in prompt for prompt in scorer().asked)  # type: ignore[attr-defined]


def test_without_a_model_the_job_fails_with_its_sentence_and_is_not_tried_again(
    desk: Desk, asked: Asked, budget: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Away:
        def likelihoods(self, *_: object) -> list[float]:
            raise LikelihoodUnavailable("No model here.")

    monkeypatch.setattr(counterfactuals, "scorer", Away)
    choose_turns(timezone.now())
    job = Job.objects.using("worker").get(kind=JOB, key=str(asked.turn.pk))
    with pytest.raises(LikelihoodUnavailable):
        jobs.run_job(job.pk)
    job.refresh_from_db(using="worker")
    assert (job.state, job.error) == ("failed", "No model here.")
