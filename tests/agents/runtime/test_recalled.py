"""Short ids and the question whether a reply used a memory."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agents.runtime.recalled import RecalledMemory, cited, short_ids, written_date
from tests.agents.runtime.memories import memory

PORTO = memory(1, "My sister Nadia lives in Porto and paints boats.")
TEA = memory(2, "I drink green tea from Shizuoka every morning.")


def test_short_ids_are_short_and_differ_though_time_ordered_ids_begin_alike() -> None:
    names = short_ids([PORTO, TEA])
    assert names == {PORTO.id: "m-000001", TEA.id: "m-000002"}


def test_short_ids_grow_until_they_differ() -> None:
    one = RecalledMemory("aaaa1-00000001", "x", "", "user", datetime.now(UTC), 1, "highly")
    other = RecalledMemory("aaaa2-00000001", "x", "", "user", datetime.now(UTC), 1, "highly")
    names = short_ids([one, other])
    assert names[one.id] != names[other.id]


def test_ids_without_letters_still_get_distinct_names() -> None:
    ids = [RecalledMemory(id_, "x", "", "user", datetime.now(UTC), 1, "highly") for id_ in ("--", "---")]
    assert len(set(short_ids(ids).values())) == 2


def test_a_reply_cites_the_memory_whose_short_id_it_names() -> None:
    assert cited("As in [M-000002], yes.", [PORTO, TEA]) == {TEA.id}


def test_a_reply_cites_the_memory_whose_rare_words_it_holds() -> None:
    assert cited("Nadia lives in Porto.", [PORTO, TEA]) == {PORTO.id}


@pytest.mark.parametrize("reply", ["", "I do not know.", "You could ask her every morning."])
def test_a_reply_that_shares_little_cites_nothing(reply: str) -> None:
    assert cited(reply, [PORTO, TEA]) == set()


def test_words_of_the_question_are_no_sign_that_a_memory_was_used() -> None:
    reply = "I do not know where your sister Nadia lives."
    question = "Where does my sister Nadia live?"
    assert cited(reply, [PORTO]) == {PORTO.id}
    assert cited(reply, [PORTO], question) == set()
    assert cited("She paints boats in Porto.", [PORTO], question) == {PORTO.id}


def test_a_word_that_all_memories_share_weighs_less_than_a_word_of_one() -> None:
    cats = [
        memory(1, "cat Mimi black garden"),
        memory(2, "cat Tom grey garden"),
        memory(3, "cat Leo white garden"),
    ]
    assert cited("A cat in the garden called Tom.", cats) == {cats[1].id}


def test_one_shared_word_of_several_is_not_enough() -> None:
    assert cited("Nadia is a fine name.", [memory(1, "Nadia paints")]) == set()
    assert cited("Nadia is a fine name.", [memory(1, "Nadia")]) == {memory(1, "Nadia").id}


def test_a_memory_in_another_script_is_cited_by_its_own_words() -> None:
    tokyo = memory(1, "私の妹は東京に住んでいます")
    assert cited("妹さんは東京に住んでいます。", [tokyo, TEA]) == {tokyo.id}


def test_a_memory_without_any_word_is_never_cited_by_coverage() -> None:
    assert cited("!!! well", [memory(1, "!!!")]) == set()


def test_a_date_is_written_out_without_a_locale() -> None:
    assert written_date(datetime(2023, 5, 3, tzinfo=UTC)) == "3 May 2023"
