"""Changing a bank after a dry run: the same happens, nothing else does, and undo brings all of it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import adapters
from memory.engine.adapter import Adapter
from memory.engine.bank import BankState, Mark
from memory.engine.features import NAMES
from memory.engine.importance import ImportanceHead
from memory.engine.prior import prior
from memory.engine.types import BankError, Role, State
from memory.models import AdapterVersion, Bank, Event, Memory
from memory.services.banks import BankConfiguration, BankRefused
from memory.services.ledger import BankMissing
from memory.services.memories import pin, restore
from memory.services.rebudget import (
    Applied,
    Preview,
    PreviewStale,
    apply_change,
    configuration_of_bank,
    preview_change,
    undo_change,
)
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk

TOLD = ["My boat is called Seagull", "Rent is 900 euros", "The key lies under the third pot", "Hello there",
        "Ana's birthday is 5 May", "I never eat walnuts", "How are you?", "Flight TP361 leaves at 7:40"]  # fmt: skip


def upside_down() -> Adapter:
    """Another adapter, which values what the prior does not."""
    head = {kind: replace(one, weights=-one.weights, bias=-one.bias) for kind, one in prior().importance.priors.items()}
    return replace(prior(), version="upside-down-1", importance=ImportanceHead(head))


@pytest.fixture
def two_adapters(monkeypatch: pytest.MonkeyPatch) -> Adapter:
    other = upside_down()
    known = {prior().version: prior(), other.version: other}
    monkeypatch.setattr(adapters, "available_adapters", lambda: known)
    return other


@pytest.fixture
def full(desk: Desk) -> Desk:
    for number, text in enumerate(TOLD):
        desk.tell(text, f"I have noted number {number}.")
    return desk


def wanted(desk: Desk, **fields: Any) -> BankConfiguration:
    with desk.acting():
        return replace(configuration_of_bank(Bank.objects.get(pk=desk.bank_id)), **fields)


def preview(desk: Desk, **fields: Any) -> Preview:
    with desk.acting():
        return preview_change(desk.bank_id, wanted(desk, **fields), now=datetime.now(UTC))


def carry_out(desk: Desk, seen: Preview) -> Applied:
    with desk.acting():
        return apply_change(desk.bank_id, seen.promise, now=datetime.now(UTC) + timedelta(hours=3))


def take_back(desk: Desk, applied: Applied) -> int:
    with desk.acting():
        return undo_change(desk.bank_id, applied, now=datetime.now(UTC))


def everything(desk: Desk) -> tuple[BankConfiguration, Mapping[UUID, Mark], int]:
    """Settings, what the ledger knows of every memory, and how long the ledger is."""
    state = desk.agree()
    return wanted(desk), dict(state.marks), state.seq


CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "budget_memories": st.integers(5, 20),
        "budget_tokens": st.integers(60, 400),
        "policy": st.sampled_from(["fifo", "lru", "longest", "chains+floor(recent=2)+importance", "decay(days=2)"]),
        "evict_at": st.sampled_from([0.5, 0.8, 1.0]),
        "adapter": st.sampled_from(["", prior().version, "upside-down-1"]),
        "recall_archive": st.booleans(),
    },
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CHANGES, st.data())
def test_the_real_run_is_the_dry_run_and_undo_brings_everything_back(
    full: Desk, two_adapters: Adapter, fields: dict[str, Any], data: st.DataObject
) -> None:
    before = everything(full)
    seen = preview(full, **fields)
    assert everything(full) == before, "a dry run changes nothing"
    applied = carry_out(full, seen)
    settings_now, marks, _ = everything(full)
    assert settings_now == seen.promise.configuration
    listed = [gone.item.id for gone in seen.plan.leaving]
    with full.acting():
        events = list(Event.objects.filter(bank=full.bank_id, seq__gt=applied.before, seq__lte=applied.after))
    evicted = [event for event in events if event.kind == "evicted"]
    assert [event.memory for event in evicted] == listed
    assert {event.data["policy"] for event in evicted} <= {seen.plan.policy}
    assert {event.data["adapter"] for event in evicted} <= {seen.plan.adapter}
    assert [(event.data["score"], event.data["over"]) for event in evicted] == [
        (round(gone.score, 6), gone.over) for gone in seen.plan.leaving
    ]
    left = {m for m, mark in before[1].items() if mark.state is State.HELD and marks[m].state is State.ARCHIVED}
    assert left == set(listed)
    rescored = {m: mark.importance for m, mark in marks.items() if mark.adapter != before[1][m].adapter}
    assert rescored == dict(seen.plan.rescored)
    assert take_back(full, applied) == len(listed)
    assert everything(full)[:2] == before[:2]


def test_the_preview_says_what_leaves_and_how_much_room_that_makes(full: Desk) -> None:
    seen = preview(full, budget_memories=10, policy="fifo")
    assert [gone.item.text for gone in seen.plan.leaving] == full.texts()[:6]
    assert seen.plan.stays == 10
    assert seen.plan.freed_tokens == sum(full.memory(text).tokens for text in full.texts()[:6])
    assert [one.item.text for one in seen.plan.lowest] == full.texts()[6:11]
    assert not seen.changes_nothing
    assert preview(full).changes_nothing


def test_another_adapter_scores_everything_anew_from_the_stored_features(full: Desk, two_adapters: Adapter) -> None:
    state = full.agree()
    with full.acting():
        rows = {row.pk: row for row in Memory.objects.filter(bank=full.bank_id)}
    usual = {pk: adapters.importance_by(prior(), row.features, Role(row.role), state) for pk, row in rows.items()}
    carry_out(full, preview(full, adapter="upside-down-1", budget_memories=10))
    for memory in rows:
        now = full.reread(memory)
        assert now is not None
        assert now.adapter == "upside-down-1"
        assert now.importance == pytest.approx(1 - usual[memory], abs=1e-3)
    assert {"Hello there", "How are you?"} <= set(full.texts())
    full.tell("The boiler code is 4711-B")
    assert full.memory("The boiler code is 4711-B").adapter == "upside-down-1"
    assert full.ask("Where is the key?").trace.adapter == "upside-down-1"
    with full.acting():
        assert AdapterVersion.objects.filter(version="upside-down-1").exists()
    full.agree()


def test_scoring_a_whole_bank_anew_takes_a_handful_of_statements(full: Desk, two_adapters: Adapter) -> None:
    seen = preview(full, adapter="upside-down-1", budget_memories=10)
    assert len(seen.plan.rescored) == 16
    assert len(seen.plan.leaving) == 6
    with CaptureQueriesContext(connection) as caught:
        carry_out(full, seen)
    changing = [query["sql"] for query in caught if query["sql"].startswith("UPDATE")]
    assert not [sql for sql in changing if '"memory_memory"' in sql]  # all scores in one, all that leaves in another
    full.agree()


def test_features_from_before_a_new_one_was_added_count_it_as_nothing() -> None:
    stored = [0.25] * (len(NAMES) - 2)
    padded = np.array([*stored, 0.0, 0.0], dtype=np.float32)
    state = BankState()
    expected = prior().importance.importance(padded, Role.USER, state.statistics)
    assert adapters.importance_by(prior(), stored, Role.USER, state) == pytest.approx(expected, abs=1e-6)


def test_a_bank_that_changed_since_the_preview_is_left_alone(full: Desk) -> None:
    seen = preview(full, budget_memories=6)
    full.tell("One more thing about the garden")
    before = everything(full)
    with pytest.raises(PreviewStale, match="changed since the preview"):
        carry_out(full, seen)
    assert everything(full) == before
    carry_out(full, preview(full, budget_memories=6))
    with pytest.raises(PreviewStale):  # nor twice
        carry_out(full, seen)


def test_a_promise_of_something_else_is_not_kept(full: Desk) -> None:
    seen = preview(full, budget_memories=6)
    forged = replace(seen.promise, configuration=wanted(full, budget_memories=5))
    with full.acting(), pytest.raises(PreviewStale):
        apply_change(full.bank_id, forged, now=datetime.now(UTC))
    assert len(full.texts()) == 16


def test_undo_leaves_alone_what_was_touched_since(full: Desk) -> None:
    full.configure(budget_memories=16, policy="fifo")
    applied = carry_out(full, preview(full, budget_memories=6))
    gone = full.texts(State.ARCHIVED)
    with full.acting():
        restore(full.memory(gone[3]).pk, now=datetime.now(UTC))
    full.tell("News of the harbour", "Thank you for the news.")
    assert take_back(full, applied) == 9
    assert len(full.texts()) == 15  # of the 16 one made room for what was restored, and two for the news
    assert wanted(full).budget_memories == 16
    assert "News of the harbour" in full.texts()
    full.agree()


def test_undo_keeps_to_the_former_budget(full: Desk) -> None:
    full.configure(budget_memories=16, policy="fifo")
    applied = carry_out(full, preview(full, budget_memories=30))
    full.tell("News of the harbour", "Thank you for the news.")
    assert len(full.texts()) == 18
    assert take_back(full, applied) == 0
    assert len(full.texts()) == 16
    assert "News of the harbour" in full.texts()
    full.agree()


def test_pinned_memories_stay_and_a_budget_beneath_them_is_refused(full: Desk) -> None:
    with full.acting():
        for text in TOLD[:5]:
            pin(full.memory(text).pk, now=datetime.now(UTC))
    with pytest.raises(BankRefused, match="pinned memories alone"):
        preview(full, budget_memories=5)
    seen = preview(full, budget_memories=7)
    carry_out(full, seen)
    assert set(TOLD[:5]) <= set(full.texts())
    full.agree()


@pytest.mark.parametrize("wrong", [{"policy": "best"}, {"evict_at": 0.2}, {"adapter": "none-9"}])
def test_what_cannot_be_is_refused_in_a_sentence(full: Desk, wrong: dict[str, Any]) -> None:
    with pytest.raises(BankError) as refusal:
        preview(full, **wrong)
    assert refusal.value.sentence.endswith(".")


def test_another_persons_bank_is_not_there(full: Desk) -> None:
    seen = preview(full, budget_memories=6)
    with acting_as(UUID(int=7)), pytest.raises(BankMissing):
        preview_change(full.bank_id, seen.promise.configuration, now=datetime.now(UTC))
    with acting_as(UUID(int=7)), pytest.raises(BankMissing):
        apply_change(full.bank_id, seen.promise, now=datetime.now(UTC))
    assert len(full.texts()) == 16
