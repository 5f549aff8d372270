from datetime import datetime
from uuid import UUID

import pytest
from django.db import connection

from agora_web.accounts.models import User
from memory.encoding import encoder
from memory.engine.encoder import embedded_text
from memory.engine.text import split_side
from memory.models import Bank, Event, Recall, Turn
from memory.services.flush import Used, mark_used
from memory.services.ledger import BankMissing
from memory.services.recalls import prepare_cue, recall_for_turn
from memory.services.remember import TurnToRemember, remember_turn
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk

FACTS = [
    "Anna lives in Lisbon", "My bike is red", "My dog is called Bruno", "The meeting is on 3 May", "I drink green tea",
    "My passport expires in June",
]  # fmt: skip


@pytest.fixture
def full(desk: Desk) -> Desk:
    for text in FACTS:
        desk.tell(text, "Noted.")
    return desk


def test_a_recall_leaves_a_trace_and_an_event_that_agree(full: Desk) -> None:
    asked = full.ask("Where does Anna live?")
    with full.acting():
        trace = Recall.objects.get(pk=asked.trace.pk)
        event = Event.objects.get(bank=full.bank_id, kind="recalled")
        bank = Bank.objects.get(pk=full.bank_id)
    assert asked.injected == ["Anna lives in Lisbon"]
    assert trace.turn_id == asked.turn.pk
    assert (trace.candidates, trace.below_floor, trace.over_budget) == (7, 6, 0)
    assert (trace.asking, trace.with_previous, trace.bypassed) == (True, False, False)
    assert event.seq == trace.seq + 1 == bank.last_seq
    assert event.turn == asked.turn.pk
    assert event.data == {
        "recall": str(trace.pk),
        "memories": [str(full.memory("Anna lives in Lisbon").pk)],
        "weights": [pytest.approx(trace.rows[0]["weight"], abs=1e-5)],
    }
    assert set(trace.timings_ms) == {"encode", "recall"}
    full.agree()


def test_a_traces_rows_explain_themselves(full: Desk) -> None:
    rows = full.ask("Where does Anna live?").trace.rows
    assert sum(row["weight"] for row in rows) == pytest.approx(1.0, abs=1e-4)
    assert [row["logit"] for row in rows] == sorted((row["logit"] for row in rows), reverse=True)
    for row in rows:
        assert sum(row["contributions"].values()) == pytest.approx(row["logit"], abs=1e-4)
        assert not row["cited"]
        assert "Anna" not in repr(row)  # ids and numbers, no text
    assert [row["injected"] for row in rows] == [True] + [False] * 6


def test_when_nothing_is_relevant_nothing_is_injected_and_no_event_written(full: Desk) -> None:
    before = full.happened()
    asked = full.ask("Which mountains did Vikings climb?")
    assert asked.injected == []
    assert asked.trace.below_floor == 7
    assert full.happened() == before
    with full.acting():
        assert Recall.objects.filter(pk=asked.trace.pk).exists()


def test_a_bank_of_under_five_is_handed_on_whole(desk: Desk) -> None:
    desk.tell("Anna lives in Lisbon")
    desk.tell("My bike is red")
    asked = desk.ask("Which mountains did Vikings climb?")
    assert asked.trace.bypassed
    assert sorted(asked.injected) == ["Anna lives in Lisbon", "My bike is red"]


def test_an_empty_bank_has_an_empty_trace(desk: Desk) -> None:
    asked = desk.ask("Where does Anna live?")
    assert (asked.trace.rows, asked.trace.candidates, asked.injected) == ([], 0, [])


def test_the_banks_token_budget_bounds_what_is_injected(full: Desk) -> None:
    full.configure(recall_tokens=4)
    asked = full.ask("Anna Lisbon bike red dog Bruno meeting May?")
    assert sum(row.item.tokens for row in asked.found.injected) <= 4
    assert asked.trace.over_budget > 0


def test_turns_that_are_shown_anyway_do_not_come_back(full: Desk) -> None:
    shown = full.memory("Anna lives in Lisbon").turn_id
    assert shown is not None
    assert full.ask("Where does Anna live?", exclude=frozenset({shown})).injected == []


