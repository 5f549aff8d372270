"""The policy lab: what each policy would have kept, and what later turns would have missed."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from memory.engine.adapter import Adapter
from memory.engine.features import Context
from memory.engine.prior import prior
from memory.engine.replay import Need, Replayed, ReplayTurn, needs_of, replay_banks, replay_turns
from memory.engine.retention import policy_named
from memory.engine.types import Budget, Cue, RecallLimits
from tests.memory.engine.toy_bank import NOON, memory_id, new_side, turn_id, vector_of
from tests.toy import WIDTH

SAID = [
    "My passport number is X1234567",
    "ok thanks",
    "The bike shop opens on Monday",
    "We walked along the harbour",
    "Tea is better than coffee",
    "My sister lives in Lisbon",
]
ASKED = "What is my passport number?"


def turn(number: int, said: str, asked: str = "") -> ReplayTurn:
    at = NOON + timedelta(minutes=number)
    cue = Cue(asked, vector_of(asked), at, True, frozenset({turn_id(number)})) if asked else None
    sides = [(new_side(number, said), Context(False, number == 0, 0.0))] if said else []
    return ReplayTurn(turn_id(number), number + 1, at, cue, sides)


TALK = [*(turn(i, said) for i, said in enumerate(SAID)), turn(6, "", ASKED)]


def run(*policies: str, talk: list[ReplayTurn] = TALK, memories: int = 3, tokens: int = 10_000) -> list[Replayed]:
    return replay_turns(
        talk, [policy_named(name) for name in policies], Budget(memories, tokens), adapter=prior(), width=WIDTH,
        limits=RecallLimits(tokens=500),
    )  # fmt: skip


def ids(report: Replayed) -> list[UUID]:
    return [memory.id for memory in report.kept]


def test_fifo_misses_what_a_floor_keeps() -> None:
    fifo, floor = run("fifo", "floor(recent=0)+fifo")
    assert ids(fifo) == [memory_id(3), memory_id(4), memory_id(5)]
    assert [(miss.memory.id, miss.ordinal, miss.left) for miss in fifo.misses] == [(memory_id(0), 7, 4)]
    assert ids(floor) == [memory_id(0), memory_id(4), memory_id(5)]
    assert floor.misses == []
    assert fifo.recalled == floor.recalled >= 1


def test_with_room_for_all_nothing_is_missed_and_nothing_leaves() -> None:
    for report in run("fifo", "random", "decay", memories=len(SAID)):
        assert (report.evicted, report.misses) == (0, [])
        assert ids(report) == [memory_id(i) for i in range(len(SAID))]


@pytest.mark.parametrize("policy", ["fifo", "random", "lru", "lfu", "importance", "decay", "chains+floor+importance"])
def test_the_budget_holds_and_the_same_comes_out_twice(policy: str) -> None:
    (report,) = run(policy, memories=4, tokens=20)
    assert len(report.kept) <= 4
    assert report.tokens <= 20
    assert report.written == len(SAID) == report.evicted + len(report.kept)
    assert ids(run(policy, memories=4, tokens=20)[0]) == ids(report)


def needs(adapter: Adapter) -> list[list[Need]]:
    return needs_of(TALK, adapter=adapter, width=WIDTH, limits=RecallLimits(tokens=500))


def test_banks_under_another_adapter_are_counted_against_the_same_needs() -> None:
    strict = replace(prior(), floor=replace(prior().floor, threshold=9.0, highly=9.0))
    wanted = needs(prior())
    assert [len(found) for found in wanted] == [0] * len(SAID) + [1]
    assert not any(needs(strict)), "by itself it recalls nothing, and would miss nothing"
    usual, other = [
        replay_banks(TALK, wanted, [(policy_named("fifo"), Budget(3, 10_000))], adapter=adapter, width=WIDTH,
                     limits=RecallLimits(tokens=500))[0]
        for adapter in (prior(), strict)
    ]  # fmt: skip
    assert (usual.recalled, usual.wanted) == (other.recalled, other.wanted)
    assert [(miss.memory.id, miss.weight) for miss in usual.misses] == [
        (miss.memory.id, miss.weight) for miss in other.misses
    ]


def test_each_turn_that_is_told_says_how_far_it_is() -> None:
    told: list[float] = []
    needs_of(TALK, adapter=prior(), width=WIDTH, limits=RecallLimits(tokens=500), step=told.append)
    assert told == [n / len(TALK) for n in range(1, len(TALK) + 1)]


def test_what_is_told_again_after_it_left_is_no_miss() -> None:
    talk = [*TALK[:-1], turn(7, SAID[0] + "!"), turn(8, "", ASKED)]
    (report,) = run("fifo", talk=talk)  # the unbounded bank merges the two; this one has let the first go
    assert report.misses == []
    assert ids(report)[-1] == memory_id(7)


def test_recalls_of_the_lab_count_for_policies_that_look_at_use() -> None:
    talk = [turn(0, SAID[0]), *(turn(10 + i, said) for i, said in enumerate(SAID[1:5])), turn(20, "", ASKED),
            *(turn(30 + i, f"Something new, number {i}") for i in range(3))]  # fmt: skip
    lru, fifo = run("lru", "fifo", talk=talk, memories=5)
    assert memory_id(0) in ids(lru)
    assert memory_id(0) not in ids(fifo)


def test_a_conversation_without_turns_is_an_empty_report() -> None:
    (report,) = run("fifo", talk=[])
    assert (report.kept, report.misses, report.tokens) == ([], [], 0)
