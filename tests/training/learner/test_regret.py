"""When a memory was missed: the person had to say what neither the question nor the reply held."""

from __future__ import annotations

import pytest

from training.learner.regret import said_again

PIANO = "the piano of aunt Vera stands in Ghent"  # piano, aunt, vera, stand, ghent


def missed(*afterwards: str, cue: str = "Where is the piano?", reply: str = "I do not know.") -> bool:
    return said_again(PIANO, cue=cue, reply=reply, afterwards=afterwards, rarity=lambda _: 1.0)


def test_a_person_who_has_to_say_it_again_missed_it() -> None:
    assert missed("It is with aunt Vera in Ghent")
    assert missed("No!", "Vera has it in Ghent")


def test_a_reply_that_is_corrected_towards_it_missed_it() -> None:
    assert missed("No, in Ghent, at Vera's", reply="The piano stands in Porto.")


@pytest.mark.parametrize(
    "afterwards",
    [(), ("Thanks anyway",), ("The piano, where is the piano?",), ("Ghent is nice",), ("a", "b", "Vera, Ghent, aunt")],
)
def test_another_subject_the_question_anew_one_word_and_a_late_message_say_nothing(afterwards: tuple[str, ...]) -> None:
    assert not missed(*afterwards)


def test_what_the_reply_said_already_was_not_missed() -> None:
    assert not missed("Right, with aunt Vera in Ghent", reply="The piano of aunt Vera stands in Ghent.")


def test_rare_words_count_more_than_common_ones() -> None:
    rarity = {"aunt": 0.1, "stand": 0.1}
    told = {"cue": "Where is the piano?", "reply": "No idea.", "afterwards": ["The aunt stands there"]}
    assert not said_again(PIANO, rarity=lambda word: rarity.get(word, 3.0), **told)  # type: ignore[arg-type]
    assert said_again(PIANO, rarity=lambda word: 1.0, **told)  # type: ignore[arg-type]
