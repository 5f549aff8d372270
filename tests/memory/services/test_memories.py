from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.conf import settings

from memory.engine.features import NAMES
from memory.engine.types import Role, State
from memory.models import Event, Job, Memory, MemorySource, Posting, Recall, Turn
from memory.services import memories
from memory.services.memories import MemoryRefused
from memory.services.turns import NotFound
from tests.memory.services.desk import Desk

TEA, BIKE, DOG, ANNA = "I drink green tea", "My bike is red", "My dog is called Bruno", "Anna lives in Lisbon"


def test_a_pinned_memory_stays_when_others_have_to_leave(narrow: Desk, now: datetime) -> None:
    narrow.tell("hm well")
    with narrow.acting():
        memories.pin(narrow.memory("hm well").pk, now=now)
    for text in (TEA, BIKE, DOG, ANNA):
        narrow.tell(text)
    assert "hm well" in narrow.texts()
    with narrow.acting():
        memories.unpin(narrow.memory("hm well").pk, now=now)
    narrow.tell("My passport number is X1234567")
    assert "hm well" not in narrow.texts()
    narrow.agree()


def test_pinning_twice_is_pinning_once(desk: Desk, now: datetime) -> None:
    desk.tell(TEA)
    memory = desk.memory(TEA).pk
    with desk.acting():
        memories.pin(memory, now=now)
        memories.pin(memory, now=now)
        memories.unpin(memory, now=now)
        memories.unpin(memory, now=now)
    assert desk.happened(memory) == ["written", "pinned", "unpinned"]


def test_pinning_the_whole_bank_is_refused_with_the_cure(narrow: Desk, now: datetime) -> None:
    for text in (TEA, BIKE, DOG):
        narrow.tell(text)
    with narrow.acting():
        memories.pin(narrow.memory(TEA).pk, now=now)
        memories.pin(narrow.memory(BIKE).pk, now=now)
    with narrow.acting(), pytest.raises(MemoryRefused, match="Unpin some first"):
        memories.pin(narrow.memory(DOG).pk, now=now)
    assert not narrow.memory(DOG).pinned
    narrow.agree()


def test_an_archived_memory_comes_back_and_the_least_goes(narrow: Desk, now: datetime) -> None:
    for text in ("hm well", TEA, BIKE, DOG):
        narrow.tell(text)
    gone = narrow.memory("hm well")
    assert (gone.state, gone.archive_reason) == (State.ARCHIVED, "budget")
    assert narrow.postings() == {"hm well": ["hm"]}
    with narrow.acting():
        memories.restore(gone.pk, now=now)
    assert "hm well" in narrow.texts()
    assert len(narrow.texts(State.ARCHIVED)) == 1
    assert set(narrow.postings()) == set(narrow.texts(State.ARCHIVED))
    assert narrow.happened(gone.pk) == ["written", "evicted", "restored"]
    narrow.agree()


def test_what_is_archived_says_so_and_what_is_held_too(narrow: Desk, now: datetime) -> None:
    for text in ("hm well", TEA, BIKE, DOG):
        narrow.tell(text)
    with narrow.acting(), pytest.raises(MemoryRefused, match="Restore it first"):
        memories.pin(narrow.memory("hm well").pk, now=now)
    with narrow.acting(), pytest.raises(MemoryRefused, match="in the bank already"):
        memories.restore(narrow.memory(TEA).pk, now=now)
    with narrow.acting(), pytest.raises(MemoryRefused, match="in the bank already"):
        memories.unforget(narrow.memory(TEA).pk, now=now)


def test_a_memory_for_which_pins_leave_no_room_is_not_restored(narrow: Desk, now: datetime) -> None:
    long = "well " * 30 + "hm"
    narrow.configure(policy="fifo")
    narrow.tell(long)
    for text in (TEA, BIKE, DOG):
        narrow.tell(text)
    assert narrow.memory(long).state == State.ARCHIVED
    with narrow.acting():
        memories.pin(narrow.memory(TEA).pk, now=now)
        memories.pin(narrow.memory(BIKE).pk, now=now)
    narrow.configure(budget_tokens=20)
    with narrow.acting(), pytest.raises(MemoryRefused, match="does not fit"):
        memories.restore(narrow.memory(long).pk, now=now)
    narrow.agree()


def test_a_forgotten_memory_is_hidden_at_once_and_erased_later(desk: Desk, now: datetime) -> None:
    desk.tell(TEA)
    memory = desk.memory(TEA).pk
    with desk.acting():
        until = memories.forget(memory, now=now)
        job = Job.objects.get(key=str(memory))
    assert until == now + timedelta(minutes=settings.UNDO_MINUTES)
    assert (job.kind, job.run_after, job.owner_id) == ("memory.erase", until, desk.person.pk)
    assert desk.texts() == []
    assert len(desk.hot()) == 0
    assert desk.ask("Do I drink green tea?").found.candidates == 0
    with desk.acting(), pytest.raises(MemoryRefused, match="Undo that first"):
        memories.pin(memory, now=now)
    desk.agree()


