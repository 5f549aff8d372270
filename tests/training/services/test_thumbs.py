"""A thumb on a reply, spread over what was injected by its share of the attention, and taken back whole."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agora_web.accounts.models import User
from memory.models import Recall, Turn
from memory.services import memories
from memory.services.turns import NotFound
from memory.tenancy import acting_as
from tests.memory.services.desk import Asked, Desk
from training.models import About, Label
from training.services.labels import LabelRefused
from training.services.thumbs import FITTED, KEPT, lower_thumb, raise_thumb, thumbs_on

NOW = datetime(2026, 5, 3, 9, tzinfo=UTC)


def replied(desk: Desk, asked: Asked, *, without: str = "") -> Asked:
    """Give a turn its reply, for which all that was recalled (but the memory `without`) was injected."""
    with desk.acting():
        given = [memory for memory in asked.trace.recalled if not without or memory != desk.memory(without).pk]
        Recall.objects.filter(pk=asked.trace.pk).update(injected=given)
        Turn.objects.filter(pk=asked.turn.pk).update(action="It is 4711-B.", action_at=NOW, finished_at=NOW)
    return asked


@pytest.fixture
def asked(desk: Desk) -> Asked:
    for text in ("The boiler code is 4711-B", "The boiler was mended", "I moved to Ghent", "Tea is good"):
        desk.tell(text, "")
    return replied(desk, desk.ask("What is the boiler code?"))


def test_a_thumb_up_is_shared_out_by_attention_as_relevance_and_a_little_as_importance(
    desk: Desk, asked: Asked
) -> None:
    with desk.acting():
        raise_thumb(asked.turn.pk, "up", by=desk.person.pk, now=NOW)
        relevance = list(Label.objects.filter(about=About.RELEVANCE, source="thumb"))
        importance = list(Label.objects.filter(about=About.IMPORTANCE, source="thumb"))
        assert thumbs_on([asked.turn.pk]) == {asked.turn.pk: "up"}
        rows = {row["memory"]: row["weight"] for row in Recall.objects.get(pk=asked.trace.pk).rows if row["injected"]}
    assert {str(label.memory_id) for label in relevance} == set(rows)
    assert len(rows) == 4  # a bank of four hands all on
    assert sum(label.weight for label in relevance) == pytest.approx(FITTED["up"])
    assert sum(label.weight for label in importance) == pytest.approx(KEPT)
    whole = sum(rows.values())
    for label in relevance:
        assert label.weight == pytest.approx(rows[str(label.memory_id)] / whole)
        assert (label.value, label.recall_id) == (1.0, asked.trace.pk)
    assert {label.text for label in importance} == {
        "The boiler code is 4711-B", "The boiler was mended", "I moved to Ghent", "Tea is good",
    }  # fmt: skip


def test_a_thumb_down_blames_less_surely_and_says_nothing_of_importance(desk: Desk, asked: Asked) -> None:
    with desk.acting():
        raise_thumb(asked.turn.pk, "up", by=desk.person.pk, now=NOW)
        raise_thumb(asked.turn.pk, "down", by=desk.person.pk, now=NOW)
        labels = list(Label.objects.all())
        assert thumbs_on([asked.turn.pk]) == {asked.turn.pk: "down"}
    assert {(label.about, label.value) for label in labels} == {("relevance", 0.0)}
    assert sum(label.weight for label in labels) == pytest.approx(FITTED["down"])


def test_a_thumb_taken_back_leaves_nothing(desk: Desk, asked: Asked) -> None:
    with desk.acting():
        raise_thumb(asked.turn.pk, "up", by=desk.person.pk, now=NOW)
        lower_thumb(asked.turn.pk)
        assert not Label.objects.exists()
        assert thumbs_on([asked.turn.pk]) == {}


def test_only_what_was_in_the_prompt_and_is_not_being_forgotten_is_judged(desk: Desk, asked: Asked) -> None:
    replied(desk, asked, without="Tea is good")
    with desk.acting():
        memories.forget(desk.memory("I moved to Ghent").pk, now=NOW)
        raise_thumb(asked.turn.pk, "up", by=desk.person.pk, now=NOW)
        judged = set(Label.objects.filter(source="thumb").values_list("text", flat=True))
    assert judged == {"The boiler code is 4711-B", "The boiler was mended"}


def test_a_reply_that_had_no_memories_still_has_its_thumb(desk: Desk) -> None:
    turn = desk.tell("Good morning", "Good morning.")
    with desk.acting():
        Turn.objects.filter(pk=turn.pk).update(finished_at=NOW)
        raise_thumb(turn.pk, "down", by=desk.person.pk, now=NOW)
        assert thumbs_on([turn.pk]) == {turn.pk: "down"}
        assert not Label.objects.exists()


def test_a_turn_without_a_reply_and_an_unknown_thumb_are_refused(desk: Desk, asked: Asked) -> None:
    with desk.acting(), pytest.raises(LabelRefused, match="no reply"):
        raise_thumb(desk.open("Hello?").pk, "up", by=desk.person.pk, now=NOW)
    with desk.acting(), pytest.raises(LabelRefused, match="up or down"):
        raise_thumb(asked.turn.pk, "sideways", by=desk.person.pk, now=NOW)


def test_another_persons_reply_is_not_found(desk: Desk, asked: Asked, stranger: User) -> None:
    with acting_as(stranger.pk), pytest.raises(NotFound):
        raise_thumb(asked.turn.pk, "up", by=stranger.pk, now=NOW)
    with acting_as(stranger.pk):
        assert thumbs_on([asked.turn.pk]) == {}
