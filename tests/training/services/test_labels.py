"""Judgements given in passing: one word a person on a memory, undoable, gone with the memory."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from agora_web.accounts.models import User
from memory.models import Recall
from memory.services import memories
from memory.services.turns import NotFound
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk
from training.models import About, Label
from training.services import labels
from training.services.labels import LabelRefused

NOW = datetime(2026, 5, 3, 9, tzinfo=UTC)


def told(desk: Desk) -> list[tuple[str, float, float, str]]:
    with desk.acting():
        rows = Label.objects.order_by("about", "text").values_list("about", "value", "weight", "text")
        return list(rows)


@pytest.fixture
def knowing(desk: Desk) -> Desk:
    for text in (
        "My sister lives in Porto",
        "The boiler code is 4711-B",
        "I moved to Ghent",
        "Tea is better than coffee",
    ):
        desk.tell(text, "I see.")
    return desk


def test_a_word_on_a_memory_is_a_label_of_its_importance_with_the_exact_text(knowing: Desk) -> None:
    memory = knowing.memory("I moved to Ghent")
    with knowing.acting():
        labels.say(memory.pk, "wrong", by=knowing.person.pk, now=NOW)
    assert told(knowing) == [("importance", 0.0, 1.0, "I moved to Ghent")]


def test_another_word_takes_the_place_of_the_first_and_taking_it_back_leaves_nothing(knowing: Desk) -> None:
    memory, me = knowing.memory("I moved to Ghent").pk, knowing.person.pk
    with knowing.acting():
        labels.say(memory, "useful", by=me, now=NOW)
        labels.say(memory, "outdated", by=me, now=NOW)
        assert labels.words_on([memory, uuid4()], me) == {memory: "outdated"}
    assert [(about, value) for about, value, *_ in told(knowing)] == [("importance", 0.25)]
    with knowing.acting():
        labels.unsay(memory, by=me, now=NOW)
    assert told(knowing) == []


def test_useful_under_a_reply_says_too_that_the_memory_fitted_its_cue(knowing: Desk) -> None:
    asked = knowing.ask("What is the boiler code?")
    memory = knowing.memory("The boiler code is 4711-B").pk
    with knowing.acting():
        labels.say(memory, "useful", by=knowing.person.pk, recall_id=asked.trace.pk, now=NOW)
        fitted = Label.objects.get(about=About.RELEVANCE)
        assert (fitted.recall_id, fitted.value) == (asked.trace.pk, 1.0)
        labels.say(memory, "wrong", by=knowing.person.pk, recall_id=asked.trace.pk, now=NOW)
        assert not Label.objects.filter(about=About.RELEVANCE).exists()  # a wrong memory may have fitted well


def test_what_is_being_forgotten_is_not_judged_and_what_is_erased_takes_its_labels_along(knowing: Desk) -> None:
    memory, me = knowing.memory("I moved to Ghent").pk, knowing.person.pk
    with knowing.acting():
        labels.say(memory, "useful", by=me, now=NOW)
        memories.forget(memory, now=NOW)
        with pytest.raises(LabelRefused, match="Undo that first"):
            labels.say(memory, "wrong", by=me, now=NOW)
    with knowing.acting():
        memories.erase(memory, now=NOW)
    assert told(knowing) == []


def test_nobody_judges_another_persons_memory_or_reads_its_labels(knowing: Desk, stranger: User) -> None:
    memory = knowing.memory("I moved to Ghent").pk
    with knowing.acting():
        labels.say(memory, "useful", by=knowing.person.pk, now=NOW)
    with acting_as(stranger.pk):
        assert not Label.objects.exists()
        for attempt in (
            lambda: labels.say(memory, "wrong", by=stranger.pk, now=NOW),
            lambda: labels.unsay(memory, by=stranger.pk, now=NOW),
        ):
            with pytest.raises(NotFound):
                attempt()
    assert len(told(knowing)) == 1


def test_a_word_that_nobody_knows_is_refused(knowing: Desk) -> None:
    with knowing.acting(), pytest.raises(LabelRefused, match="useful, outdated, wrong"):
        labels.say(knowing.memory("I moved to Ghent").pk, "lovely", by=knowing.person.pk, now=NOW)


def test_a_recall_of_another_bank_is_not_taken(knowing: Desk) -> None:
    other = Desk(knowing.person)
    other.tell("My cat is grey", "I see.")
    recall = other.ask("Which colour is my cat?").trace
    with knowing.acting(), pytest.raises(NotFound):
        labels.say(knowing.memory("I moved to Ghent").pk, "useful", by=knowing.person.pk, recall_id=recall.pk, now=NOW)
    with knowing.acting():
        assert Recall.objects.filter(pk=recall.pk).exists()
        assert not Label.objects.exists()
