import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine import signals
from memory.engine.signals import Candidates, compute, reads_like_english
from memory.engine.types import MemoryItem, Role
from tests.memory.engine.toy_bank import cue, item


def candidates(items: list[MemoryItem], **arrays: list[float]) -> Candidates:
    """Candidates whose raw scores are given, zero where they are not."""
    size = len(items)

    def column(name: str) -> np.ndarray:
        return np.array(arrays.get(name, [0.0] * size), dtype=np.float32)

    def links(name: str) -> np.ndarray:
        return np.array(arrays.get(name, [-1] * size), dtype=np.int64)

    return Candidates(
        items, column("cosine"), column("lexical"), column("coverage"), links("previous"), links("next"),
        np.zeros(size, dtype=bool),
    )  # fmt: skip


def column(name: str, values: np.ndarray) -> list[float]:
    return values[:, signals.NAMES.index(name)].tolist()


def test_cosine_and_bm25_are_z_scored_within_the_candidates() -> None:
    found = compute(
        cue("where?"), candidates([item(i) for i in range(4)], cosine=[0.1, 0.3, 0.5, 0.7], lexical=[0, 0, 0, 4])
    )
    deviation = float(np.std([0.1, 0.3, 0.5, 0.7]))
    assert column("cosine", found.values) == pytest.approx([(x - 0.4) / deviation for x in (0.1, 0.3, 0.5, 0.7)])
    assert column("lexical", found.values) == pytest.approx([(x - 1) / 3**0.5 for x in (0, 0, 0, 4)])
    assert found.normalisation["cosine"] == pytest.approx((0.4, deviation))
    assert found.normalisation["lexical"] == pytest.approx((1.0, 3**0.5))
    assert set(found.normalisation) == set(signals.NORMALISED)


def test_scores_that_are_all_alike_say_nothing() -> None:
    found = compute(cue("where?"), candidates([item(0), item(1)], cosine=[0.5, 0.5]))
    assert column("cosine", found.values) == [0.0, 0.0]
    assert found.normalisation["cosine"] == (0.5, 0.0)


def test_the_absolute_scores_stay_beside_the_normalised() -> None:
    found = compute(cue("where?"), candidates([item(0), item(1)], cosine=[0.2, 0.6], coverage=[0.0, 0.9]))
    assert column("similarity", found.values) == pytest.approx([0.2, 0.6])
    assert column("coverage", found.values) == pytest.approx([0.0, 0.9])


def test_a_neighbours_score_is_the_neighbours_own() -> None:
    found = compute(
        cue("where?"),
        candidates(
            [item(0), item(1), item(2)], cosine=[0.1, 0.2, 0.6], lexical=[3, 0, 0], previous=[-1, 0, 1], next=[1, 2, -1]
        ),
    )
    own, words = column("cosine", found.values), column("lexical", found.values)
    assert column("cosine_previous", found.values) == pytest.approx([0.0, own[0], own[1]])
    assert column("cosine_next", found.values) == pytest.approx([own[1], own[2], 0.0])
    assert column("lexical_previous", found.values) == pytest.approx([0.0, words[0], words[1]])
    assert column("lexical_next", found.values) == pytest.approx([words[1], words[2], 0.0])


def test_flags_follow_the_memory_and_the_cue() -> None:
    items = [
        item(0, "Where is it?", speaker="Ben Ito"),
        item(1, "It is here.", role=Role.ASSISTANT, speaker="Scribe"),
        item(2, "今日は？", pinned=True, speaker=""),
    ]
    found = compute(cue("What did ben say?"), candidates(items)).values
    assert column("speaker_named", found) == [1.0, 0.0, 0.0]
    assert column("is_question", found) == [1.0, 0.0, 1.0]
    assert column("assistant_said", found) == [0.0, 1.0, 0.0]
    assert column("pinned", found) == [0.0, 0.0, 1.0]


def test_recency_is_the_order_in_time() -> None:
    items = [item(7), item(1), item(3), item(4, at=item(3).at)]
    assert column("recency", compute(cue("where?"), candidates(items)).values) == [1.0, 0.0, 0.5, 0.5]
    assert column("recency", compute(cue("where?"), candidates([item(3)])).values) == [0.0]


