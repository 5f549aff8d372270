"""What later replies used of what was told before, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.lexical import K1, B
from memory.engine.posterior import believed
from training.learner.hindsight import ENOUGH, Credit, Lived, Told, credited, passed_on, values_of
from training.learner.self_taught import FREE, STRENGTH, Lesson, self_taught, taught

TEXTS = (
    "Bruno sleeps in Lisbon",
    "Lisbon is sunny",
    "green tea",
    "green apples",
)


def test_a_memory_brings_up_only_words_that_nobody_said_before_in_its_session() -> None:
    told = Told(TEXTS, ["a", "a", "b", "c"])
    lisbon = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    length, mean = 3, (3 + 2 + 2 + 2) / 4  # "in" and "is" are stop words
    expected = lisbon * (K1 + 1) / (1 + K1 * (1 - B + B * length / mean))
    assert told.brought(["lisbon"], np.array([0, 1, 2])) == pytest.approx([expected, 0, 0])
    assert (told.brought(["green"], np.array([2, 3])) > 0).all()  # another session may bring a word up again


def test_of_what_was_recalled_the_one_with_the_replys_new_words_gets_the_credit() -> None:
    told = Told(TEXTS, range(4))
    lived = Lived("Where does he sleep?", "Bruno does, in Lisbon.", np.array([1, 0, 2]), np.zeros(3))
    credit = credited(told, lived, np.zeros(4))
    assert credit is not None
    found = told.brought({"bruno", "lisbon"}, np.array([1, 0, 2]))
    chance = np.exp(found) / np.exp(found).sum()
    assert credit.rows.tolist() == [1, 0, 2]
    assert credit.shares == pytest.approx(chance * min(1.0, chance @ found / ENOUGH))
    assert credit.shares.argmax() == 1


def test_words_of_the_question_and_being_recalled_alone_are_no_credit() -> None:
    told = Told(TEXTS, range(4))
    rows, logits = np.array([0, 1]), np.array([5.0, 4.0])
    assert credited(told, Lived("Is Bruno in Lisbon?", "Bruno, Lisbon: yes", rows, logits), np.zeros(4)) is None
    assert credited(told, Lived("Where is he?", "I do not know.", rows, logits), np.zeros(4)) is None
    assert credited(told, Lived("Where is he?", "Lisbon", rows[:0], logits[:0]), np.zeros(4)) is None


def test_any_of_several_credits_makes_a_memory_worth_something() -> None:
    credits = [Credit(np.array([0, 1]), np.array([0.5, 0.2])), Credit(np.array([0]), np.array([0.5]))]
    assert values_of(3, credits) == pytest.approx([0.75, 0.2, 0.0])


def test_an_identifier_credits_the_piece_that_showed_it_last_two_sides_back() -> None:
    said = [
        "I am mia_li_3668",
        "Your bookings: 4WQ150",
        "Look at 4WQ150 or 9FAT32",
        "sure",
        "book 4WQ150 for mia_li_3668",
    ]
    texts = ["I am mia_li_3668", "Your bookings: 4WQ150", "Look at 4WQ150", "or 9FAT32"]
    credits = passed_on(texts, [0, 1, 2, 2], said, {1, 3, 4}, ["a"] * 5)
    assert sorted(credit.rows.tolist() for credit in credits) == [[0], [2]]
    assert passed_on(texts[:2], [0, 1], said[:3], {2}, ["a"] * 3) == []  # 4WQ150 was shown the side before
    assert passed_on(texts, [0, 1, 2, 2], said, {4}, ["a", "a", "a", "b", "b"]) == []  # another conversation


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6), st.lists(st.sampled_from(TEXTS), max_size=3))
def test_what_is_said_after_a_reply_never_is_credited_by_it(before: list[str], after: list[str]) -> None:
    texts = [*before, *after]
    told = Told(texts, [0] * len(texts))
    rows = np.arange(len(before))
    lived = Lived("Where?", "Bruno, Lisbon, green tea", rows, np.zeros(len(rows)))
    credit = credited(told, lived, np.zeros(len(texts)))
    assert credit is None or set(credit.rows.tolist()) <= set(range(len(before)))
    values = values_of(len(texts), [credit] if credit else [])
    assert (values[len(before) :] == 0).all()
    assert ((values >= 0) & (values <= 1)).all()


def lesson(seed: int, group: str, feature: int = 1) -> Lesson:
    """Forty memories in two features; replies use those that are high in one of them."""
    z = np.random.default_rng(seed).standard_normal((40, 2))
    used = np.argsort(-z[:, feature])[:8].tolist()
    return Lesson(z, np.arange(40), [Credit(np.array([row]), np.array([1.0])) for row in used], group)


def test_hindsight_moves_a_prior_towards_what_is_used() -> None:
    prior = believed([2.0, 0.0], -1.5, STRENGTH)
    learned = self_taught(prior, [lesson(seed, str(seed)) for seed in range(6)])
    assert learned.mean[1] > 1.0
    assert learned.mean[0] < 2.0


def test_a_prior_that_held_out_replies_speak_for_is_kept() -> None:
    prior = believed([0.0, 4.0], -1.5, STRENGTH)
    assert self_taught(prior, [lesson(seed, str(seed)) for seed in range(6)]) is prior
    wrong = believed([0.0, -4.0], -1.5, STRENGTH)
    blank = Lesson(np.zeros((4, 2)), np.arange(4), ())
    assert self_taught(wrong, [blank]) is wrong  # nothing was asked: nothing is learned


def test_one_bank_alone_is_guarded_by_its_own_replies_held_out_in_blocks() -> None:
    wrong = believed([2.0, 0.0], -1.5, STRENGTH)
    assert self_taught(wrong, [lesson(1, "only")]).mean[1] > 0.2
    noise = replace(lesson(1, "only"), credits=[Credit(np.array([row]), np.array([1.0])) for row in range(0, 40, 5)])
    right = believed([0.0, 4.0], -1.5, STRENGTH)
    assert self_taught(right, [noise]) is right


def test_how_much_is_used_moves_the_bias_and_not_the_weights() -> None:
    prior = believed([0.0, 1.0], 3.0, STRENGTH)
    z = np.random.default_rng(3).standard_normal((400, 2))
    nothing = Lesson(z, np.arange(400), [Credit(np.array([0]), np.array([1e-9]))])
    learned = taught(prior, [nothing])
    assert learned.mean[2] < -5
    assert learned.mean[:2] == pytest.approx([0.0, 1.0], abs=0.15)
    assert FREE < STRENGTH


def test_pieces_of_one_side_share_one_labels_weight() -> None:
    assert Lesson(np.zeros((3, 1)), np.array([7, 7, 9]), ()).trust.tolist() == [0.5, 0.5, 1.0]
