import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine import signals
from memory.engine.adapter import Adapter, Floor, RecallHead
from memory.engine.attention import TRACED, recall, softmax
from memory.engine.hot import HotBank
from memory.engine.lexical import terms
from memory.engine.prior import prior
from memory.engine.types import Cue, RecallLimits, Recollection, State
from tests.memory.engine.toy_bank import cue, floats, hot_bank, item, loaded, turn_id

WIDE = RecallLimits(tokens=10_000, memories=100)


def head(**weights: float) -> RecallHead:
    values = np.array([weights.get(name, 0.0) for name in signals.NAMES], dtype=np.float32)
    return RecallHead(asking=values, telling=-values, unread=values, temperature=1.0)


def adapter(threshold: float = 0.0, highly: float = 0.9, **weights: float) -> Adapter:
    """By default only the absolute cosine counts, and nothing lies below the floor."""
    floor = Floor(threshold=threshold, highly=highly, coverage_share=0.5)
    return replace(prior(), recall=head(**(weights or {"similarity": 1.0})), floor=floor)


def toy_bank(*cosines: float) -> HotBank:
    """Memories 0, 1, ... with these cosines to the cue `ASKED`, and no words in common with it."""
    return hot_bank(
        [item(i, f"word{i}") for i in range(len(cosines))], [floats(x, math.sqrt(1 - x * x)) for x in cosines]
    )


ASKED = cue("elsewhere", floats(1, 0))


def read(
    hot: HotBank, asked: Cue, using: Adapter, limits: RecallLimits = WIDE, archive: list | None = None
) -> Recollection:  # type: ignore[type-arg]
    return recall(asked, hot.candidates(asked, terms(asked.text), archive or []), using, limits)


def numbers(recollection: Recollection) -> list[int]:
    return [row.item.place.position for row in recollection.rows]


def test_softmax_is_worked_by_hand() -> None:
    assert softmax(floats(0, math.log(3))) == pytest.approx([0.25, 0.75])
    assert softmax(floats(0, math.log(9)), temperature=2.0) == pytest.approx([0.25, 0.75])
    assert softmax(floats()).tolist() == []


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=50), st.floats(0.1, 10))
def test_softmax_sums_to_one_and_keeps_the_order(logits: list[float], temperature: float) -> None:
    weights = softmax(np.array(logits, dtype=np.float32), temperature)
    assert float(weights.sum()) == pytest.approx(1.0, abs=1e-4)
    ranked = weights[np.argsort(logits)]
    assert (np.diff(ranked) >= -1e-7).all()


def test_logits_contributions_and_weights_are_worked_by_hand() -> None:
    hot = toy_bank(0.0, 0.6, 0.8, 0.6, 0.0)
    found = read(hot, ASKED, adapter(similarity=2.0, recency=1.0))
    logits = {0: 0.0, 1: 1.2 + 0.25, 2: 1.6 + 0.5, 3: 1.2 + 0.75, 4: 1.0}
    mass = sum(math.exp(x) for x in logits.values())
    assert numbers(found) == [2, 3, 1, 4, 0]
    for row in found.rows:
        number = row.item.place.position
        assert row.logit == pytest.approx(logits[number], abs=1e-5)
        assert row.weight == pytest.approx(math.exp(logits[number]) / mass, abs=1e-5)
        assert sum(row.contributions.values()) == pytest.approx(row.logit, abs=1e-5)
        assert row.signals["similarity"] * 2 == pytest.approx(row.contributions.get("similarity", 0.0), abs=1e-5)
    assert set(found.rows[0].contributions) == {"similarity", "recency"}
    assert set(found.rows[-1].contributions) == set()
    assert found.adapter == "prior-2"


def test_cues_that_tell_are_weighed_by_weights_of_their_own() -> None:
    hot = toy_bank(0.1, 0.2, 0.3, 0.4, 0.5)
    assert numbers(read(hot, ASKED, adapter())) == [4, 3, 2, 1, 0]
    assert numbers(read(hot, replace(ASKED, asking=False), adapter())) == [0, 1, 2, 3, 4]