def test_undo_brings_a_memory_back_as_it_was(desk: Desk, now: datetime) -> None:
    desk.tell(TEA)
    memory = desk.memory(TEA).pk
    with desk.acting():
        memories.pin(memory, now=now)
        memories.forget(memory, now=now)
        memories.unforget(memory, now=now)
    row = desk.memory(TEA)
    assert (row.state, row.pinned, row.forgotten_until, row.before) == (State.HELD, True, None, "")
    desk.agree()


def test_undo_returns_an_archived_memory_to_the_archive_and_its_words_with_it(narrow: Desk, now: datetime) -> None:
    for text in ("hm well", TEA, BIKE, DOG):
        narrow.tell(text)
    memory = narrow.memory("hm well").pk
    with narrow.acting():
        memories.forget(memory, now=now)
    assert narrow.postings() == {}
    with narrow.acting():
        memories.unforget(memory, now=now)
    row = narrow.memory("hm well")
    assert (row.state, row.archive_reason) == (State.ARCHIVED, "budget")
    assert narrow.postings() == {"hm well": ["hm"]}
    narrow.agree()


def test_undo_after_the_same_was_told_again_goes_to_the_archive(desk: Desk, now: datetime) -> None:
    desk.tell(TEA)
    first = desk.memory(TEA).pk
    with desk.acting():
        memories.pin(first, now=now)
        memories.forget(first, now=now)
    desk.tell(TEA)
    with desk.acting():
        memories.unforget(first, now=now)
        row = Memory.objects.get(pk=first)
    assert (row.state, row.archive_reason, row.pinned) == (State.ARCHIVED, "twin", False)
    assert desk.texts() == [TEA]
    with desk.acting(), pytest.raises(MemoryRefused, match="holds the same words"):
        memories.restore(first, now=now)
    desk.agree()


def test_undo_is_not_refused_when_others_were_pinned_meanwhile(narrow: Desk, now: datetime) -> None:
    narrow.tell(TEA)
    tea = narrow.memory(TEA).pk
    with narrow.acting():
        memories.pin(tea, now=now)
        memories.forget(tea, now=now)
    for text in (BIKE, DOG, ANNA):
        narrow.tell(text)
    with narrow.acting():
        memories.pin(narrow.memory(BIKE).pk, now=now)
        memories.pin(narrow.memory(DOG).pk, now=now)
        memories.unforget(tea, now=now)
    row = narrow.memory(TEA)
    assert (row.state, row.pinned) == (State.HELD, False)
    assert narrow.texts() == [TEA, BIKE, DOG]
    narrow.agree()


def test_undo_into_a_bank_that_became_too_small_goes_to_the_archive(desk: Desk, now: datetime) -> None:
    long = "I remember this well " * 10
    desk.tell(long)
    memory = desk.memory(long.strip() if long.strip() in desk.texts() else long).pk
    with desk.acting():
        memories.forget(memory, now=now)
    desk.configure(budget_tokens=10)
    with desk.acting():
        memories.unforget(memory, now=now)
    row = desk.reread(memory)
    assert row is not None
    assert (row.state, row.archive_reason) == (State.ARCHIVED, "budget")
    desk.agree()


def test_forgetting_anew_waits_anew(desk: Desk, now: datetime) -> None:
    desk.tell(TEA)
    memory = desk.memory(TEA).pk
    with desk.acting():
        memories.forget(memory, now=now)
        memories.unforget(memory, now=now)
        until = memories.forget(memory, now=now + timedelta(minutes=5))
        jobs = list(Job.objects.filter(key=str(memory)).values_list("run_after", flat=True))
    assert jobs == [until]


def test_an_erased_memory_leaves_no_trace_but_numbers(narrow: Desk, now: datetime) -> None:
    for text in (ANNA, "hm well", TEA, BIKE):
        narrow.tell(text, "Noted.")
    asked = narrow.ask("Where does Anna live?")
    assert ANNA in asked.injected
    memory = narrow.memory(ANNA).pk
    with narrow.acting():
        assert memories.erase(memory, now=now)
        assert not memories.erase(memory, now=now)
        assert not Memory.objects.filter(pk=memory).exists()
        assert not MemorySource.objects.filter(memory=memory).exists()
        assert not Posting.objects.filter(memory=memory).exists()
        trace = Recall.objects.get(pk=asked.trace.pk)
        assert trace.rows
        assert str(memory) not in {row["memory"] for row in trace.rows}
        assert "Lisbon" not in repr(list(Event.objects.values_list("data", flat=True)))
        assert Turn.objects.filter(observation=ANNA).exists()  # what was said stays until the conversation goes
    assert narrow.hot().get(memory) is None
    assert narrow.happened(memory)[-1] == "erased"
    narrow.agree()


