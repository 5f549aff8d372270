"""What each policy adds to the promises that all of them share."""

from collections.abc import Sequence
from datetime import timedelta
from math import exp
from typing import Any

import numpy as np
import pytest

from memory.engine.bank import Kind
from memory.engine.features import Context
from memory.engine.prior import prior
from memory.engine.remember import Planner
from memory.engine.retention import choose_evictions, policy_named
from memory.engine.types import Budget, MemoryItem, Side
from tests.memory.engine.toy_bank import NOON, hot_bank, item, memory_id, new_side, turn_id

LATER = NOON + timedelta(days=40)
ROOM = 10**6


def leaving(policy: str, items: Sequence[MemoryItem], memories: int, tokens: int = ROOM) -> list[int]:
    gone = choose_evictions(items, Budget(memories, tokens), policy_named(policy), LATER)
    return [eviction.memory.int - memory_id(0).int for eviction in gone]


def pair(number: int, observation: float, action: float, **fields: Any) -> list[MemoryItem]:
    """A turn of two sides, worth so much each: memories 2n and 2n + 1."""
    of_turn = {"turn": turn_id(number), **fields}
    return [
        item(2 * number, importance=observation, **of_turn),
        item(2 * number + 1, importance=action, side=Side.ACTION, **of_turn),
    ]


# --- random ---------------------------------------------------------------------------------------------------------


def test_random_loses_the_same_at_each_replay_and_others_under_another_seed() -> None:
    items = [item(i) for i in range(40)]
    once = leaving("random", items, 20)
    assert leaving("random", items[::-1], 20) == once
    assert leaving("random(seed=1)", items, 20) != once


def test_random_knows_neither_age_nor_worth() -> None:
    items = [item(i, importance=i / 400) for i in range(400)]
    kept = set(range(400)) - set(leaving("random", items, 200))
    assert 80 < len(kept & set(range(200))) < 120


# --- lru, lfu, longest ----------------------------------------------------------------------------------------------


def test_lru_lets_go_what_was_neither_recalled_nor_written_for_longest() -> None:
    recalled = NOON + timedelta(days=30)
    items = [
        item(0, written_at=NOON, last_recalled=recalled),
        item(1, written_at=NOON + timedelta(days=10)),
        item(2, written_at=NOON + timedelta(days=20)),
    ]
    assert leaving("lru", items, 0) == [1, 2, 0]


def test_lru_tells_seconds_apart_today() -> None:
    now = LATER.timestamp()
    items = [item(i, written=9 - i, written_at=LATER - timedelta(seconds=60 - i)) for i in range(3)]
    assert leaving("lru", items, 0) == [0, 1, 2]
    assert now == LATER.timestamp()


def test_lfu_lets_go_what_was_recalled_least_the_older_first_among_equals() -> None:
    items = [item(0, recalls=2), item(1, recalls=1), item(2, recalls=1), item(3, recalls=0)]
    assert leaving("lfu", items[::-1], 0) == [3, 1, 2, 0]


def test_longest_lets_the_shortest_go() -> None:
    assert leaving("longest", [item(0, tokens=9), item(1, tokens=3), item(2, tokens=5)], 1) == [1, 2]


# --- threshold ------------------------------------------------------------------------------------------------------


def test_threshold_turns_away_at_the_door_what_is_worth_too_little_though_there_is_room() -> None:
    planner = Planner(hot_bank([]), prior(), policy_named("threshold(below=0.2)"), NOON)
    for number, text in enumerate(["ok thanks", "My passport number is X1234567 and Anna lives in Lisbon"]):
        planner.take(new_side(number, text), Context(False, False, 0.0), {})
    gone = planner.evict()
    events = [event for event in planner.plan.events if event.kind is Kind.EVICTED]
    assert [(event.memory, event.data["reason"], event.data["over"]) for event in events] == [
        (memory_id(0), "threshold", "")
    ]
    assert events[0].data["score"] < 0.2
    assert [one.id for one in gone.values()] == [memory_id(0)]


def test_threshold_leaves_alone_what_is_in_the_bank() -> None:
    planner = Planner(hot_bank([item(0, importance=0.01)]), prior(), policy_named("threshold(below=0.2)"), NOON)
    planner.take(new_side(1, "My passport number is X1234567 and Anna lives in Lisbon"), Context(False, False, 0.0), {})
    assert planner.evict() == {}


# --- decay ----------------------------------------------------------------------------------------------------------


def test_decay_ranks_by_the_published_probability() -> None:
    items = [item(0, importance=0.8, written_at=LATER - timedelta(days=2), strength=1.5)]
    p = (1 - exp(-0.8 * exp(-2 / 1.5))) / (1 - exp(-1))
    assert np.exp(policy_named("decay").rank(items, LATER)[0]) == pytest.approx(p, rel=1e-5)


def test_what_is_worth_all_and_was_just_recalled_is_certain() -> None:
    items = [item(0, importance=1.0, last_recalled=LATER)]
    assert policy_named("decay").rank(items, LATER)[0] == pytest.approx(0.0, abs=1e-6)


def test_a_memory_that_recalls_have_fixed_outlives_a_fresher_one() -> None:
    items = [
        item(0, written_at=LATER - timedelta(days=6), strength=3.0), item(1, written_at=LATER - timedelta(days=4)),
    ]  # fmt: skip
    assert leaving("decay", items, 1) == [1]
    assert leaving("lru", items, 1) == [0]


def test_decay_still_orders_what_faded_long_ago() -> None:
    years = [item(i, written=9 - i, written_at=LATER - timedelta(days=3000 - 300 * i)) for i in range(3)]
    assert leaving("decay", years, 0) == [0, 1, 2]