def test_below_the_floor_nothing_is_injected_and_their_number_is_told() -> None:
    hot = toy_bank(0.1, 0.2, 0.5, 0.7, 0.95)
    found = read(hot, ASKED, adapter(threshold=0.45))
    assert [row.item.place.position for row in found.injected] == [4, 3, 2]
    assert (found.candidates, found.below_floor, found.over_budget, found.floor) == (5, 2, 0, 0.45)
    assert [row.group for row in found.rows] == ["highly", "maybe", "maybe", "below", "below"]
    assert not found.bypassed


def test_the_floor_counts_words_beside_the_cosine() -> None:
    items = [item(0, "tea"), *(item(i, f"word{i}") for i in range(1, 6))]
    hot = hot_bank(items, [floats(0.3, 0.954)] * 6)
    found = read(hot, cue("tea", floats(1, 0)), adapter(threshold=0.45))
    assert [row.item.text for row in found.injected] == ["tea"]
    assert found.rows[0].fit == pytest.approx(0.3 + 0.5 * 1.0, abs=1e-4)


def test_a_cue_that_the_encoder_cannot_read_goes_by_its_words() -> None:
    items = [item(0, "私の妹は東京に住んでいます"), *(item(i, f"word{i}") for i in range(1, 6))]
    hot = hot_bank(items, [floats(0.0, 1.0), *[floats(0.99, 0.141)] * 5])
    found = read(hot, cue("東京", floats(1, 0)), replace(prior(), floor=Floor(0.42, 0.62, 0.5)))
    assert [row.item.place.position for row in found.injected] == [0]
    assert found.rows[0].item.place.position == 0
    assert found.rows[0].fit == pytest.approx(1.0)


def test_the_token_budget_is_filled_by_weight_and_a_long_one_stops_no_shorter() -> None:
    items = [item(i, f"word{i}", tokens=tokens) for i, tokens in enumerate([10, 40, 30, 5, 5])]
    hot = hot_bank(items, [floats(x, math.sqrt(1 - x * x)) for x in (0.9, 0.8, 0.7, 0.6, 0.5)])
    found = read(hot, ASKED, adapter(), RecallLimits(tokens=45))
    assert [row.item.place.position for row in found.injected] == [0, 2, 3]
    assert found.over_budget == 2


def test_at_most_so_many_memories_are_injected() -> None:
    found = read(toy_bank(0.5, 0.6, 0.7, 0.8, 0.9), ASKED, adapter(), RecallLimits(tokens=10_000, memories=2))
    assert [row.item.place.position for row in found.injected] == [4, 3]
    assert found.over_budget == 3


def test_a_bank_of_under_five_hands_on_all_it_has() -> None:
    found = read(toy_bank(0.0, 0.1, 0.2, 0.3), ASKED, adapter(threshold=0.9))
    assert found.bypassed
    assert len(found.injected) == 4
    assert found.below_floor == 0
    assert {row.group for row in found.rows} == {"below"}
    assert not read(toy_bank(0.0, 0.1, 0.2, 0.3, 0.4), ASKED, adapter(threshold=0.9)).injected


def test_the_bypass_does_not_open_the_archive() -> None:
    near, far = item(20, "near"), item(21, "far")
    archive = [loaded(near, floats(0.95, 0.312)), loaded(far, floats(0.1, 0.995))]
    found = read(toy_bank(0.0), ASKED, adapter(threshold=0.9), archive=archive)
    assert found.bypassed
    assert {row.item.place.position for row in found.injected} == {0, 20}
    assert found.below_floor == 1
    assert {row.item.place.position: row.state for row in found.rows} == {
        0: State.HELD, 20: State.ARCHIVED, 21: State.ARCHIVED,
    }  # fmt: skip


def test_turns_that_the_prompt_shows_anyway_are_not_injected() -> None:
    hot = toy_bank(0.5, 0.6, 0.7, 0.8, 0.9)
    found = read(hot, cue("elsewhere", floats(1, 0), exclude=[turn_id(4), turn_id(0)]), adapter(threshold=0.55))
    assert [row.item.place.position for row in found.injected] == [3, 2, 1]
    assert found.below_floor == 0  # the excluded ones are not counted there


