"""The kind of a bank, and what the fold of the ledger knows of features."""

from __future__ import annotations

import numpy as np
import pytest

from memory.engine import features
from memory.engine.adapter import Adapter
from memory.engine.bank import BankEvent, BankState, Kind, apply, replay
from memory.engine.features import Context
from memory.engine.importance import CLIP, KINDS, ImportanceHead, ImportancePrior, kind_of
from memory.engine.prior import prior, vector_of
from memory.engine.remember import Planner
from memory.engine.retention import policy_named
from memory.engine.statistics import ROLES, RoleStatistics, quantised
from memory.engine.types import MemoryItem, Role
from tests.memory.engine.toy_bank import NOON, Ledger, floats, hot_bank, item, memory_id, new_side


def spoken(**counts: int) -> RoleStatistics:
    statistics = RoleStatistics()
    for role, count in counts.items():
        for _ in range(count):
            statistics.add(Role(role), (0,))
    return statistics


def test_the_settings_tell_the_kind_before_who_has_spoken() -> None:
    assert kind_of(spoken(tool=10), "two_people") == "two_people"
    assert kind_of(spoken(tool=10), "no such kind") == "tool_use"


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ({}, "user_assistant"),
        ({"user": 10, "assistant": 10}, "user_assistant"),
        ({"user": 10}, "user_assistant"),
        ({"user": 10, "other": 10}, "two_people"),
        ({"other": 3}, "two_people"),
        ({"user": 5, "other": 3, "assistant": 2}, "two_people"),
        ({"user": 5, "other": 2, "assistant": 3}, "user_assistant"),
        ({"user": 10, "assistant": 9, "tool": 1}, "tool_use"),  # 1 of 20
        ({"user": 10, "assistant": 10, "tool": 1}, "user_assistant"),  # 1 of 21
    ],
)
def test_else_those_who_spoke_tell_it(counts: dict[str, int], kind: str) -> None:
    assert kind_of(spoken(**counts)) == kind


def head_by_kind() -> ImportanceHead:
    """Each kind has a bias of its own and no weights: the score tells which one was used."""
    usual = np.ones((len(ROLES), len(features.NAMES)), dtype=np.float32)
    nothing = vector_of(features.NAMES, {})
    return ImportanceHead(
        {kind: ImportancePrior(nothing, bias, usual, usual) for kind, bias in zip(KINDS, (-1.0, 0.0, 1.0), strict=True)}
    )


def test_a_bank_is_scored_with_the_weights_of_its_kind() -> None:
    values = vector_of(features.NAMES, {"log_words": 2.0})
    head = head_by_kind()
    assert head.importance(values, Role.USER, RoleStatistics()) == 0.5
    assert head.importance(values, Role.USER, spoken(user=2, other=2)) == pytest.approx(1 / (1 + np.e))
    assert head.importance(values, Role.USER, spoken(user=2, other=2), "tool_use") == pytest.approx(np.e / (1 + np.e))


def test_one_odd_memory_counts_for_so_many_deviations_at_most() -> None:
    head = head_by_kind()
    values = vector_of(features.NAMES, {"log_words": 1e6, "role_user": 1.0})
    z = dict(zip(features.NAMES, head.standardised(values, Role.USER, RoleStatistics(), KINDS[0]), strict=True))
    assert z["log_words"] == CLIP
    assert z["numbers"] == -1.0
    assert (z["role_user"], z["role_tool"]) == (1.0, 0.0)


# --- the fold -------------------------------------------------------------------------------------------------------


def written(ledger: Ledger, one: MemoryItem, values: tuple[int, ...]) -> None:
    ledger(Kind.WRITTEN, one.id, tokens=one.tokens, importance=0.5, adapter="prior-2", turn=str(one.turn),
           side=one.side.value, piece=0, role=one.role.value, features=values)  # fmt: skip


def test_the_fold_counts_what_is_written_and_keeps_counting_what_was_evicted() -> None:
    ledger = Ledger()
    ledger.configured()
    for number, role in enumerate((Role.USER, Role.USER, Role.OTHER)):
        written(ledger, item(number, role=role), quantised(floats(1.0 + number)))
    ledger(Kind.EVICTED, memory_id(0), reason="budget")
    statistics = replay(ledger.events).statistics
    assert [statistics.count(role) for role in (Role.USER, Role.OTHER, Role.TOOL)] == [2, 1, 0]
    assert statistics.moments(Role.USER, floats(0.0), floats(1.0), 0)[0] == pytest.approx([1.5])


def test_an_erased_memory_counts_no_more_and_a_scrubbed_ledger_folds_into_the_same_state() -> None:
    ledger = Ledger()
    ledger.configured()
    written(ledger, item(0), (1000, 2000))
    written(ledger, item(1), (3000, 0))
    written(ledger, item(2, role=Role.TOOL), (5000, 0))
    ledger(Kind.ERASED, memory_id(1))
    ledger(Kind.ERASED, memory_id(2))
    live = replay(ledger.events)
    scrubbed = BankState()
    for event in ledger.events:
        kept = {name: value for name, value in event.data.items() if name != "features"}
        gone = event.memory in (memory_id(1), memory_id(2)) and event.kind is Kind.WRITTEN
        apply(scrubbed, BankEvent(event.seq, event.kind, event.at, event.memory, kept if gone else event.data))
    assert live == scrubbed
    assert live.statistics.count(Role.USER) == 1
    assert live.statistics.moments(Role.USER, floats(0.0, 0.0), floats(1.0, 1.0), 0)[0] == pytest.approx([1.0, 2.0])


def test_features_that_only_an_erased_memory_had_leave_no_trace() -> None:
    """A memory of a later release, with a feature more, beside one of an earlier release."""
    live, scrubbed = RoleStatistics(), RoleStatistics()
    for statistics in (live, scrubbed):
        statistics.add(Role.USER, (1000,))
    live.add(Role.USER, (2000, 7000))
    live.add(Role.USER, (2000, 7000), -1)
    assert live == scrubbed


def configured(seq: int, kind: str) -> BankEvent:
    told = {"kind": kind} if kind else {}
    return BankEvent(seq, Kind.CONFIGURED, NOON, None, {"memories": 9, "tokens": 900, "policy": "fifo", **told})


def test_the_configuration_tells_the_kind_until_the_next_one() -> None:
    assert replay([configured(1, "two_people")]).kind == "two_people"
    assert replay([configured(1, "two_people"), configured(2, "")]).kind == ""


def test_the_planner_scores_with_the_kind_that_the_bank_is_configured_as() -> None:
    start = prior()
    adapter = Adapter("toy", head_by_kind(), start.recall, start.floor)
    scores = []
    for kind in KINDS:
        hot = hot_bank([])
        hot.apply([configured(2, kind)], {})
        planner = Planner(hot, adapter, policy_named("fifo"), NOON)
        planner.take(new_side(0, "My bike is red"), Context(False, False, 0.0), {})
        scores.append(planner.plan.writes[0].item.importance)
    assert scores == pytest.approx([1 / (1 + np.e), 0.5, np.e / (1 + np.e)], abs=1e-5)