def test_one_call_of_the_encoder_gives_the_cue_and_the_observations_pieces(desk: Desk, now: datetime) -> None:
    turn = desk.open("Where does my old sister Anna live?")
    encoder().clear()
    before = encoder().calls
    with desk.acting():
        prepared = prepare_cue(turn, previous=None, exclude_turns=frozenset(), now=now)
    assert encoder().calls == before + 1
    assert prepared.cue.text == turn.observation
    assert prepared.cue.exclude_turns == {turn.pk}
    assert prepared.piece_vectors.shape == (1, encoder().space.width)
    with desk.acting():
        remember_turn(desk.bank_id, TurnToRemember(turn, prepared.piece_vectors), now=now)
    assert encoder().calls == before + 1  # the observation is not encoded a second time


def test_a_short_observation_takes_the_previous_turn_along(desk: Desk, now: datetime) -> None:
    previous = desk.tell("Tell me of Anna in Lisbon")
    short, long = desk.open("And then?"), desk.open("And what happened to her after that summer?")
    with desk.acting():
        asked = prepare_cue(short, previous=previous, exclude_turns=frozenset(), now=now)
        own = prepare_cue(long, previous=previous, exclude_turns=frozenset(), now=now)
    assert asked.with_previous
    assert asked.cue.text == "Tell me of Anna in Lisbon\nAnd then?"
    assert not own.with_previous
    with desk.acting():
        assert not prepare_cue(short, previous=None, exclude_turns=frozenset(), now=now).with_previous


def test_words_of_a_script_without_spaces_are_not_taken_for_a_short_cue(desk: Desk, now: datetime) -> None:
    previous, turn = desk.tell("Tell me of Anna"), desk.open("私の妹は東京に住んでいますか")
    with desk.acting():
        assert not prepare_cue(turn, previous=previous, exclude_turns=frozenset(), now=now).with_previous


def test_of_a_long_observation_the_last_piece_asks(desk: Desk, now: datetime) -> None:
    turn = desk.open("This is what happened today. " * 80 + "Where does Anna live?")
    pieces = split_side(turn.observation)
    with desk.acting():
        prepared = prepare_cue(turn, previous=None, exclude_turns=frozenset(), now=now)
    assert len(pieces) > 1
    assert prepared.piece_vectors.shape[0] == len(pieces)
    alone = encoder().encode([pieces[-1], embedded_text("Ana", now, pieces[0])])
    assert prepared.cue.vector == pytest.approx(alone[0])
    assert prepared.piece_vectors[0] == pytest.approx(alone[1])


def test_a_trace_is_committed_without_waiting_and_nothing_else_is(full: Desk) -> None:
    def waits() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW synchronous_commit")
            return str(cursor.fetchone()[0])

    with full.acting():
        usual = waits()
        full.ask("Where does Anna live?")
        assert waits() == "off"
    with full.acting():
        assert waits() == usual


def test_what_was_recalled_injected_and_cited_are_three_facts(full: Desk) -> None:
    asked = full.ask("Anna, Lisbon and my red bike?")
    assert sorted(asked.injected) == ["Anna lives in Lisbon", "My bike is red"]
    anna, bike = (full.memory(text).pk for text in sorted(asked.injected))
    below = next(UUID(row["memory"]) for row in asked.trace.rows if not row["injected"])
    with full.acting():
        mark_used(Used(asked.trace.pk, {anna, below}, {anna, bike, below}))
        rows = {UUID(row["memory"]): row for row in Recall.objects.get(pk=asked.trace.pk).rows}
    facts = {memory: (row["recalled"], row["injected"], row["cited"]) for memory, row in rows.items()}
    assert facts[anna] == (True, True, True)
    assert facts[bike] == (True, False, False)
    assert facts[below] == (False, False, False)


def test_nobody_reads_anothers_bank(full: Desk, person: User, now: datetime) -> None:
    stranger = User.objects.create_user("stranger@example.org", name="Eve")
    try:
        turn = full.open("Where does Anna live?")
        with acting_as(stranger.pk):
            prepared = prepare_cue(turn, previous=None, exclude_turns=frozenset(), now=now)
            with pytest.raises(BankMissing, match="no such memory bank"):
                recall_for_turn(turn, prepared)
            with pytest.raises(BankMissing):
                remember_turn(full.bank_id, TurnToRemember(turn), now=now)
            assert not Turn.objects.exists()
    finally:
        User.objects.using("owner").get(pk=stranger.pk).delete()
    full.agree()