def test_an_empty_bank_recalls_nothing() -> None:
    found = read(HotBank(2), ASKED, adapter())
    assert (found.rows, found.candidates, found.below_floor, found.bypassed) == ((), 0, 0, True)


def test_the_trace_keeps_the_best_and_whatever_is_injected() -> None:
    size = TRACED + 20
    # logits fall with the number, and only the very last one passes the floor
    items = [item(i, f"word{i}") for i in range(size)]
    vectors = [floats(0.9, 0.436) if i == size - 1 else floats(0, 1) for i in range(size)]
    using = adapter(threshold=0.5, recency=-1.0)
    found = read(hot_bank(items, vectors), ASKED, using)
    assert numbers(found) == [*range(TRACED), size - 1]
    assert [row.injected for row in found.rows] == [False] * TRACED + [True]
    assert found.candidates == size
    assert found.below_floor == size - 1


texts = st.lists(
    st.sampled_from(["anna", "lisbon", "tea", "bike", "red", "friday", "東京", "5pm"]), min_size=1, max_size=6
)


@given(st.lists(texts, min_size=0, max_size=12), texts, st.booleans(), st.integers(0, 40), st.integers(0, 6))
@settings(max_examples=60, deadline=None)
def test_every_recall_of_the_prior_keeps_its_promises(
    held: list[list[str]], asked: list[str], asking: bool, tokens: int, memories: int
) -> None:
    hot = hot_bank([item(i, " ".join(words)) for i, words in enumerate(held)])
    found = read(hot, cue(" ".join(asked), asking=asking), prior(), RecallLimits(tokens, memories))
    assert sum(row.item.tokens for row in found.injected) <= tokens
    assert len(found.injected) <= memories
    assert found.candidates == len(held)
    assert found.bypassed == (len(held) < 5)
    assert [row.logit for row in found.rows] == sorted((row.logit for row in found.rows), reverse=True)
    assert len(found.injected) + found.over_budget + found.below_floor == len(held)
    if held:
        assert sum(row.weight for row in found.rows) == pytest.approx(1.0, abs=1e-4)
    for row in found.rows:
        assert sum(row.contributions.values()) == pytest.approx(row.logit, abs=1e-4)
        assert not (row.injected and not found.bypassed and row.fit < found.floor)


@given(st.lists(st.floats(-1, 1, width=16), min_size=5, max_size=30), st.integers(0, 40), st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_the_best_are_taken_while_they_fit_and_a_long_one_stops_no_other(
    cosines: list[float], tokens: int, memories: int
) -> None:
    found = read(toy_bank(*cosines), ASKED, adapter(), RecallLimits(tokens, memories))
    expected, room = [], tokens
    for row in found.rows:
        if row.fit >= 0 and len(expected) < memories and row.item.tokens <= room:
            expected.append(row.item.id)
            room -= row.item.tokens
    assert [row.item.id for row in found.injected] == expected
    assert found.over_budget == sum(row.fit >= 0 for row in found.rows) - len(expected)


def test_a_cue_that_the_encoder_cannot_read_has_a_floor_of_its_own() -> None:
    """Its fit is the share of its words, which is lower than a cosine and half of it."""
    floor = Floor(threshold=0.9, highly=0.95, coverage_share=0.5, unread=0.3, unread_highly=0.6)
    words = ["北京 天气", "北京 上海", "足球 比赛", "音乐 电影", "水果 蔬菜"]
    bank = hot_bank([item(i, text) for i, text in enumerate(words)], [floats(1.0, 0.0)] * 5)
    unread = replace(ASKED, text="北京 天气 上海")
    found = read(bank, unread, replace(adapter(), floor=floor))
    assert (found.floor, found.highly) == (0.3, 0.6)
    assert {row.item.text for row in found.injected} == {"北京 天气", "北京 上海"}
    asked = read(bank, replace(ASKED, text="weather?"), replace(adapter(), floor=floor))
    assert (asked.floor, asked.highly) == (0.9, 0.95)
