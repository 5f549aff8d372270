"""Whether a newer memory says otherwise than an older one, on pairs written by hand and at the borders."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from memory.engine.doubts import Doubt, doubt, doubts_among
from memory.engine.types import MemoryItem, Place, Role, Side
from tests.memory.engine.doubt_pairs import BOTH_HOLD, BOTH_HOLD_UNSEEN, OTHERWISE, OTHERWISE_UNSEEN
from tests.toy import ToyEncoder

BEGAN = datetime(2026, 5, 1, tzinfo=UTC)


def memory(text: str, day: int) -> MemoryItem:
    return MemoryItem(
        UUID(int=day + 1), text, Role.USER, "Ana", BEGAN + timedelta(days=day), 9, 0.5, UUID(int=day), Side.OBSERVATION,
        Place(UUID(int=1), 0, day),
    )  # fmt: skip


def between(older: str, newer: str) -> Doubt | None:
    return doubt(memory(older, 1), memory(newer, 2))


def test_it_is_right_where_it_speaks_on_pairs_written_by_hand() -> None:
    right = sum(between(*pair) is not None for pair in OTHERWISE + OTHERWISE_UNSEEN)
    wrong = sum(between(*pair) is not None for pair in BOTH_HOLD + BOTH_HOLD_UNSEEN)
    assert right / (right + wrong) >= 0.95
    assert right / len(OTHERWISE + OTHERWISE_UNSEEN) >= 0.9


@pytest.mark.parametrize(
    ("older", "newer", "what"),
    [
        ("The code of the garage is 4711.", "The code of the garage is 8822.", Doubt.NUMBER),
        ("The choir rehearsal starts at 19:30.", "The choir rehearsal starts at 20:00.", Doubt.DATE),
        ("My sister lives in Lisbon.", "My sister lives in Porto.", Doubt.NAME),
        ("The library is open on Sundays.", "The library is not open on Sundays.", Doubt.NEGATION),
        ("I work at the harbour office.", "I no longer work at the harbour office.", Doubt.CORRECTION),
    ],
)
def test_it_says_what_differs(older: str, newer: str, what: Doubt) -> None:
    assert between(older, newer) is what


def test_the_same_words_and_another_subject_raise_no_doubt() -> None:
    assert between("The rent is 850 euros.", "The rent is 850 euros.") is None
    assert between("The rent of the flat is 850 euros.", "The rent of the garage is 90 euros.") is None


def test_only_the_same_persons_later_words_count() -> None:
    older, newer = memory("The code of the garage is 4711.", 1), memory("The code of the garage is 8822.", 2)
    assert doubt(older, newer) is Doubt.NUMBER
    assert doubt(newer, older) is None
    assert doubt(older, replace(newer, speaker="Ben")) is None
    assert doubt(replace(older, role=Role.ASSISTANT), replace(newer, role=Role.ASSISTANT)) is None
    assert doubt(replace(older, role=Role.TOOL), replace(newer, role=Role.TOOL)) is None
    assert doubt(replace(older, kind="summary"), newer) is None


def test_among_many_each_older_memory_is_named_once_with_the_newest_that_says_otherwise() -> None:
    texts = ["The code of the garage is 4711.", "I like the sea.", "The code of the garage is 8822.",
             "The code of the garage is 1234."]  # fmt: skip
    items = [memory(text, day) for day, text in enumerate(texts)]
    vectors = ToyEncoder().encode(texts)
    assert doubts_among(items, vectors, range(4)) == [(0, 3, Doubt.NUMBER), (2, 3, Doubt.NUMBER)]
    assert doubts_among(items, vectors, [2]) == [(0, 2, Doubt.NUMBER)]
    assert doubts_among(items, vectors, []) == []
