"""A merged memory in the database: its sources, and that no word of a source outlives that source in it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from agora_web.accounts.models import User
from memory import selectors
from memory.engine.trajectories.records import Trajectory, TrajectorySide, TrajectoryTurn
from memory.engine.types import Role, State
from memory.models import Event, Memory, MemorySource, Turn
from memory.services import conversations, memories
from memory.services.imports import import_trajectory
from memory.services.replays import replay_conversation, replay_json
from tests.memory.services.desk import Desk
from tests.memory.test_tenancy import OWNED

MERGE = "merge(similarity=0.2,most=2,share=1.0)+fifo"
BEAGLE, CATS = "My dog Bruno is a brown beagle.", "Bruno the beagle is not fond of cats."
TRAIN, BOAT = "The train to Porto was late.", "I sold my boat in Lisbon."
BOTH = f"{BEAGLE} {CATS}"
LATER = timedelta(minutes=11)


@pytest.fixture
def told(person: User) -> Desk:
    """Room for three memories, and four of one conversation told: the first two are one now."""
    desk = Desk(person, memories=3, policy=MERGE)
    for text in (BEAGLE, CATS, TRAIN, BOAT):
        desk.tell(text)
    assert desk.texts() == [BOTH, TRAIN, BOAT]
    desk.agree()
    return desk


def where(word: str) -> set[str]:
    """The tables in which a word stands."""
    rows = {model.__name__: model._default_manager.using("owner").values() for model in OWNED}
    return {name for name, found in rows.items() if any(word.casefold() in str(row).casefold() for row in found)}


def turns_of(desk: Desk, memory: Memory) -> list[str]:
    with desk.acting():
        return sorted(MemorySource.objects.filter(memory=memory).values_list("turn__observation", flat=True))


def test_the_merged_memory_has_the_sources_of_its_parts_and_they_say_where_they_went(told: Desk) -> None:
    both, beagle, cats = map(told.memory, (BOTH, BEAGLE, CATS))
    assert (both.kind, both.role, both.speaker, both.written_seq) == ("merged", Role.USER, "Ana", cats.written_seq)
    assert (both.turn_id, both.place_conversation) == (beagle.turn_id, told.conversation_id)
    assert turns_of(told, both) == sorted([BEAGLE, CATS])
    for part in (beagle, cats):
        assert (part.state, part.archive_reason) == (State.ARCHIVED, "merged")
        assert told.happened(part.pk) == ["written", "evicted"]
        with told.acting():
            assert Event.objects.get(memory=part.pk, kind="evicted").data["into"] == str(both.pk)
    with told.acting():
        data = Event.objects.get(memory=both.pk).data
    assert data["parts"] == [str(beagle.pk), str(cats.pk)]


def test_pages_show_it_with_its_sources_and_the_turns_what_they_told(told: Desk) -> None:
    with told.acting():
        rows, more = selectors.bank_memories(told._bank(), state=State.HELD, query="beagle", page=1)
        shown = selectors.memory_json(rows[0])
        turns = selectors.turns_of(told.conversation_id)
        by_turn = selectors.told_in(turns)
        left = selectors.evicted_in(turns)
    assert (len(rows), more, shown["kind"], len(shown["sources"])) == (1, False, "merged", 2)
    assert [(one["text"], one["state"]) for one in by_turn[turns[0].pk]] == [(BEAGLE, "archived")]
    assert [(one["text"], one["reason"]) for one in left[turns[3].pk]] == [(BEAGLE, "merged"), (CATS, "merged")]


def test_a_cue_finds_the_merged_memory_once_and_no_part_in_the_archive(told: Desk) -> None:
    told.configure(recall_archive=True)
    asked = told.ask("Is Bruno the beagle fond of cats?")
    assert BOTH in asked.injected
    assert not {BEAGLE, CATS} & {row.item.text for row in asked.found.rows}


@pytest.mark.parametrize("text", [BEAGLE, CATS])
def test_forgetting_a_part_erases_what_holds_its_words_and_the_other_comes_back(
    told: Desk, now: datetime, text: str
) -> None:
    other = CATS if text == BEAGLE else BEAGLE
    both, part = told.memory(BOTH).pk, told.memory(text).pk
    told.ask("Is Bruno the beagle fond of cats?")
    with told.acting():
        memories.forget(part, now=now)
    assert told.reread(both) is None
    assert told.happened(both)[-1] == "erased"
    assert told.texts(State.FORGOTTEN) == [text]
    assert "restored" in told.happened(told.memory(other).pk)
    assert "merged" not in told.agree().marks[told.memory(other).pk].reason
    with told.acting():
        memories.unforget(part, now=now)
    told.agree()
    assert {BEAGLE, CATS} <= {*told.texts(), *told.texts(State.ARCHIVED)}


def test_the_part_that_comes_back_stays_if_it_is_worth_more(told: Desk, now: datetime) -> None:
    told.configure(policy="random(seed=7)", budget_memories=4)
    with told.acting():
        memories.erase(told.memory(CATS).pk, now=now)
    assert sorted(told.texts()) == sorted([BEAGLE, TRAIN, BOAT])
    told.agree()


def test_forgetting_the_merged_memory_forgets_its_parts_and_undo_brings_all_back(told: Desk, now: datetime) -> None:
    both = told.memory(BOTH).pk
    with told.acting():
        memories.forget(both, now=now)
    assert told.texts() == [TRAIN, BOAT]
    assert sorted(told.texts(State.FORGOTTEN)) == sorted([BOTH, BEAGLE, CATS])
    assert not {BOTH, BEAGLE, CATS} & set(told.ask("Is Bruno the beagle fond of cats?").injected)
    told.agree()
    with told.acting():
        memories.unforget(both, now=now)
    assert told.texts() == [BOTH, TRAIN, BOAT]
    assert told.memory(CATS).archive_reason == "merged"
    told.agree()


def test_undoing_one_part_of_a_forgotten_merged_memory_brings_back_that_part_alone(told: Desk, now: datetime) -> None:
    with told.acting():
        memories.forget(told.memory(BOTH).pk, now=now)
        memories.unforget(told.memory(CATS).pk, now=now)
    assert told.texts() == [CATS, TRAIN, BOAT]
    told.agree()
    with told.acting():
        memories.erase(told.memory(BOTH).pk, now=now)
    assert told.texts() == [CATS, TRAIN, BOAT]
    assert told.texts(State.FORGOTTEN) == []
    told.agree()


@pytest.mark.parametrize("text", [BOTH, BEAGLE])
def test_a_word_told_once_merged_then_erased_is_nowhere_but_in_its_message(
    told: Desk, now: datetime, text: str
) -> None:
    told.ask("Is the beagle brown?")
    assert where("brown") >= {"Memory", "Turn"}
    with told.acting():
        memories.erase(told.memory(text).pk, now=now)
    assert where("brown") == {"Turn", "Conversation"}  # which begins with it
    assert not {BOTH, BEAGLE} & {*told.texts(), *told.texts(State.ARCHIVED)}
    assert ({CATS} <= {*told.texts(), *told.texts(State.ARCHIVED)}) == (text == BEAGLE)
    told.agree()


def test_editing_a_turn_takes_its_words_out_of_the_merged_memory(told: Desk, now: datetime) -> None:
    with told.acting():
        turns = list(Turn.objects.filter(observation=CATS))
    both = told.memory(BOTH).pk
    told.tell("Bruno likes cats after all.", replaces=turns[0].pk)
    with told.acting():
        memories.withdraw_turns(
            told.bank_id, list(Turn.objects.exclude(replaced_at=None).values_list("pk", flat=True)), now=now
        )
    assert told.reread(both) is None
    assert told.memory(CATS).archive_reason == "withdrawn"
    assert "restored" in told.happened(told.memory(BEAGLE).pk)
    told.agree()


def test_a_turn_tried_again_takes_back_only_what_it_does_not_say_any_more(told: Desk) -> None:
    with told.acting():
        turn = Turn.objects.get(observation=CATS)
    both, seq = told.memory(BOTH).pk, told.agree().seq
    told.remember(turn)
    assert told.reread(both) is not None
    assert told.agree().seq == seq
    turn.observation = "Bruno the beagle is afraid of geese."
    told.remember(turn)
    assert told.reread(both) is None
    assert told.memory(CATS).archive_reason == "withdrawn"
    told.agree()


def test_a_forgotten_conversation_takes_the_merged_memory_along_and_undo_brings_it_back(
    told: Desk, now: datetime
) -> None:
    with told.acting():
        conversations.forget_conversation(told.conversation_id, keep_memories=False, now=now)
    assert told.texts() == told.texts(State.ARCHIVED) == []
    told.agree()
    with told.acting():
        conversations.unforget_conversation(told.conversation_id, now=now)
    assert told.texts() == [BOTH, TRAIN, BOAT]
    assert told.memory(BEAGLE).archive_reason == "merged"
    told.agree()


def test_an_erased_conversation_leaves_no_word_of_it(told: Desk, now: datetime) -> None:
    told.tell("We talk about chess.", conversation=told.begin())
    with told.acting():
        conversations.forget_conversation(told.conversation_id, keep_memories=False, now=now)
        assert conversations.erase_conversation(told.conversation_id, now=now + LATER)
    assert told.texts() == ["We talk about chess."]
    for word in ("Bruno", "beagle", "brown", "cats"):
        assert where(word) == set()
    told.agree()


def test_a_conversation_that_shares_a_part_takes_its_own_words_out(told: Desk, now: datetime) -> None:
    """Said elsewhere too, one part stays when the conversation goes; what was merged of both does not."""
    told.configure(budget_memories=4)
    elsewhere = told.begin()
    told.tell(CATS, conversation=elsewhere)  # comes back by itself
    told.configure(budget_memories=5)
    with told.acting():
        conversations.forget_conversation(told.conversation_id, keep_memories=False, now=now)
    assert told.texts() == [CATS]
    told.agree()
    with told.acting():
        conversations.erase_conversation(told.conversation_id, now=now + LATER)
    assert told.texts() == [CATS]
    assert where("brown") == set()
    told.agree()


def test_kept_memories_stay_merged_when_their_conversation_goes(told: Desk, now: datetime) -> None:
    with told.acting():
        conversations.forget_conversation(told.conversation_id, keep_memories=True, now=now)
        conversations.erase_conversation(told.conversation_id, now=now + LATER)
    assert told.texts() == [BOTH, TRAIN, BOAT]
    with told.acting():
        memories.erase(told.memory(BEAGLE).pk, now=now)
    assert BOTH not in told.texts()
    assert {CATS} <= {*told.texts(), *told.texts(State.ARCHIVED)}
    told.agree()
    for text in ("Chess is fun in the garden.", "Chess in the garden is not dull."):
        told.tell(text, conversation=told.begin())  # parts without a conversation can be merged, or leave
        told.agree()


def test_what_is_told_again_comes_back_by_itself_and_is_not_merged_a_second_time(told: Desk) -> None:
    both = told.memory(BOTH).pk
    told.tell(BEAGLE)
    for text in ("The beagle is called Bruno.", "A beagle barks.", "A brown beagle is a dog."):
        told.tell(text)
    state = told.agree()
    assert state.marks[told.memory(BEAGLE).pk].into == both
    parts = [part for mark in state.marks.values() for part in mark.parts]
    assert len(parts) == len(set(parts)) > 2


def test_a_change_of_settings_merges_nothing(told: Desk) -> None:
    told.configure(budget_memories=2)
    told.configure(budget_memories=1, policy="merge(similarity=0.0)+importance")
    with told.acting():
        assert Memory.objects.filter(kind="merged").count() == 1
        assert Event.objects.filter(data__reason="merged").count() == 2
    told.agree()


def test_an_import_merges_as_a_chat_does(person: User, now: datetime) -> None:
    desk = Desk(person, memories=3, policy=MERGE)
    sides = [TrajectorySide(text, "Ana", Role.USER, None) for text in (BEAGLE, CATS, TRAIN, BOAT)]
    turns = tuple(TrajectoryTurn(n, 1, str(n), side, None) for n, side in enumerate(sides, 1))
    with desk.acting():
        import_trajectory(Trajectory("file", "a file", "two_people", turns), owner_id=person.pk, bank_id=desk.bank_id,
                          now=now)  # fmt: skip
    assert desk.texts() == [BOTH, TRAIN, BOAT]
    assert turns_of(desk, desk.memory(BOTH)) == sorted([BEAGLE, CATS])
    desk.agree()


def test_the_policy_lab_merges_and_counts_what_it_merged(told: Desk) -> None:
    told.ask("Is Bruno the beagle fond of cats?")
    with told.acting():
        out = replay_json(replay_conversation(told.conversation_id, ["fifo", MERGE], memories=4))
    plain, merging = out["policies"]
    assert merging["merged"] >= 2 > plain["merged"] == 0
    assert any(one["kind"] == "merged" for one in merging["kept"])
    assert len(merging["misses"]) <= len(plain["misses"])