def test_a_longer_unit_makes_worth_count_for_more_than_age() -> None:
    items = [
        item(0, importance=0.9, written_at=LATER - timedelta(days=9)), item(1, importance=0.3, written_at=LATER),
    ]  # fmt: skip
    assert leaving("decay", items, 1) == [0]
    assert leaving("decay(days=100)", items, 1) == [1]


# --- latest ---------------------------------------------------------------------------------------------------------


def test_of_an_identifier_shown_three_times_only_the_newest_showing_counts() -> None:
    texts = ["booking AB12CD", "booking AB12CD for ana@example.org", "all is well", "AB12CD is paid, invoice 2026-77"]
    items = [item(i, text) for i, text in enumerate(texts)]  # worth .5 each: the logit is 0
    ranks = policy_named("latest").rank(items, LATER)
    assert ranks == pytest.approx([0.0, np.log(2), 0.0, np.log(3)], rel=1e-6)
    assert leaving("latest", items, 1) == [0, 2, 1]


def test_what_was_written_last_is_the_newest_in_whatever_order_the_memories_come() -> None:
    items = [item(i, "booking AB12CD") for i in range(3)]
    assert policy_named("latest").rank(items[::-1], LATER) == pytest.approx([np.log(2), 0.0, 0.0])
    assert leaving("latest", items[::-1], 1) == [0, 1]


def test_when_the_newest_showing_left_the_one_before_it_counts_again() -> None:
    items = [item(i, "booking AB12CD") for i in range(3)]
    assert policy_named("latest").rank(items[:2], LATER) == pytest.approx([0.0, np.log(2)])


def test_a_share_of_the_importance_is_added_and_a_fade_for_what_came_since_taken_away() -> None:
    items = [item(0, "AB12CD", importance=0.9), item(1, "nothing", importance=0.1), item(2, "CD34EF", importance=0.5)]
    logit = np.log(9)
    spelled = "latest(share=0.5,fade=0.25)"
    expected = [np.log(2) + 0.5 * logit - 0.5, -0.5 * logit - 0.25, np.log(2)]
    assert policy_named(spelled).rank(items, LATER) == pytest.approx(expected, rel=1e-6)
    assert policy_named("latest(share=0)").rank(items, LATER) == pytest.approx([np.log(2), 0, np.log(2)], rel=1e-6)
    assert policy_named("latest").rank(items, LATER)[0] == pytest.approx(np.log(2) + 0.15 * logit, rel=1e-6)


def test_latest_has_finite_ranks_for_memories_worth_nothing_or_all() -> None:
    items = [item(0, importance=0.0), item(1, importance=1.0)]
    low, high = policy_named("latest").rank(items, LATER)
    assert -10 < low < 0 < high < 10


# --- chains ---------------------------------------------------------------------------------------------------------


def test_the_sides_of_a_turn_leave_together_ranked_by_the_better() -> None:
    items = [*pair(0, 0.1, 0.9), *pair(1, 0.5, 0.5), *pair(2, 0.6, 0.2)]
    assert leaving("importance", items, 4) == [0, 5]
    assert leaving("chains+importance", items, 4) == [2, 3]
    assert leaving("chains+importance", items, 3) == [2, 3, 4, 5]  # half a turn is no turn


def test_a_pinned_side_keeps_the_other_until_nothing_else_can_leave() -> None:
    items = [*pair(0, 0.1, 0.1), *pair(1, 0.9, 0.9)]
    items[0] = item(0, importance=0.1, turn=turn_id(0), pinned=True)
    assert leaving("chains+importance", items, 2) == [2, 3]
    assert leaving("chains+importance", items, 1) == [2, 3, 1]


def test_under_a_token_budget_a_turn_is_weighed_by_its_whole_length() -> None:
    items = [*pair(0, 0.6, 0.6, tokens=50), *pair(1, 0.5, 0.1, tokens=5)]
    assert leaving("chains+importance", items, 4, tokens=60) == [0, 1]


def test_chains_turn_a_turn_away_only_as_a_whole() -> None:
    items = [*pair(0, 0.1, 0.9), *pair(1, 0.1, 0.1)]
    assert policy_named("chains+threshold(below=0.2)").refused(items).tolist() == [False, False, True, True]


# --- floor ----------------------------------------------------------------------------------------------------------


def test_the_last_sides_and_the_opening_of_a_session_leave_last() -> None:
    items = [item(i, importance=i / 10) for i in range(6)]
    worth_little = [item(i, importance=1 - i / 10) for i in range(6)]
    assert leaving("floor(recent=2)+importance", items, 3) == [1, 2, 3]
    assert leaving("floor(recent=2)+importance", worth_little, 3) == [3, 2, 1]
    assert leaving("floor(recent=2)+importance", worth_little, 1) == [3, 2, 1, 5, 4]


def test_a_long_side_in_pieces_counts_once_among_the_last() -> None:
    pieces = [item(3 + i, turn=turn_id(3), place=item(3).place, piece=i) for i in range(3)]
    items = [*[item(i) for i in range(3)], *pieces]
    spared = policy_named("floor(recent=2,opening=0)+fifo").spared(items, NOON)
    assert spared.tolist() == [False, False, True, True, True, True]


def test_a_turn_with_one_side_on_the_floor_stays_whole_in_whatever_order_it_is_spelled() -> None:
    items = [*pair(0, 0.9, 0.9), *pair(1, 0.8, 0.8), *pair(2, 0.1, 0.1)]
    for spelled in ("chains+floor(recent=1,opening=0)+importance", "floor(recent=1,opening=0)+chains+importance"):
        assert leaving(spelled, items, 4) == [2, 3]
