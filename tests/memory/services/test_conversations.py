from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from memory import selectors
from memory.engine.types import State
from memory.models import Conversation, Job, Memory, MemorySource, Recall, Turn
from memory.services import conversations, memories
from memory.services.turns import MessageRefused, NotFound
from tests.memory.services.desk import Desk

FAMILY = "👨‍👩‍👧‍👦"
LATER = timedelta(minutes=11)


@pytest.fixture
def told(desk: Desk) -> Desk:
    """A conversation that told of a bike and, with another one, of tea."""
    desk.tell("My bike is red", "Noted.")
    desk.tell("I drink green tea")
    desk.tell("I drink green tea", conversation=desk.begin())
    return desk


def test_a_forgotten_conversation_is_hidden_with_what_only_it_told(told: Desk, now: datetime) -> None:
    with told.acting():
        until = conversations.forget_conversation(told.conversation_id, keep_memories=False, now=now)
        assert told.conversation_id not in selectors.conversations().values_list("pk", flat=True)
        with pytest.raises(NotFound):
            selectors.conversation(told.conversation_id)
        job = Job.objects.get(key=str(told.conversation_id))
    assert (job.kind, job.run_after) == ("memory.erase_conversation", until)
    assert told.texts() == ["I drink green tea"]
    assert sorted(told.texts(State.FORGOTTEN)) == ["My bike is red", "Noted."]
    told.agree()


def test_undo_brings_back_the_conversation_and_what_went_with_it(told: Desk, now: datetime) -> None:
    with told.acting():
        memories.pin(told.memory("My bike is red").pk, now=now)
        conversations.forget_conversation(told.conversation_id, keep_memories=False, now=now)
        conversations.unforget_conversation(told.conversation_id, now=now)
        assert selectors.conversation(told.conversation_id).pk == told.conversation_id
    assert sorted(told.texts()) == ["I drink green tea", "My bike is red", "Noted."]
    assert told.memory("My bike is red").pinned
    told.agree()


def test_undo_leaves_forgotten_what_was_forgotten_by_itself(told: Desk, now: datetime) -> None:
    with told.acting():
        memories.forget(told.memory("Noted.").pk, now=now - timedelta(minutes=1))
        conversations.forget_conversation(told.conversation_id, keep_memories=False, now=now)
        conversations.unforget_conversation(told.conversation_id, now=now)
    assert told.texts(State.FORGOTTEN) == ["Noted."]
    told.agree()


def test_undo_into_a_bank_that_filled_meanwhile_keeps_the_budget(narrow: Desk, now: datetime) -> None:
    for text in ("My bike is red", "I drink green tea", "My dog is called Bruno"):
        narrow.tell(text)
    other = narrow.begin()
    with narrow.acting():
        conversations.forget_conversation(narrow.conversation_id, keep_memories=False, now=now)
    for text in ("Anna lives in Lisbon", "My passport is X1234567", "We meet on 3 May"):
        narrow.tell(text, conversation=other)
    with narrow.acting():
        conversations.unforget_conversation(narrow.conversation_id, now=now)
    assert len(narrow.texts()) == 3
    assert len(narrow.texts(State.ARCHIVED)) == 3
    assert narrow.texts(State.FORGOTTEN) == []
    narrow.agree()


def test_undo_too_late_is_refused(told: Desk, now: datetime) -> None:
    with told.acting():
        conversations.forget_conversation(told.conversation_id, keep_memories=False, now=now)
        with pytest.raises(NotFound, match="undo is over"):
            conversations.unforget_conversation(told.conversation_id, now=now + LATER)
        with pytest.raises(NotFound):
            conversations.unforget_conversation(uuid4(), now=now)


def test_erasing_takes_turns_traces_sources_and_what_only_it_told(told: Desk, now: datetime) -> None:
    trace = told.ask("Is my bike red?").trace
    here = told.conversation_id
    with told.acting():
        conversations.forget_conversation(here, keep_memories=False, now=now)
        assert not conversations.erase_conversation(here, now=now)  # undo is still open
        assert conversations.erase_conversation(here, now=now + LATER)
        assert not conversations.erase_conversation(here, now=now + LATER)
        assert not Conversation.objects.filter(pk=here).exists()
        assert not Turn.objects.filter(conversation=here).exists()
        assert not Recall.objects.filter(pk=trace.pk).exists()
        assert MemorySource.objects.count() == 1
        assert list(Memory.objects.values_list("text", flat=True)) == ["I drink green tea"]
    told.agree()


def test_memories_that_a_person_keeps_outlive_the_conversation(told: Desk, now: datetime) -> None:
    with told.acting():
        conversations.forget_conversation(told.conversation_id, keep_memories=True, now=now)
        assert Memory.objects.filter(state=State.FORGOTTEN).count() == 0
        assert conversations.erase_conversation(told.conversation_id, now=now + LATER)
    row = told.memory("My bike is red")
    assert (row.state, row.conversation_id, row.turn_id) == (State.HELD, None, None)
    told.agree()


def test_a_kept_memory_is_recalled_in_another_conversation(told: Desk, now: datetime) -> None:
    with told.acting():
        conversations.forget_conversation(told.conversation_id, keep_memories=True, now=now)
        conversations.erase_conversation(told.conversation_id, now=now + LATER)
    told.conversation_id = told.begin()
    assert "My bike is red" in told.ask("Is my bike red?").injected


def test_a_forgotten_conversation_takes_no_message_and_no_other_title(told: Desk, now: datetime) -> None:
    with told.acting():
        conversations.forget_conversation(told.conversation_id, keep_memories=True, now=now)
    with pytest.raises(NotFound):
        told.open("One more thing")
    with told.acting():
        with pytest.raises(NotFound):
            conversations.rename_conversation(told.conversation_id, "Bikes")
        with pytest.raises(NotFound):
            conversations.forget_conversation(told.conversation_id, keep_memories=False, now=now)


def test_a_title_is_cleaned_and_an_empty_one_keeps_the_old(desk: Desk) -> None:
    with desk.acting():
        assert conversations.rename_conversation(desk.conversation_id, " Red\0  bikes\n").title == "Red bikes"
        assert conversations.rename_conversation(desk.conversation_id, " \n").title == "Red bikes"


@pytest.mark.parametrize("text", [FAMILY * 150, "e" + "\u0301" * 400, "🇩🇪" * 130])
def test_a_title_of_long_graphemes_fits_its_column(desk: Desk, text: str) -> None:
    desk.open(text)  # the first message gives the title
    found = desk.conversation()
    assert found is not None
    assert len(found.title) <= 200
    assert text.startswith(found.title.rstrip("…"))
    with desk.acting():
        assert conversations.rename_conversation(desk.conversation_id, "x" + text).title.startswith("x")


def test_a_message_that_is_empty_or_too_long_is_refused_with_a_sentence(desk: Desk) -> None:
    for text in ("", " \n\0", "\ud83d"):
        with pytest.raises(MessageRefused, match="empty"):
            desk.open(text)
    with pytest.raises(MessageRefused, match="1,048,576 characters"):
        desk.open("x" * 1_048_576)