def test_an_erased_memory_leaves_no_features_and_counts_no_more_in_what_is_usual(desk: Desk, now: datetime) -> None:
    desk.tell(TEA, "Noted.")
    before = desk.agree().statistics
    desk.tell(ANNA)
    memory = desk.memory(ANNA).pk
    with desk.acting():
        (written,) = Event.objects.filter(memory=memory, kind="written")
        assert len(written.data["features"]) == len(NAMES)
    assert desk.agree().statistics.count(Role.USER) == before.count(Role.USER) + 1
    with desk.acting():
        memories.forget(memory, now=now)
    assert desk.agree().statistics.count(Role.USER) == before.count(Role.USER) + 1  # it may come back
    with desk.acting():
        assert memories.erase(memory, now=now)
        with_features = {event.memory for event in Event.objects.filter(kind="written") if "features" in event.data}
        (written,) = Event.objects.filter(memory=memory, kind="written")
    assert "features" not in written.data
    assert {"tokens", "importance", "role", "turn"} <= set(written.data)
    assert with_features == {desk.memory(TEA).pk, desk.memory("Noted.").pk}
    assert desk.hot().state.statistics == desk.agree().statistics == before
    assert desk.hot().state.marks[memory].features == ()


def test_an_archived_memory_can_be_erased(narrow: Desk, now: datetime) -> None:
    for text in ("hm well", TEA, BIKE, DOG):
        narrow.tell(text)
    with narrow.acting():
        assert memories.erase(narrow.memory("hm well").pk, now=now)
    assert narrow.postings() == {}
    assert narrow.texts(State.ARCHIVED) == []
    narrow.agree()


@pytest.mark.parametrize("verb", [memories.pin, memories.unpin, memories.forget, memories.unforget, memories.restore])
def test_a_memory_that_is_not_there_is_not_found(desk: Desk, now: datetime, verb) -> None:  # type: ignore[no-untyped-def]
    with desk.acting(), pytest.raises(NotFound, match="no such memory"):
        verb(uuid4(), now=now)


def test_an_edited_turns_memories_are_withdrawn_and_never_recalled(desk: Desk, now: datetime) -> None:
    for text in (TEA, DOG, ANNA, "I like long walks", "My street is Elm Road"):
        desk.tell(text)
    wrong = desk.tell("My bike is blue", "Blue it is, noted.")
    with desk.acting():
        right = desk.open("My bike is red", replaces=wrong.pk)
        Turn.objects.filter(pk=right.pk).update(state="done")
        memories.withdraw_turns(desk.bank_id, [wrong.pk], now=now)
    desk.remember(right)
    desk.configure(recall_archive=True)
    assert desk.texts(State.ARCHIVED) == ["My bike is blue", "Blue it is, noted."]
    assert {row.archive_reason for row in map(desk.memory, desk.texts(State.ARCHIVED))} == {"withdrawn"}
    asked = desk.ask("Which colour has my bike?")
    assert "My bike is red" in asked.injected
    assert "My bike is blue" not in [row.item.text for row in asked.found.rows]
    desk.agree()


def test_what_another_turn_told_too_is_not_withdrawn(desk: Desk, now: datetime) -> None:
    first, second = desk.tell(TEA), desk.tell(TEA)
    with desk.acting():
        Turn.objects.filter(pk=second.pk).update(replaced_at=now)
        memories.withdraw_turns(desk.bank_id, [second.pk], now=now)
    assert desk.texts() == [TEA]
    with desk.acting():  # the other telling is withdrawn already: now nobody told it
        Turn.objects.filter(pk=first.pk).update(replaced_at=now)
        memories.withdraw_turns(desk.bank_id, [first.pk], now=now)
    assert desk.texts() == []
    desk.agree()


def test_a_memory_that_was_evicted_before_it_was_withdrawn_is_not_recalled_either(narrow: Desk, now: datetime) -> None:
    wrong = narrow.tell("hm well")
    for text in (TEA, BIKE, DOG):
        narrow.tell(text)
    with narrow.acting():
        memories.withdraw_turns(narrow.bank_id, [wrong.pk], now=now)
        memories.withdraw_turns(narrow.bank_id, [wrong.pk], now=now)
    assert narrow.memory("hm well").archive_reason == "withdrawn"
    assert narrow.happened(narrow.memory("hm well").pk) == ["written", "evicted", "evicted"]
    narrow.agree()


def test_a_withdrawn_memory_that_is_told_after_all_is_restored(desk: Desk, now: datetime) -> None:
    turn = desk.tell(TEA)
    memory = desk.memory(TEA).pk
    with desk.acting():
        memories.withdraw_turns(desk.bank_id, [turn.pk], now=now)
    desk.tell(TEA)
    assert desk.texts() == [TEA]
    assert desk.happened(memory) == ["written", "evicted", "restored", "told"]
    desk.agree()
