import json
import time

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.text import (
    MARKER,
    WINDOW_TOKENS,
    clean_text,
    content_hash,
    count_tokens,
    split_side,
    truncate,
    within,
)

FAMILY = "👨‍👩‍👧‍👦"
FLAG = "🇩🇪"
ANY_TEXT = st.text(st.characters(codec=None), max_size=300)  # surrogates and NUL too
PARTS = [
    "word", "12345", "internationalisation", " ", "\n", ". ", "! ", "。", "東京", "สวัสดี", "नमस्ते", "مرحبا؟ ", FAMILY,
    "```\ncode = 1\n```\n", "~~~\nx\n~~~\n", "```\nnever closed\n", "a" * 400, FAMILY * 60, "e\u0301" * 20,
]  # fmt: skip
PROSE = st.lists(st.sampled_from(PARTS), max_size=120).map("".join)


def graphemes(text: str) -> list[str]:
    return regex.findall(r"\X", text)


def solid(text: str) -> str:
    """The characters that may not be lost."""
    return "".join(text.split())


@given(ANY_TEXT)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean_text(clean_text(text)) == clean_text(text)


@given(ANY_TEXT)
def test_cleaned_text_can_be_stored(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()  # raises on a lone surrogate
    assert "\0" not in cleaned


@given(st.text(max_size=200).filter(lambda text: "\0" not in text))
def test_storable_text_is_left_as_it_is(text: str) -> None:
    assert clean_text(text) == text


def test_the_two_halves_of_a_character_are_joined() -> None:
    halves = json.loads('"\\ud83d"') + json.loads('"\\ude00"')
    assert clean_text(f"a{halves}b") == "a😀b"


def test_a_half_character_goes_and_its_neighbours_stay() -> None:
    assert clean_text("a\ud83db\ude00c\0d") == "abcd"
    assert clean_text("\ud83d\ud83d\ude00") == "😀"


def test_tokens_are_counted_by_hand() -> None:
    assert count_tokens("") == 0
    assert count_tokens("I am here.") == 4
    assert count_tokens("abcdef abcdefg") == 1 + 2  # six letters begin a token
    assert count_tokens("1234567") == 3  # so do three digits
    assert count_tokens("東京へ") == 3


@given(PROSE, st.integers(5, WINDOW_TOKENS))
@settings(max_examples=150, deadline=None)
def test_splitting_loses_no_character_and_keeps_the_window(text: str, window: int) -> None:
    pieces = split_side(text, window)
    assert solid("".join(pieces)) == solid(text)
    for piece in pieces:
        assert piece.strip()
        assert count_tokens(piece) <= window or len(graphemes(piece)) == 1


@given(PROSE)
@settings(max_examples=60, deadline=None)
def test_splitting_cuts_inside_no_grapheme(text: str) -> None:
    apart = [grapheme for piece in split_side(text, 40) for grapheme in graphemes(piece) if grapheme.strip()]
    assert apart == [grapheme for grapheme in graphemes(text) if grapheme.strip()]


def test_a_short_side_stays_whole_and_an_empty_one_is_none() -> None:
    assert split_side("  two words\n") == ["  two words\n"]
    assert split_side(" \n\t") == []


def test_a_long_side_is_cut_at_sentences() -> None:
    first, second = "one two three four five.", "six seven eight nine ten."
    assert split_side(f"{first} {second}", 8) == [first, second]


def test_a_code_block_is_kept_whole_where_it_fits() -> None:
    block = "```python\nfirst = 1\nsecond = 2\n```"
    before = "This sentence stands before the block."
    assert split_side(f"{before}\n{block}\nAnd this one after it.", 16) == [before, block, "And this one after it."]


def test_a_code_block_that_is_too_long_is_cut_between_lines() -> None:
    lines = [f"value_{number} = {number}" for number in range(30)]
    pieces = split_side("```\n" + "\n".join(lines) + "\n```", 30)
    kept = [line for piece in pieces for line in piece.splitlines()]
    assert [line for line in kept if line.startswith("value")] == lines


def test_a_word_of_emoji_families_keeps_to_the_window() -> None:
    pieces = split_side(FAMILY * 200)
    assert all(count_tokens(piece) <= WINDOW_TOKENS for piece in pieces)
    assert "".join(pieces) == FAMILY * 200


def test_a_quarter_mebibyte_without_a_space_is_split_in_seconds() -> None:
    started = time.perf_counter()
    pieces = split_side("x" * 262_144)
    assert "".join(pieces) == "x" * 262_144
    assert time.perf_counter() - started < 10


@given(st.text(max_size=80), st.integers(1, 40))
def test_truncating_keeps_the_limit_and_cuts_inside_no_grapheme(text: str, limit: int) -> None:
    cut = truncate(text, limit)
    if cut == text:
        return
    kept = cut.removesuffix(MARKER)
    whole = graphemes(text)
    assert kept == "".join(whole[: limit - 1])
    assert len(whole) > limit


def test_truncating_counts_a_family_as_one() -> None:
    assert truncate(FAMILY * 3, 3) == FAMILY * 3
    assert truncate(FAMILY * 4, 3) == FAMILY * 2 + MARKER


@given(st.text(max_size=80), st.integers(0, 40))
def test_a_text_cut_to_a_column_fits_it_in_whole_graphemes(text: str, characters: int) -> None:
    cut = within(text, characters)
    assert len(cut) <= characters or cut == text
    assert text.startswith(cut)
    assert graphemes(cut) == graphemes(text)[: len(graphemes(cut))]


def test_a_column_holds_as_many_whole_graphemes_as_fit() -> None:
    assert within(FLAG * 3, 5) == FLAG * 2
    assert within(FAMILY, 3) == ""


def test_content_is_named_by_speaker_role_and_words() -> None:
    name = content_hash("user", "Ana", "I like  tea\n")
    assert len(name) == 32
    assert name == content_hash("user", "ANA", " I like tea")
    assert name != content_hash("assistant", "Ana", "I like tea")
    assert name != content_hash("user", "Ben", "I like tea")
    assert name != content_hash("user", "Ana", "I like Tea")


@pytest.mark.parametrize("parts", [("user", "a\x1fb", "c"), ("user", "a", "b\x1fc")])
def test_names_of_content_are_32_bytes_whatever_stands_in_them(parts: tuple[str, str, str]) -> None:
    assert len(content_hash(*parts)) == 32
