"""A stream told to a bank: pieces, contexts, twins, and the very scores that the engine gave at writing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memory.engine.adapter import Adapter
from memory.engine.importance import ImportanceHead
from memory.engine.prior import prior
from memory.engine.retention import policy_named
from memory.engine.statistics import ROLES
from memory.engine.types import Budget, Role, Side
from tests.toy import toy_encoder
from tests.training.learner.toy_streams import FACTS, LATER, facts, stream
from training.learner.banks import FilledBank, cue_of, cue_terms, fill, pieces_of
from training.learner.importance_examples import importance_examples, role_moments
from training.learner.streams import Question, Stream, Use

LONG = " ".join(f"Sentence number {n} says that the {n}th thing is as it was before." for n in range(80))


def filled(told: Stream, adapter: Adapter | None = None) -> FilledBank:
    return fill(told, pieces_of(told, toy_encoder()), adapter or prior())


def test_every_side_becomes_a_memory_with_its_role_place_and_instant() -> None:
    told = facts()
    bank = filled(told)
    assert len(bank.hot) == len(told.sides)
    for side, (memory,) in zip(told.sides, bank.memories_of, strict=True):
        item = bank.hot.get(memory)
        assert item is not None
        assert (item.text, item.role, item.speaker, item.at, item.side) == (
            side.text, side.role, side.speaker, side.at, side.side,
        )  # fmt: skip
        assert (item.place.session, item.place.position) == (side.session, side.position)


def test_the_same_stream_fills_the_same_bank() -> None:
    one, again = filled(facts()), filled(facts())
    assert one.memories_of == again.memories_of
    assert one.hot.state == again.hot.state
    assert filled(facts("other")).memories_of != one.memories_of


def test_a_long_side_is_told_in_pieces_of_one_side() -> None:
    told = stream("long", ["Hello there", LONG, "Ana asked"])
    pieces = pieces_of(told, toy_encoder())
    bank = fill(told, pieces, prior())
    assert len(bank.memories_of[1]) > 1
    assert [piece.new.piece for piece in pieces if piece.side == 1] == list(range(len(bank.memories_of[1])))
    assert "".join(LONG.split()) == "".join("".join(p.new.text.split()) for p in pieces if p.side == 1)
    assert len({piece.new.id for piece in pieces}) == len(pieces)


def test_what_is_said_twice_is_one_memory_of_both_sides() -> None:
    told = stream("twice", ["My bike is red", "Noted", "My bike is red", "So you said"])
    bank = filled(told)
    assert bank.memories_of[0] == bank.memories_of[2]
    assert len(bank.hot) == 3
    assert bank.hot.state.marks[bank.memories_of[0][0]].sources == 2


def test_the_context_tells_what_follows_a_question_and_what_opens_a_session() -> None:
    told = stream("asks", ["Where do you live?", "In Graz", "Good"], ["Hello?", "Yes"])
    contexts = [(p.context.follows_question, p.context.first_in_session) for p in pieces_of(told, toy_encoder())]
    assert contexts == [(False, True), (True, False), (False, False), (False, True), (True, False)]


def test_a_bank_with_a_budget_lets_the_oldest_go() -> None:
    told = facts()
    bank = fill(told, pieces_of(told, toy_encoder()), prior(), policy=policy_named("fifo"), budget=Budget(2, 10**6))
    assert [item.text for item in bank.hot.memories()] == [side.text for side in told.sides[-2:]]


def test_a_question_is_a_cue_as_the_chat_would_ask_it() -> None:
    cue = cue_of(Question("q", "Where does Anna live, Anna?", LATER, frozenset({"x"}), ""), toy_encoder())
    assert (cue.at, cue.asking, cue.text) == (LATER, True, "Where does Anna live, Anna?")
    assert np.array_equal(cue.vector, toy_encoder().encode([cue.text])[0])
    assert cue_terms(cue) == list(dict.fromkeys(cue_terms(cue)))
    assert not cue_of(Question("q", "I moved", LATER, frozenset(), ""), toy_encoder()).asking


# --- importance examples --------------------------------------------------------------------------------------------


def one_prior_for_all(kind: str) -> Adapter:
    """An adapter that judges every kind alike: the kind of a bank may change while it fills."""
    start = prior()
    head = ImportanceHead(dict.fromkeys(start.importance.priors, start.importance.priors[kind]))
    return replace(start, importance=head)


def chatter() -> Stream:
    """Many turns with twins, a long side, numbers and questions, so that the moments move."""
    texts = [LONG if n == 6 else FACTS[n % 4] if n % 5 == 0 else f"Number {n} is {n * n}, is it?" for n in range(30)]
    return stream("chatter", texts[:14], texts[14:], asked=[("?", ["0:0"])])


@pytest.mark.parametrize("kind", sorted(prior().importance.priors))
def test_standardised_examples_score_as_the_engine_scored_at_writing(kind: str) -> None:
    adapter = one_prior_for_all(kind)
    told = replace(chatter(), kind=kind)
    bank = filled(told, adapter)
    examples = importance_examples(bank)
    head = adapter.importance.priors[kind]
    logits = examples.standardised(adapter.importance) @ head.weights + head.bias
    marks = bank.hot.state.marks
    stored = [mark.importance for mark in sorted(marks.values(), key=lambda mark: mark.written)]
    assert len(stored) > 25
    # features are stored in thousandths, that is all the difference
    assert 1 / (1 + np.exp(-logits)) == pytest.approx(stored, abs=2e-3)
    assert np.ptp(stored) > 0.1


def test_examples_stand_in_the_order_of_writing_with_their_role_turn_and_side() -> None:
    told = stream("twice", ["My bike is red", LONG, "My bike is red", "Anna lives in Lisbon"])
    examples = importance_examples(filled(told))
    pieces = int((examples.side == 1).sum())
    assert examples.side.tolist() == [0] + [1] * pieces + [3]
    assert examples.turns.tolist() == [0] + [0] * pieces + [1]
    assert examples.roles == [Role.USER] + [Role.ASSISTANT] * (pieces + 1)
    assert (examples.kind, examples.group) == ("user_assistant", "twice")


def test_a_memory_is_needed_when_any_side_that_told_it_is() -> None:
    told = stream("twice", ["My bike is red", "Noted", "My bike is red", "Fine"], asked=[("Bike?", ["0:2"])])
    assert importance_examples(filled(told)).needed.tolist() == [True, False, False]
    used = replace(told, questions=(), uses=(Use(at=3, source=1),))
    assert importance_examples(filled(used)).needed.tolist() == [False, True, False]


def test_usual_moments_are_those_of_each_role_and_of_all_for_a_role_that_is_missing() -> None:
    examples = importance_examples(filled(facts()))
    mean, deviation = role_moments([examples])
    of_users = examples.raw[[role is Role.USER for role in examples.roles]]
    row = {role: number for number, role in enumerate(ROLES)}
    assert mean[row[Role.USER]] == pytest.approx(of_users.mean(axis=0), abs=1e-5)
    assert deviation[row[Role.USER]] == pytest.approx(np.maximum(of_users.std(axis=0), 0.1), abs=1e-5)
    assert mean[row[Role.TOOL]] == pytest.approx(examples.raw.mean(axis=0), abs=1e-5)
    assert deviation.min() == pytest.approx(0.1)  # what is always the same must not count for endless deviations


def test_the_sides_of_a_stream_are_told_in_turns() -> None:
    told = facts()
    items = filled(told).hot.memories()
    turns = [item.turn for item in sorted(items, key=lambda item: item.written)]
    assert turns[0::2] == turns[1::2]
    assert len(set(turns)) == len(turns) // 2
    assert {item.side for item in items} == {Side.OBSERVATION, Side.ACTION}
