import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.lexical import K1, B, LexicalIndex, stem, terms

WORDS = st.lists(st.sampled_from(["anna", "lisbon", "tea", "bike", "red"]), max_size=8)


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("Meine Schwester wohnt in Zürich", "zürich"),  # Latin
        ("Моя сестра живёт в Москве", "СЕСТРА"),  # Cyrillic
        ("أختي تسكن في القاهرة", "القاهرة"),  # Arabic
        ("मेरी बहन दिल्ली में रहती है", "दिल्ली"),  # Devanagari
        ("私の妹は東京に住んでいます", "東京"),  # Han and kana
        ("내 여동생은 서울에 산다", "서울"),  # Hangul
        ("น้องสาวของฉันอยู่ที่กรุงเทพ", "กรุงเทพ"),  # Thai
        ("η αδελφή μου μένει στην Αθήνα", "Αθήνα"),  # Greek
    ],
)
def test_a_keyword_finds_its_text_in_every_script(text: str, cue: str) -> None:
    wanted = set(terms(cue))
    assert wanted
    assert wanted <= set(terms(text))


def test_words_are_stemmed_and_stop_words_left_out() -> None:
    assert terms("She was running to the meetings") == ["run", "meet"]
    assert stem("meetings") == "meet"


def test_a_text_of_stop_words_keeps_them() -> None:
    assert terms("to be or not to be") == ["to", "be", "or", "not", "to", "be"]


def test_width_case_and_invisible_signs_do_not_matter() -> None:
    assert terms("ＴＯＫＹＯ") == terms("to\u00adk\u200byo") == ["tokyo"]


def test_identifiers_are_kept_whole_and_in_parts() -> None:
    assert terms("bug AB-1234") == ["bug", "ab-1234", "ab", "1234"]
    assert "anna@example.org" in terms("mail anna@example.org")
    assert "exampl" in terms("mail anna@example.org")


def test_contractions_are_no_identifiers() -> None:
    assert terms("Anna's bike isn’t red") == ["anna", "bike", "isn", "red"]


def test_scripts_that_touch_are_told_apart() -> None:
    assert terms("iPhoneを買った") == ["iphon", "を買", "買っ", "った"]
    assert terms("5月3日") == ["5", "月", "3", "日"]
    assert set(terms("東京tower")) == {"東京", "tower"}


def test_emoji_are_words() -> None:
    assert terms("🎂 on Friday 🎂") == ["🎂", "friday", "🎂"]


@given(st.text(max_size=100))
def test_any_text_has_terms_or_none_but_never_an_empty_one(text: str) -> None:
    assert all(terms(text))


def test_bm25_is_the_sum_worked_by_hand() -> None:
    index = LexicalIndex()
    index.add(0, ["anna", "lisbon"])
    index.add(1, ["anna", "anna", "tea", "tea"])
    index.add(2, ["bike", "red", "bike"])
    # N = 3, mean length = 3; "anna" in 2 of 3, "lisbon" in 1 of 3
    anna, lisbon = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    assert index.idf("anna") == pytest.approx(anna)
    assert index.idf("lisbon") == pytest.approx(lisbon)
    assert index.idf("unheard") == pytest.approx(math.log(1 + 3.5 / 0.5))
    short = K1 * (1 - B + B * 2 / 3)
    long = K1 * (1 - B + B * 4 / 3)
    expected = [
        (anna + lisbon) * (K1 + 1) / (1 + short),
        anna * 2 * (K1 + 1) / (2 + long),
        0.0,
    ]
    assert index.scores(["anna", "lisbon", "anna"], 3) == pytest.approx(expected, rel=1e-6)


def test_coverage_is_the_share_of_the_cues_idf_mass() -> None:
    index = LexicalIndex()
    index.add(0, ["anna", "lisbon"])
    index.add(1, ["anna"])
    anna, lisbon, unheard = index.idf("anna"), index.idf("lisbon"), index.idf("unheard")
    whole = anna + lisbon + unheard
    expected = [(anna + lisbon) / whole, anna / whole]
    assert index.coverage(["anna", "lisbon", "unheard"], 2) == pytest.approx(expected, rel=1e-6)
    assert index.coverage([], 2).tolist() == [0.0, 0.0]


def test_an_empty_index_scores_nothing() -> None:
    index = LexicalIndex()
    assert index.scores(["anna"], 2).tolist() == [0.0, 0.0]
    assert index.coverage(["anna"], 2).tolist() == [0.0, 0.0]
    assert index.score_outside(["anna"], ["anna"])[1] == pytest.approx(1.0)


def test_a_text_outside_scores_as_if_it_stood_inside() -> None:
    index = LexicalIndex()
    for slot, words in enumerate([["anna", "lisbon"], ["tea"], ["anna", "bike", "red"]]):
        index.add(slot, words)
    cue = ["anna", "red", "unheard"]
    score, coverage = index.score_outside(cue, ["anna", "bike", "red"])
    assert score == pytest.approx(float(index.scores(cue, 3)[2]), rel=1e-6)
    assert coverage == pytest.approx(float(index.coverage(cue, 3)[2]), rel=1e-6)


@given(st.lists(WORDS, min_size=1, max_size=6), WORDS, st.lists(st.sampled_from(["anna", "tea", "red"]), min_size=1))
@settings(deadline=None)
def test_what_is_added_and_discarded_leaves_the_index_as_it_was(
    held: list[list[str]], extra: list[str], cue: list[str]
) -> None:
    index = LexicalIndex()
    for slot, words in enumerate(held):
        index.add(slot, words)
    before = (len(index), index.scores(cue, len(held)), index.coverage(cue, len(held)))
    index.add(len(held), extra)
    index.discard(len(held), extra)
    assert len(index) == before[0]
    np.testing.assert_array_equal(index.scores(cue, len(held)), before[1])
    np.testing.assert_array_equal(index.coverage(cue, len(held)), before[2])
    left, fresh = dict(vars(index)), dict(vars(_fresh(held)))
    np.testing.assert_array_equal(left.pop("_lengths"), fresh.pop("_lengths"))
    assert left == fresh


def _fresh(held: list[list[str]]) -> LexicalIndex:
    index = LexicalIndex()
    for slot, words in enumerate(held):
        index.add(slot, words)
    return index
