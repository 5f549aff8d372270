"""Masking one memory after the other, by a scorer whose numbers can be counted on fingers."""

from __future__ import annotations

import pytest

from tests.toy import ToyLikelihood
from training.learner.counterfactual import FULL, LETTERS, effects, needed, prompt_of

REPLY = "Duarte answers at extension 4711"  # five terms but for the stop word: duart, answer, extens, 4711


def test_a_memory_counts_for_what_the_reply_loses_without_it() -> None:
    memories = ["Duarte has extension 4711", "Tea is good"]
    # whole: only "answer" is missing, -1; without the first: all four, -4; without the second: -1
    assert effects(ToyLikelihood(), memories, "Who helps me?", REPLY) == [3.0, 0.0]


def test_what_the_question_says_already_no_memory_is_credited_with() -> None:
    assert effects(ToyLikelihood(), ["Duarte has extension 4711"], "Duarte, extension?", REPLY) == [1.0]


def test_two_memories_that_say_the_same_hide_each_other() -> None:
    twins = ["Duarte has extension 4711", "Extension 4711 is Duarte"]
    assert effects(ToyLikelihood(), twins, "Who helps me?", REPLY) == [0.0, 0.0]


def test_each_memory_costs_one_prompt_and_the_whole_one_more() -> None:
    scorer = ToyLikelihood()
    effects(scorer, ["one", "two"], "What?", "three")
    assert scorer.asked == [
        "Notes from earlier turns:\n- one\n- two\n\nWhat?",
        "Notes from earlier turns:\n- two\n\nWhat?",
        "Notes from earlier turns:\n- one\n\nWhat?",
    ]


def test_without_notes_the_question_stands_alone_and_a_long_note_on_one_line_is_cut() -> None:
    assert prompt_of([], "What?") == "What?"
    assert prompt_of(["a\n" * LETTERS], "What?").count("\n") == 3
    assert len(prompt_of(["a" * 5000], "?")) < LETTERS + 50


@pytest.mark.parametrize(("effect", "value"), [(-2.0, 0.0), (0.0, 0.0), (FULL / 2, 0.5), (FULL, 1.0), (50.0, 1.0)])
def test_an_effect_is_judged_between_nothing_and_full(effect: float, value: float) -> None:
    assert needed(effect) == value
