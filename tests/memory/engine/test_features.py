import math

import numpy as np
import pytest

from memory.engine import features
from memory.engine.features import Context, is_asking, negations
from memory.engine.lexical import LexicalIndex, terms
from memory.engine.types import Role

NOTHING_BEFORE = Context(follows_question=False, first_in_session=False, best_cosine=0.0)


def of(
    text: str, role: Role = Role.USER, context: Context = NOTHING_BEFORE, index: LexicalIndex | None = None
) -> dict[str, float]:
    values = features.features(text, terms(text), role, context, index or LexicalIndex())
    assert values.dtype == np.float32
    return dict(zip(features.NAMES, values.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Why not?", "question"),
        ("为什么？", "question"),
        ("Wonderful!", "exclamation"),
        ("That is my bag", "first_person"),
        ("```\nx = 1\n```", "attachment"),
        ("thank you so much!", "small_talk"),
        ("I don't eat fish", "negation"),
        ("I don’t eat fish", "negation"),
    ],
)
def test_a_sign_is_seen_where_it_is_and_nowhere_else(text: str, name: str) -> None:
    assert of(text)[name] == 1.0
    assert of("The station opens early")[name] == 0.0


@pytest.mark.parametrize(
    ("text", "name", "count"),
    [
        ("12 eggs and 3 litres", "numbers", 2),
        ("on 3 May 2024 or Friday at 10:30", "date_words", 3),
        ("we met Anna and Ben", "proper_nouns", 2),
        ("my code is X1234567", "identifiers", 1),
        ("it cost €20 and 30 dollars", "amounts", 2),
        ("see /etc/hosts and notes.txt", "paths", 2),
    ],
)
def test_counts_enter_as_their_logarithm(text: str, name: str, count: int) -> None:
    assert of(text)[name] == pytest.approx(math.log1p(count), rel=1e-6)


def test_a_sentences_first_capital_is_no_name() -> None:
    assert of("Where are they? Here they are")["proper_nouns"] == 0.0


def test_a_fact_is_no_small_talk() -> None:
    assert of("Thanks, my flight leaves on 3 May")["small_talk"] == 0.0


def test_exactly_one_role_is_on() -> None:
    for role in Role:
        found = of("hello", role)
        assert {name: found[f"role_{name}"] for name in Role} == {name: float(name == role) for name in Role}


def test_what_came_before_is_handed_on() -> None:
    found = of("at 5", context=Context(follows_question=True, first_in_session=True, best_cosine=0.75))
    assert found["follows_question"] == 1.0
    assert found["first_in_session"] == 1.0
    assert found["novelty"] == pytest.approx(0.25)
    assert of("at 5", context=Context(False, False, -0.5))["novelty"] == 1.0


def test_rare_words_weigh_by_the_banks_own_frequencies() -> None:
    index = LexicalIndex()
    index.add(0, ["anna"])
    index.add(1, ["anna", "tea"])
    found = of("Anna Anna tea", index=index)
    mass = index.idf("anna") + index.idf("tea")
    assert found["mean_idf"] == pytest.approx(mass / 2, rel=1e-6)
    assert found["sum_idf"] == pytest.approx(math.log1p(mass), rel=1e-6)
    assert of("Anna tea")["sum_idf"] == 0.0


def test_words_of_a_script_without_spaces_are_counted_by_terms() -> None:
    assert of("私の妹は東京に住んでいます")["log_words"] > of("東京")["log_words"]


@pytest.mark.parametrize(
    "text",
    ["Where is it", "remind me of Anna's birthday", "and what about Friday", "東京？", "متى الموعد؟", "Is it red"],
)
def test_asking_cues_are_told(text: str) -> None:
    assert is_asking(text)


@pytest.mark.parametrize("text", ["My bike is red", "I know where it is", "Anna arrives on Friday."])
def test_telling_cues_are_told(text: str) -> None:
    assert not is_asking(text)


def test_negations_are_counted() -> None:
    assert negations("I do not, never, can't") == 3
    assert negations("I do") == 0
