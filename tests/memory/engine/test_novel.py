import pytest

from memory.engine.lexical import terms
from memory.engine.novel import without_recalled

RECALLED = [terms(text) for text in ("My sister Anna lives in Lisbon near the old harbour.", "The bike is red.")]


def test_a_reply_into_which_nothing_was_recalled_is_all_its_own() -> None:
    reply = "> a quotation\n\nMy sister Anna lives in Lisbon near the old harbour."
    assert without_recalled(reply, []) == reply


def test_a_reply_of_its_own_words_stays_as_it_is() -> None:
    reply = "Take the tram number 28.\n\n- it starts at nine\n- bring coins"
    assert without_recalled(reply, RECALLED) == reply


def test_a_reply_that_only_repeats_leaves_nothing() -> None:
    assert without_recalled("Anna, my sister, lives in Lisbon near the old harbour.", RECALLED) == ""


def test_only_the_repeated_sentence_goes() -> None:
    reply = "Your sister Anna lives in Lisbon near the old harbour. Shall I look for a flight on Friday?"
    assert without_recalled(reply, RECALLED) == "Shall I look for a flight on Friday?"


def test_quoted_lines_go_with_the_words_that_announce_them() -> None:
    reply = "On 3 May you told me:\n\n> My sister Anna lives in Lisbon.\n\nDo you visit her in summer?"
    assert without_recalled(reply, RECALLED) == "Do you visit her in summer?"


def test_quotations_alone_leave_nothing() -> None:
    assert without_recalled("> My sister Anna lives in Lisbon.\n> The bike is red.", RECALLED) == ""


@pytest.mark.parametrize("reply", ["The bike is red.", "Lisbon!", "好的。"])
def test_a_sentence_too_short_to_tell_is_left_alone(reply: str) -> None:
    assert without_recalled(reply, RECALLED) == reply


def test_words_from_several_memories_make_a_sentence_of_its_own() -> None:
    reply = "Anna can ride the red bike along the harbour in Lisbon."
    assert without_recalled(reply, RECALLED) == reply
