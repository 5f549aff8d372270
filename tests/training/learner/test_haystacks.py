"""Haystacks: what is laid together, what is left out, and the same chats as if two people had them."""

from __future__ import annotations

from collections import Counter

from memory.engine.types import Role
from tests.training.learner.toy_streams import facts, stream
from training.learner.haystacks import STREAMS_A_HAYSTACK, as_two_people, laid_together
from training.learner.streams import Stream, session_fingerprint

SECRET = "The code of the cellar door is a word that nobody would guess: rhubarb"


def chats(count: int = 30) -> list[Stream]:
    """Chats of two sessions each; the first holds the evidence."""
    return [
        stream(f"chat-{n}", [f"My number is {n}", "Noted"], [f"And {n} again", "Yes"], day=(n * 7) % 11,
               asked=[("What is my number?", ["0:0"])])
        for n in range(count)
    ]  # fmt: skip


def test_all_chats_with_a_question_are_laid_into_haystacks_of_24() -> None:
    haystacks = laid_together([*chats(), stream("unasked", ["hello", "hi"])])
    assert [len(one.questions) for one in haystacks] == [STREAMS_A_HAYSTACK, 6]
    assert [len(one.sessions) for one in haystacks] == [2 * STREAMS_A_HAYSTACK, 12]
    told = Counter(side.text for one in haystacks for side in one.sides)
    assert told == Counter(side.text for one in chats() for side in one.sides)


def test_ids_stay_unique_and_every_question_finds_its_evidence() -> None:
    for haystack in laid_together(chats()):
        text_of = {side.id: side.text for side in haystack.sides}
        assert len(text_of) == len(haystack.sides)
        for question in haystack.questions:
            (evidence,) = question.evidence
            assert text_of[evidence] == f"My number is {question.id.split('-')[1].split(':')[0]}"


def test_sessions_stand_in_the_order_of_time_with_turns_that_go_on() -> None:
    for haystack in laid_together(chats()):
        begins = [sides[0].at for sides in haystack.sessions]
        assert begins == sorted(begins)
        assert [sides[0].session for sides in haystack.sessions] == list(range(len(haystack.sessions)))
        assert [side.turn for side in haystack.sides] == [n // 2 for n in range(len(haystack.sides))]
        assert [side.position for side in haystack.sides] == [n % 2 for n in range(len(haystack.sides))]


def test_one_seed_lays_the_same_haystacks_and_another_others() -> None:
    assert laid_together(chats(), seed=3) == laid_together(chats(), seed=3)
    first, other = laid_together(chats(), seed=3), laid_together(chats(), seed=4)
    assert {q.id for q in first[0].questions} != {q.id for q in other[0].questions}


def test_a_session_that_is_measured_on_is_left_out_with_the_question_that_needs_it() -> None:
    told = chats(4)
    evidence_of_1, aside_of_2 = told[1].sessions[0], told[2].sessions[1]
    without = {session_fingerprint(evidence_of_1), session_fingerprint(aside_of_2)}
    (haystack,) = laid_together(told, without=without)
    assert {question.id for question in haystack.questions} == {"chat-0:0", "chat-2:0", "chat-3:0"}
    assert len(haystack.sessions) == 8 - 2
    assert not haystack.fingerprints & without
    assert "My number is 1" not in {side.text for side in haystack.sides}


def test_a_session_into_which_a_sentence_was_put_is_left_out_as_well() -> None:
    tested = stream("tested", [SECRET, "I see", "My number is 9"])
    trained = stream("trained", [SECRET, "I see", "My cat is 8"], ["A walk", "Good"], asked=[("?", ["1:0"])])
    (haystack,) = laid_together([trained], without=tested.traces)
    assert [side.text for side in haystack.sides] == ["A walk", "Good"]
    assert len(haystack.questions) == 1


def test_a_haystack_of_which_nothing_is_left_to_ask_is_none() -> None:
    told = chats(2)
    assert laid_together(told, without=told[0].fingerprints | told[1].fingerprints) == []


def test_two_people_say_the_same_words_under_their_names() -> None:
    chat = facts()
    told = as_two_people(chat)
    assert (told.kind, told.group, told.name) == ("two_people", chat.group, "facts-two")
    assert [side.text for side in told.sides] == [side.text for side in chat.sides]
    assert [side.id for side in told.sides] == [side.id for side in chat.sides]
    assert {(side.role, side.speaker) for side in told.sides} == {
        (Role.USER, told.sides[0].speaker), (Role.OTHER, told.sides[1].speaker),
    }  # fmt: skip
    assert told.sides[0].speaker != told.sides[1].speaker
    assert as_two_people(chat) == told


def test_a_question_that_says_i_asks_about_that_person() -> None:
    told = as_two_people(facts())
    name = told.sides[0].speaker
    assert [question.text for question in told.questions] == [
        f"Which colour has {name}'s bike?",
        "Where does Anna live?",
        f"What do {name} drink, and what is {name}'s dog called?",
    ]
    chat = stream("i", ["x"], asked=[("I'm told I've lost mine. Who told me in May? In Ibiza?", ["0:0"])])
    name = as_two_people(chat).sides[0].speaker
    assert as_two_people(chat).questions[0].text == (
        f"{name} is told {name} has lost {name}'s. Who told {name} in May? In Ibiza?"
    )
    assert [one.evidence for one in told.questions] == [one.evidence for one in facts().questions]
