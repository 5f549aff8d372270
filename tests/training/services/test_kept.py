"""Pinning and forgetting as labels: made and taken back in the wish's own transaction, gone with the memory."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from memory.models import Job
from memory.services import memories, wishes
from memory.services.memories import MemoryRefused
from tests.memory.services.desk import Desk
from training.models import Label
from training.services import labels
from training.services.judgements import judged

NOW = datetime(2026, 5, 3, 9, tzinfo=UTC)


@pytest.fixture
def moved(desk: Desk) -> Any:
    desk.tell("I moved to Ghent", "I see.")
    return desk.memory("I moved to Ghent").pk


def kept(desk: Desk) -> list[tuple[str, float, float, str]]:
    with desk.acting():
        return list(Label.objects.filter(source="kept").values_list("reason", "value", "weight", "text"))


def test_a_pin_says_that_a_memory_is_important_until_it_is_unpinned(desk: Desk, moved: Any) -> None:
    with desk.acting():
        memories.pin(moved, now=NOW)
        memories.pin(moved, now=NOW)
        assert Label.objects.get().by_id == desk.person.pk
    assert kept(desk) == [("pin", 1.0, 0.5, "I moved to Ghent")]
    with desk.acting():
        assert Job.objects.filter(kind="training.own_head", key=str(desk.bank_id)).exists()
        memories.unpin(moved, now=NOW)
    assert kept(desk) == []


def test_forgetting_says_weakly_that_it_is_worth_nothing_until_it_is_undone(desk: Desk, moved: Any) -> None:
    with desk.acting():
        memories.pin(moved, now=NOW)
        memories.forget(moved, now=NOW)
    assert kept(desk) == [("forget", 0.0, 0.25, "I moved to Ghent")]
    with desk.acting():
        memories.unforget(moved, now=NOW)
    assert kept(desk) == []


def test_what_is_erased_takes_the_label_along(desk: Desk, moved: Any) -> None:
    with desk.acting():
        memories.forget(moved, now=NOW)
        memories.erase(moved, now=NOW)
    assert kept(desk) == []


def test_a_pin_stands_beside_a_word_on_the_same_memory(desk: Desk, moved: Any) -> None:
    with desk.acting():
        labels.say(moved, "wrong", by=desk.person.pk, now=NOW)
        memories.pin(moved, now=NOW)
        assert judged(desk.bank_id)[moved] == (pytest.approx(0.5 / 1.5), 1.5)
        labels.unsay(moved, by=desk.person.pk, now=NOW)
        assert judged(desk.bank_id)[moved] == (1.0, 0.5)


def test_a_pin_that_is_refused_leaves_no_label(narrow: Desk) -> None:
    for text in ("I moved to Ghent", "My sister lives in Porto", "The boiler code is 4711-B"):
        narrow.tell(text)
    with narrow.acting():
        memories.pin(narrow.memory("I moved to Ghent").pk, now=NOW)
        memories.pin(narrow.memory("My sister lives in Porto").pk, now=NOW)
    with narrow.acting(), pytest.raises(MemoryRefused):
        memories.pin(narrow.memory("The boiler code is 4711-B").pk, now=NOW)
    assert len(kept(narrow)) == 2


@pytest.fixture
def grumbling() -> Iterator[None]:
    def refuse(*_: Any) -> None:
        raise RuntimeError("no")

    wishes.listens(refuse)
    yield
    wishes._listeners.remove(refuse)


def test_a_listener_that_fails_takes_the_wish_back_with_it(desk: Desk, moved: Any, grumbling: None) -> None:
    with pytest.raises(RuntimeError), desk.acting():
        memories.pin(moved, now=NOW)
    assert not desk.memory("I moved to Ghent").pinned
    assert kept(desk) == []
