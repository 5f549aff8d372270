"""A bank's past: what was folded once stays what the ledger says, whatever comes after."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from memory import history as module
from memory.engine.bank import BankEvent, Kind, replay
from memory.engine.types import BankError, State
from memory.history import BankHistory, Fill, Histories, clock_of, read_lean
from memory.hot_banks import read_events
from memory.models import Bank, Conversation
from memory.services import memories
from memory.tenancy import acting_as
from tests.scenes import Life, live, make_agent, make_person, take_turn

BEGAN = datetime(2026, 3, 1, 9, tzinfo=UTC)
CONFIGURED = {"memories": 2, "tokens": 100, "policy": "importance"}


def written(importance: float = 0.5, tokens: int = 10) -> dict[str, Any]:
    return {"tokens": tokens, "importance": importance, "adapter": "shipped-2", "role": "user"}


class Ledger:
    """Events as a bank would number them, each by some turn."""

    def __init__(self) -> None:
        self.lines: list[tuple[BankEvent, UUID | None]] = []

    def add(self, kind: Kind, memory: UUID | None = None, turn: UUID | None = None, **data: Any) -> BankEvent:
        seq = len(self.lines) + 1
        event = BankEvent(seq, kind, BEGAN + timedelta(minutes=seq), memory, data)
        self.lines.append((event, turn))
        return event

    @property
    def history(self) -> BankHistory:
        found = BankHistory()
        found.extend(self.lines)
        return found


@pytest.fixture
def told() -> tuple[Ledger, UUID, UUID]:
    """Two memories by two turns; the first leaves, comes back, and is erased."""
    ledger, one, two = Ledger(), uuid4(), uuid4()
    first, second = uuid4(), uuid4()
    ledger.add(Kind.CONFIGURED, **CONFIGURED)
    ledger.add(Kind.WRITTEN, one, first, **written(0.2))
    ledger.add(Kind.WRITTEN, two, second, **written(0.9, 30))
    ledger.add(
        Kind.EVICTED, one, second, reason="budget", policy="importance", adapter="shipped-2", score=0.2,
        budget=[2, 100], over="memories", instead=str(two),
    )  # fmt: skip
    ledger.add(Kind.RESTORED, one, reason="asked")
    ledger.add(Kind.CONFIGURED, **CONFIGURED | {"memories": 5, "adapter": "promoted-3"})
    ledger.add(Kind.PINNED, two)
    ledger.add(Kind.FORGOTTEN, one, until=BEGAN.isoformat())
    ledger.add(Kind.ERASED, one)
    return ledger, one, two


def test_spans_say_when_each_memory_was_in_the_bank_and_why_it_left(told: tuple[Ledger, UUID, UUID]) -> None:
    ledger, one, two = told
    shown = [(s.memory, s.came, s.how, s.left, s.reason, s.policy, s.score) for s in ledger.history.spans]
    assert shown == [
        (one, 2, "written", 4, "budget", "importance", 0.2),
        (two, 3, "written", None, "", "", None),
        (one, 5, "restored.asked", 8, "forgotten", "", None),
    ]


def test_it_knows_how_full_the_bank_was_and_which_adapter_served(told: tuple[Ledger, UUID, UUID]) -> None:
    history = told[0].history
    assert history.fill_at(1) == Fill(0, 0, 2, 100)
    assert history.fill_at(3) == Fill(2, 40, 2, 100)
    assert history.fill_at(4) == Fill(1, 30, 2, 100)
    assert history.fill_at(9) == Fill(1, 30, 5, 100)
    assert [(one.seq, one.adapter, one.former) for one in history.adapters] == [(6, "promoted-3", "")]


def test_any_moment_is_the_fold_up_to_it(told: tuple[Ledger, UUID, UUID], monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = told[0]
    for every in (1, 2, 4_000):
        monkeypatch.setattr(module, "EVERY", every)
        history = ledger.history
        for seq in (9, 0, 4, 7, 2, 9):
            assert history.state_at(seq) == replay(event for event, _ in ledger.lines[:seq])
        assert history.state_at(99) == history.state
        history.state_at(9).marks.clear()
        assert len(history.state_at(9).marks) == 2


def test_what_happened_between_two_turns_belongs_to_the_earlier_one() -> None:
    ledger = Ledger()
    mine, other, last = uuid4(), uuid4(), uuid4()
    ledger.add(Kind.CONFIGURED, **CONFIGURED)
    ledger.add(Kind.WRITTEN, uuid4(), mine, **written())
    ledger.add(Kind.WRITTEN, uuid4(), other, **written())  # another conversation's
    ledger.add(Kind.WRITTEN, uuid4(), last, **written())
    ledger.add(Kind.WRITTEN, uuid4(), mine, **written())  # an old turn's work is done late
    clock = clock_of(ledger.history, {mine: 1, last: 4})
    assert [clock.turn_of(seq) for seq in range(1, 6)] == [0, 1, 1, 4, 4]
    assert [clock.after(turn) for turn in range(6)] == [1, 3, 3, 3, None, None]


def test_a_gap_is_refused() -> None:
    with pytest.raises(BankError, match="gap"):
        BankHistory().extend([(BankEvent(2, Kind.CONFIGURED, BEGAN, None, CONFIGURED), None)])


# --- in the database -------------------------------------------------------------------------------------------------


@pytest.fixture
def life() -> Life:
    return live(make_person(), make_agent(budget_memories=5), "quixotry")


@pytest.fixture
def bank(life: Life) -> Iterator[Bank]:
    with acting_as(life.person):
        yield Bank.objects.get(pk=life.bank)


@pytest.mark.django_db
def test_the_lean_ledger_folds_to_what_the_whole_one_says(bank: Bank) -> None:
    lean = BankHistory()
    lean.extend(read_lean(bank.pk, 0, bank.last_seq))
    whole = replay(read_events(bank))
    assert lean.seq == whole.seq == bank.last_seq
    for memory, mark in whole.marks.items():
        found = lean.state.marks[memory]
        assert (found.state, found.reason, found.importance, found.tokens, found.pinned, found.written_at) == (
            mark.state, mark.reason, mark.importance, mark.tokens, mark.pinned, mark.written_at
        )  # fmt: skip
    assert {State.HELD, State.ARCHIVED, State.FORGOTTEN} <= {mark.state for mark in lean.state.marks.values()}
    assert not any("features" in event.data for event in lean.events)


@pytest.mark.django_db
def test_a_snapshot_and_the_events_after_it_are_what_a_fresh_reader_finds(life: Life, bank: Bank) -> None:
    kept = Histories(1_000)
    first = kept.open(bank)
    before = first.seq
    conversation = Conversation.objects.get(pk=life.conversation)
    take_turn(bank.owner, conversation, "The ferry leaves at six now.")
    memories.pin(life.held, now=timezone.now())
    memories.restore(life.archived, now=timezone.now())
    bank.refresh_from_db()
    followed, fresh = kept.open(bank), Histories(1_000).open(bank)
    assert followed is first
    assert followed.seq == bank.last_seq > before
    assert followed.state == fresh.state
    assert (followed.spans, followed.events, followed.first_of) == (fresh.spans, fresh.events, fresh.first_of)
    assert [followed.fill_at(seq) for seq in range(1, fresh.seq)] == [fresh.fill_at(n) for n in range(1, fresh.seq)]


@pytest.mark.django_db
def test_a_ledger_that_lost_commits_is_read_anew(bank: Bank) -> None:
    kept = Histories(1_000)
    real = kept.open(bank)
    ahead = kept.open(bank)
    ahead.extend([(BankEvent(ahead.seq + 1, Kind.RECALLED, BEGAN, None, {"memories": []}), None)])
    assert kept.open(bank) is not ahead  # the bank's row has no such event
    assert kept.open(bank).seq == bank.last_seq
    assert real is ahead


@pytest.mark.django_db
def test_few_events_are_kept_over_all_banks_and_the_last_used_stays(bank: Bank) -> None:
    kept = Histories(1)
    found = kept.open(bank)
    other = Bank.objects.create(owner=bank.owner, name="empty", space=bank.space)
    assert kept.open(other).seq == 0
    assert kept.open(bank) is not found
