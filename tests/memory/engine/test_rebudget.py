"""A change of policy, budget or adapter, planned: what the dry run says is what the ledger does."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.bank import BankEvent, BankState, Kind, apply
from memory.engine.rebudget import plan_change
from memory.engine.retention import policy_named
from memory.engine.types import BankError, Budget, MemoryItem, Place, Role, Side, State

NOW = datetime(2026, 3, 1, tzinfo=UTC)
POLICIES = [
    "importance", "fifo", "lru", "lfu", "longest", "random(seed=7)", "decay(days=2)", "threshold(below=0.2)",
    "chains+importance", "floor(recent=2)+fifo", "chains+floor(recent=6)+importance", "merge+importance",
]  # fmt: skip

UNIT = st.floats(0.01, 0.99)
RAW = st.lists(
    st.tuples(st.integers(1, 60), UNIT, st.booleans(), st.integers(0, 3), st.none() | UNIT), min_size=1, max_size=30
)


def items_of(raw: list[tuple[int, float, bool, int, float | None]]) -> tuple[list[MemoryItem], dict[UUID, float]]:
    """Memories, two to a turn, a tenth of them pinned at most; and the new scores of some."""
    conversation, items, scores = UUID(int=1), [], {}
    for number, (tokens, importance, pinned, recalls, score) in enumerate(raw):
        memory = UUID(int=1000 + number)
        items.append(
            MemoryItem(
                id=memory, text=f"memory {number}", role=Role.USER, speaker="Ana", at=NOW - timedelta(days=30 - number),
                tokens=tokens, importance=importance, turn=UUID(int=2000 + number // 2),
                side=Side.OBSERVATION if number % 2 == 0 else Side.ACTION, place=Place(conversation, 0, number),
                pinned=pinned and number % 10 == 0, written=number + 2, written_at=NOW - timedelta(days=30 - number),
                recalls=recalls, last_recalled=NOW - timedelta(days=recalls) if recalls else None,
            )
        )  # fmt: skip
        if score is not None:
            scores[memory] = score
    return items, scores


def state_of(items: list[MemoryItem]) -> BankState:
    """The fold of a ledger that wrote them."""
    state = apply(BankState(), BankEvent(1, Kind.CONFIGURED, NOW, None, {"memories": 99, "tokens": 9999, "policy": ""}))
    for item in items:
        data = {"tokens": item.tokens, "importance": item.importance, "adapter": "old-1"}
        apply(state, BankEvent(state.seq + 1, Kind.WRITTEN, NOW, item.id, data))
    for item in items:
        if item.pinned:
            apply(state, BankEvent(state.seq + 1, Kind.PINNED, NOW, item.id))
    return state


@given(RAW, st.sampled_from(POLICIES), st.integers(0, 30), st.integers(0, 900), st.randoms(use_true_random=False))
def test_the_real_run_does_what_the_dry_run_lists(
    raw: list[tuple[int, float, bool, int, float | None]], name: str, memories: int, tokens: int, chance: random.Random
) -> None:
    items, scores = items_of(raw)
    limit, policy = Budget(memories, tokens), policy_named(name)
    pinned = [item for item in items if item.pinned]
    if len(pinned) > memories or sum(item.tokens for item in pinned) > tokens:
        with pytest.raises(BankError):
            plan_change(items, limit, policy, NOW, adapter="new-1", scores=scores)
        return
    dry = plan_change(items, limit, policy, NOW, adapter="new-1", scores=scores)
    shuffled = list(items)
    chance.shuffle(shuffled)
    real = plan_change(
        shuffled, limit, policy, NOW, adapter="new-1", scores=scores
    )  # another process has another order
    assert real.digest == dry.digest

    state = state_of(items)
    before = dict(state.marks)
    for kind, memory, data in real.steps():
        apply(state, BankEvent(state.seq + 1, kind, NOW, memory, data))
    listed = {gone.item.id for gone in dry.leaving}
    held = {memory for memory, mark in state.marks.items() if mark.state is State.HELD}
    assert held == {item.id for item in items} - listed
    assert (state.held, state.held_tokens) == (dry.stays, dry.stays_tokens)
    assert state.held <= memories
    assert state.held_tokens <= tokens
    assert listed.isdisjoint(item.id for item in pinned)
    assert sum(before[memory].tokens for memory in listed) == dry.freed_tokens
    for memory, mark in state.marks.items():
        wanted = (scores[memory], "new-1") if memory in scores else (before[memory].importance, "old-1")
        assert (mark.importance, mark.adapter) == wanted


@given(RAW, st.sampled_from(POLICIES), st.integers(4, 30))
def test_what_stays_lowest_is_what_would_leave_next(
    raw: list[tuple[int, float, bool, int, float | None]], name: str, memories: int
) -> None:
    items, scores = items_of(raw)
    plan = plan_change(items, Budget(memories, 10_000), policy_named(name), NOW, adapter="new-1", scores=scores)
    assert {one.item.id for one in plan.lowest}.isdisjoint(gone.item.id for gone in plan.leaving)
    if plan.lowest and plan.stays > sum(item.pinned for item in items):
        stricter = Budget(plan.stays - 1, 10_000)
        if stricter.memories >= sum(item.pinned for item in items):
            narrower = plan_change(items, stricter, policy_named(name), NOW, adapter="new-1", scores=scores)
            assert plan.lowest[0].item.id in {gone.item.id for gone in narrower.leaving}


def test_a_bank_within_its_new_budget_loses_nothing_and_shows_what_is_lowest() -> None:
    items, _ = items_of([(10, 0.1 * (number + 1), False, 0, None) for number in range(8)])
    plan = plan_change(items, Budget(8, 80), policy_named("importance"), NOW, adapter="new-1", scores={})
    assert (plan.leaving, plan.stays, plan.stays_tokens, plan.steps()) == ((), 8, 80, [])
    assert [one.item.text for one in plan.lowest] == [f"memory {number}" for number in range(5)]


def test_new_scores_decide_who_leaves() -> None:
    items, _ = items_of([(10, 0.1 * (number + 1), False, 0, None) for number in range(4)])
    plan = plan_change(
        items, Budget(3, 100), policy_named("importance"), NOW, adapter="new-1", scores={items[3].id: 0.05}
    )
    assert [(gone.item.text, gone.score, gone.over) for gone in plan.leaving] == [
        ("memory 3", pytest.approx(0.05), "memories")
    ]
    assert plan.leaving[0].instead == items[0].id