def test_no_candidates_have_no_signals() -> None:
    found = compute(cue("where?"), candidates([]))
    assert found.values.shape == (0, len(signals.NAMES))
    assert found.normalisation == dict.fromkeys(signals.NORMALISED, (0.0, 0.0))


def test_what_was_said_in_a_time_that_the_cue_speaks_of_agrees_with_it() -> None:
    days = [datetime(2025, month, day, tzinfo=UTC) for month, day in ((5, 31), (6, 1), (6, 30), (7, 1), (7, 15))]
    items = [item(number, at=at) for number, at in enumerate(days)]
    found = column("date_agreement", compute(cue("What happened in June 2025?"), candidates(items)).values)
    assert found == pytest.approx([0.0, 1.0, 1.0, 1.0, math.exp(-14 / 7)])  # told two weeks after the month's end
    assert column("date_agreement", compute(cue("What happened?"), candidates(items)).values) == [0.0] * 5


def test_cues_that_ask_when_or_how_many_look_for_dates_and_numbers() -> None:
    items = [item(0, "We met on Friday", speaker="Ben"), item(1, "I have 3 cats"), item(2, "Nothing of the kind")]
    when = compute(cue("When did Ben go?"), candidates(items)).values
    assert column("when_dated", when) == [1.0, 0.0, 0.0]
    assert column("when_speaker", when) == [1.0, 0.0, 0.0]
    assert column("count_numbers", when) == [0.0, 0.0, 0.0]
    many = compute(cue("How many cats?"), candidates(items)).values
    assert column("count_numbers", many) == [0.0, 1.0, 0.0]
    assert column("when_dated", many) == [0.0, 0.0, 0.0]
    assert column("numbers", many) == [0.0, 1.0, 0.0]
    assert column("dated", many) == [1.0, 0.0, 0.0]


def test_age_is_the_logarithm_of_days_in_deviations() -> None:
    asked = cue("where?")
    items = [item(0, at=asked.at - timedelta(days=7)), item(1, at=asked.at), item(2, at=asked.at + timedelta(days=1))]
    raw = [math.log(8), 0.0, 0.0]
    mean, deviation = float(np.mean(raw)), float(np.std(raw))
    expected = [(x - mean) / deviation for x in raw]
    assert column("age", compute(asked, candidates(items)).values) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("text", ["Where does Anna live?", "Où habite Anna ?", "123 !", "Anna lives in 東京"])
def test_texts_that_the_encoder_reads(text: str) -> None:
    assert reads_like_english(text)


@pytest.mark.parametrize("text", ["私の妹はどこ", "где живёт Anna", "أين تسكن أختي", "दिल्ली", "서울", "กรุงเทพ"])
def test_texts_that_the_encoder_cannot_read(text: str) -> None:
    assert not reads_like_english(text)


def test_with_a_vector_adapter_the_cosines_are_those_of_its_space_but_not_the_similarity() -> None:
    raw = candidates([item(0), item(1)], cosine=[0.2, 0.6], next=[1, -1])
    found = compute(cue("where?"), replace(raw, adapted=np.array([0.9, 0.1], dtype=np.float32)))
    assert column("cosine", found.values) == pytest.approx([1.0, -1.0])
    assert column("cosine_next", found.values) == pytest.approx([-1.0, 0.0])
    assert column("similarity", found.values) == pytest.approx([0.2, 0.6])
    assert found.normalisation["cosine"] == pytest.approx((0.5, 0.4))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), max_size=40))
def test_recency_and_the_named_speaker_are_what_their_plain_definitions_say(told: list[tuple[int, int]]) -> None:
    """Few speakers and many, instants alike and apart."""
    start = datetime(2026, 5, 1, tzinfo=UTC)
    items = [
        replace(item(i), at=start + timedelta(days=day), speaker=f"Speaker{who}") for i, (day, who) in enumerate(told)
    ]
    found = compute(cue("What did Speaker3 and Speaker11 say?"), candidates(items)).values
    ranks = [sorted({one.at for one in items}).index(one.at) for one in items]
    assert column("recency", found) == pytest.approx([rank / max(1, *ranks) for rank in ranks])
    assert column("speaker_named", found) == [float(one.speaker in ("Speaker3", "Speaker11")) for one in items]
