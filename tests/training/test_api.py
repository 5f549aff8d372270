"""What a person reads of a bank's learning."""

from __future__ import annotations

import pytest

from training.api import _sentence
from training.services.own_heads import Learning


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Learning(0, 20, False, ""), "Say of 20 memories whether they are useful, outdated or wrong"),
        (Learning(1, 19, False, ""), "You have judged 1 memory. After 19 more this agent begins"),
        (Learning(20, 0, True, ""), "You have judged 20 memories. All of them say the same"),
        (Learning(24, 0, False, ""), "So far they do not rank memories better"),
        (Learning(24, 0, False, "own-1234-1"), "this agent has learned a head of its own, own-1234-1."),
    ],
)
def test_the_sentence_says_what_is_missing_or_what_was_learned(found: Learning, said: str) -> None:
    assert said in _sentence(found)
