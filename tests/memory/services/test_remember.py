from datetime import timedelta

from memory.adapters import serving_adapter
from memory.engine.text import count_tokens
from memory.engine.types import State
from memory.models import Memory, MemorySource, Turn
from tests.memory.services.desk import Desk


def test_both_sides_of_a_turn_are_remembered_with_their_role(desk: Desk) -> None:
    turn = desk.tell("My bike is red", "Then I shall call it the red one.")
    said, answered = desk.memory("My bike is red"), desk.memory("Then I shall call it the red one.")
    assert (said.role, said.speaker, said.side, said.position) == ("user", "Ana", "observation", 0)
    assert (answered.role, answered.speaker, answered.side, answered.position) == ("assistant", "Scribe", "action", 1)
    assert said.turn_id == answered.turn_id == turn.pk
    assert said.tokens == count_tokens("My bike is red")
    assert said.adapter == serving_adapter().version
    assert len(said.features) > 10
    with desk.acting():
        assert Turn.objects.get(pk=turn.pk).remembered
    desk.agree()


def test_remembering_twice_changes_nothing(desk: Desk) -> None:
    turn = desk.tell("My bike is red.", "A fine colour for a bike.")
    near = desk.tell("my bike was red!")  # merges into the first
    before = desk.happened()
    desk.remember(turn)
    desk.remember(near)
    assert desk.happened() == before
    with desk.acting():
        assert MemorySource.objects.filter(turn=near.pk).get().how == "merged"


def test_a_turn_that_was_tried_again_takes_back_what_it_had_said(desk: Desk) -> None:
    turn = desk.tell("Tell me of Lisbon", "Lisbon is a harbour on the")
    before = desk.memory("Tell me of Lisbon")
    turn.action = "Lisbon is the capital of Portugal."
    desk.remember(turn)
    assert desk.texts() == ["Tell me of Lisbon", "Lisbon is the capital of Portugal."]
    assert desk.memory("Lisbon is a harbour on the").archive_reason == "withdrawn"
    assert desk.memory("Tell me of Lisbon").written_seq == before.written_seq
    desk.agree()


def test_what_a_retried_turn_said_stays_where_somebody_else_said_it_too(desk: Desk) -> None:
    turn = desk.tell("Tell me of Lisbon", "It is a harbour.")
    desk.tell("And of Porto", "It is a harbour.")
    turn.action = "It is a capital."
    desk.remember(turn)
    assert "It is a harbour." in desk.texts()
    desk.agree()


def test_a_long_side_becomes_pieces_that_are_neighbours(desk: Desk) -> None:
    desk.tell(" ".join(f"Sentence number {i} stands here." for i in range(100)))
    with desk.acting():
        rows = list(Memory.objects.filter(bank=desk.bank_id).order_by("piece"))
    assert [row.piece for row in rows] == list(range(len(rows)))
    assert len(rows) > 2
    assert {row.position for row in rows} == {0}
    assert len({row.turn_id for row in rows}) == 1


def test_what_merely_repeats_a_recalled_memory_is_not_remembered_again(desk: Desk) -> None:
    desk.tell("My sister Anna lives in Lisbon near the harbour")
    turn = desk.open("Where does she live?")
    turn.action = "> My sister Anna lives in Lisbon near the harbour\n\nShall I look for flights there on Friday?"
    desk.remember(turn, recalled=("My sister Anna lives in Lisbon near the harbour",))
    assert desk.texts()[-1] == "Shall I look for flights there on Friday?"
    assert len(desk.texts()) == 3


def test_an_archived_memory_that_is_told_again_is_restored_with_its_sources(narrow: Desk) -> None:
    narrow.tell("hm well")
    for text in ("I drink green tea", "My bike is red", "My dog is called Bruno"):
        narrow.tell(text)
    memory = narrow.memory("hm well")
    assert memory.state == State.ARCHIVED
    narrow.configure(budget_memories=4)
    narrow.tell("hm well")
    assert narrow.memory("hm well").pk == memory.pk
    assert narrow.memory("hm well").state == State.HELD
    assert narrow.postings() == {}
    with narrow.acting():
        assert MemorySource.objects.filter(memory=memory.pk).count() == 2
    narrow.agree()


def test_a_memory_restored_and_let_go_in_one_turn_stays_indexed_once(narrow: Desk) -> None:
    narrow.tell("hm well")
    for text in ("I drink green tea", "My bike is red", "My dog is called Bruno"):
        narrow.tell(text)
    narrow.tell("hm well")  # restored, and at once the least of four again
    assert narrow.memory("hm well").state == State.ARCHIVED
    assert narrow.postings() == {"hm well": ["hm"]}
    narrow.agree()


def test_text_in_any_script_is_remembered_and_found_by_its_words(desk: Desk) -> None:
    said = {
        "私の妹は東京に住んでいます": "東京?",
        "Моя сестра живёт в Москве": "Москве?",
        "أختي تسكن في القاهرة": "القاهرة؟",
        "मेरी बहन दिल्ली में रहती है": "दिल्ली?",
        "내 여동생은 서울에 산다": "서울에?",
        "Anna lives in Zürich": "Zürich?",
        "👨‍👩‍👧‍👦 🎂 on Sunday": "🎂?",
    }
    for text in said:
        desk.tell(text)
    for text, cue in said.items():
        assert desk.ask(cue).injected[:1] == [text]


def test_a_side_without_anything_to_remember_leaves_no_memory(desk: Desk) -> None:
    turn = desk.tell("My bike is red", " \n ")
    assert desk.texts() == ["My bike is red"]
    assert turn.action_at is not None
    assert turn.created_at - turn.action_at < timedelta(seconds=1)
