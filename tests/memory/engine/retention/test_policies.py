"""What every retention policy promises, and what each adds."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.retention import POLICIES, Eviction, RetentionPolicy, choose_evictions, policy_named
from memory.engine.types import BankError, Budget, MemoryItem
from tests.memory.engine.toy_bank import NOON, item, memory_id

COMPOSED = [
    "chains+importance", "floor+importance", "floor(recent=2,opening=0)+lru", "chains+floor(recent=6)+decay",
    "latest(share=0.5,fade=0.01)", "chains+floor+latest", "chains+floor+merge+importance",
]  # fmt: skip
NAMES = [*POLICIES, *COMPOSED]
every_policy = pytest.mark.parametrize("policy", [policy_named(name) for name in NAMES], ids=NAMES)


@st.composite
def banks(draw: Any) -> tuple[list[MemoryItem], Budget]:
    """Memories of any size and worth, in any order, some pinned, and a budget that the pinned ones fit."""
    made = draw(
        st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1, width=32), st.booleans()), min_size=0, max_size=25)
    )
    items = [
        item(i, tokens=tokens, importance=importance, pinned=pinned and i % 3 == 0)
        for i, (tokens, importance, pinned) in enumerate(made)
    ]
    pinned_tokens = sum(one.tokens for one in items if one.pinned)
    pinned = sum(one.pinned for one in items)
    budget = Budget(pinned + draw(st.integers(0, 25)), pinned_tokens + draw(st.integers(0, 400)))
    return draw(st.permutations(items)), budget


def stay(items: Sequence[MemoryItem], gone: Sequence[Eviction]) -> list[MemoryItem]:
    left = {eviction.memory for eviction in gone}
    return [one for one in items if one.id not in left]


def by_rank(items: Sequence[MemoryItem], policy: RetentionPolicy) -> list[MemoryItem]:
    ranks, spared = policy.rank(items, NOON), policy.spared(items, NOON)
    return [items[int(i)] for i in np.lexsort(([one.written for one in items], ranks, spared))]


@every_policy
@given(case=banks())
@settings(max_examples=60, deadline=None)
def test_both_budgets_hold_and_pinned_memories_stay(
    policy: RetentionPolicy, case: tuple[list[MemoryItem], Budget]
) -> None:
    items, budget = case
    gone = choose_evictions(items, budget, policy, NOON)
    kept = stay(items, gone)
    assert len(kept) <= budget.memories
    assert sum(one.tokens for one in kept) <= budget.tokens
    assert {one.id for one in items if one.pinned} <= {one.id for one in kept}
    assert len({eviction.memory for eviction in gone}) == len(gone)


@every_policy
def test_what_was_recalled_moves_ranks_under_the_policies_that_say_so_and_under_no_other(
    policy: RetentionPolicy,
) -> None:
    """The policy lab has only the banks of those recall."""
    before = [item(i, importance=0.1 + i / 20) for i in range(8)]
    now = NOON + timedelta(days=3)
    after = [replace(one, recalls=i % 3, last_recalled=now - timedelta(hours=i), strength=1 + i / 4)
             for i, one in enumerate(before)]  # fmt: skip
    moved = not np.array_equal(policy.rank(before, now), policy.rank(after, now))
    assert moved == policy.by_use


@every_policy
@given(case=banks())
@settings(max_examples=60, deadline=None)
def test_no_more_leave_than_must(policy: RetentionPolicy, case: tuple[list[MemoryItem], Budget]) -> None:
    """With the last one that left back in, the bank would be over its budget."""
    items, budget = case
    gone = choose_evictions(items, budget, policy, NOON)
    if not gone:
        return
    kept = stay(items, gone[:-1])
    assert len(kept) > budget.memories or sum(one.tokens for one in kept) > budget.tokens


@every_policy
@given(case=banks(), shuffled=st.randoms())
@settings(max_examples=60, deadline=None)
def test_the_same_memories_in_any_order_lose_the_same(
    policy: RetentionPolicy, case: tuple[list[MemoryItem], Budget], shuffled: Any
) -> None:
    items, budget = case
    again = list(items)
    shuffled.shuffle(again)
    assert choose_evictions(items, budget, policy, NOON) == choose_evictions(again, budget, policy, NOON)


@every_policy
@given(case=banks())
@settings(max_examples=60, deadline=None)
def test_of_too_many_memories_the_lowest_ranked_leave(
    policy: RetentionPolicy, case: tuple[list[MemoryItem], Budget]
) -> None:
    items, budget = case
    gone = choose_evictions(items, Budget(budget.memories, 10**9), policy, NOON)
    free = [one.id for one in by_rank(items, policy) if not one.pinned] if items else []
    assert [eviction.memory for eviction in gone] == free[: len(gone)]
    assert {eviction.over for eviction in gone} <= {"memories"}


@every_policy
def test_what_fits_is_left_alone(policy: RetentionPolicy) -> None:
    items = [item(i, tokens=10) for i in range(3)]
    assert choose_evictions(items, Budget(3, 30), policy, NOON) == []
    assert choose_evictions([], Budget(0, 0), policy, NOON) == []


@every_policy
def test_an_eviction_tells_its_score_and_what_was_kept_instead(policy: RetentionPolicy) -> None:
    items = [item(0, importance=0.1), item(1, importance=0.2), item(2, importance=0.3)]
    gone = choose_evictions(items, Budget(2, 1000), policy, NOON)
    first, second, _ = by_rank(items, policy)
    score = float(policy.rank(items, NOON)[items.index(first)])
    assert gone == [Eviction(first.id, score, "memories", second.id)]


@every_policy
def test_when_all_must_leave_nothing_was_kept_instead(policy: RetentionPolicy) -> None:
    assert [gone.instead for gone in choose_evictions([item(0), item(1)], Budget(0, 0), policy, NOON)] == [None, None]


@every_policy
@pytest.mark.parametrize("budget", [Budget(1, 1000), Budget(10, 15)])
def test_pinned_memories_that_fill_the_bank_are_refused_with_the_cure(policy: RetentionPolicy, budget: Budget) -> None:
    items = [item(0, tokens=10, pinned=True), item(1, tokens=10, pinned=True), item(2, tokens=10)]
    with pytest.raises(BankError, match="Unpin some"):
        choose_evictions(items, budget, policy, NOON)


@every_policy
def test_a_policy_is_found_by_its_name(policy: RetentionPolicy) -> None:
    assert policy_named(policy.name) is policy
    assert POLICIES.get(policy.name, policy) is policy


def test_fifo_lets_the_oldest_go_first_whatever_their_worth_and_length() -> None:
    items = [item(i, importance=1 - i / 10, tokens=5 + 10 * i) for i in range(5)]
    gone = choose_evictions(items[::-1], Budget(3, 10**6), POLICIES["fifo"], NOON)
    assert [eviction.memory for eviction in gone] == [memory_id(0), memory_id(1)]
    over_tokens = choose_evictions(items[::-1], Budget(5, 100), POLICIES["fifo"], NOON)
    assert [(eviction.memory, eviction.over) for eviction in over_tokens] == [
        (memory_id(0), "tokens"), (memory_id(1), "tokens"), (memory_id(2), "tokens"),
    ]  # fmt: skip


def test_fifo_tells_neighbours_apart_after_many_million_events() -> None:
    items = [item(i, written=2**24 + i) for i in range(4)]
    gone = choose_evictions(items[::-1], Budget(1, 10**6), POLICIES["fifo"], NOON)
    assert [eviction.memory for eviction in gone] == [memory_id(0), memory_id(1), memory_id(2)]


def test_importance_lets_the_older_of_equals_go() -> None:
    items = [item(2, importance=0.5), item(1, importance=0.5), item(0, importance=0.6)]
    gone = choose_evictions(items, Budget(1, 10**6), POLICIES["importance"], NOON)
    assert [eviction.memory for eviction in gone] == [memory_id(1), memory_id(2)]


def test_importance_counts_worth_by_the_root_of_the_length_when_tokens_run_out() -> None:
    # .6 / sqrt(100) < .3 / sqrt(9): the long one leaves though it is worth more
    items = [item(0, tokens=100, importance=0.6), item(1, tokens=9, importance=0.3), item(2, tokens=9, importance=0.3)]
    gone = choose_evictions(items, Budget(10, 110), POLICIES["importance"], NOON)
    assert [(eviction.memory, eviction.over) for eviction in gone] == [(memory_id(0), "tokens")]
