from dataclasses import fields
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from memory.engine.bank import BankEvent, BankState, Kind, Mark, apply, as_marked, replay
from memory.engine.types import BankError, Budget, MemoryItem, Place, Role, Side, State
from tests.memory.engine.toy_bank import NOON, Ledger, item, memory_id

A, B = memory_id(0), memory_id(1)


@pytest.fixture
def ledger() -> Ledger:
    """A configured bank that holds A (10 tokens) and B (7)."""
    made = Ledger()
    made.configured(memories=5, tokens=100)
    made.written(item(0, tokens=10, importance=0.25))
    made.written(item(1, tokens=7))
    return made


def test_writing_fills_the_bank(ledger: Ledger) -> None:
    state = replay(ledger.events)
    assert (state.seq, state.held, state.held_tokens) == (3, 2, 17)
    assert (state.budget, state.policy) == (Budget(5, 100), "importance")
    assert state.marks[A] == Mark(State.HELD, 10, 0.25, "prior-2", written=2, written_at=ledger.events[1].at)


def test_an_eviction_archives_with_its_reason_and_lifts_the_pin(ledger: Ledger) -> None:
    ledger(Kind.PINNED, A)
    ledger(Kind.EVICTED, A, reason="budget")
    state = replay(ledger.events)
    assert (state.held, state.held_tokens) == (1, 7)
    assert (state.marks[A].state, state.marks[A].reason, state.marks[A].pinned) == (State.ARCHIVED, "budget", False)


def test_a_restored_memory_is_held_again_without_a_reason(ledger: Ledger) -> None:
    ledger(Kind.EVICTED, A, reason="budget")
    ledger(Kind.RESTORED, A, reason="asked")
    state = replay(ledger.events)
    assert (state.held, state.held_tokens) == (2, 17)
    assert (state.marks[A].state, state.marks[A].reason) == (State.HELD, "")


def test_forgetting_and_undoing_it_is_as_if_nothing_had_been(ledger: Ledger) -> None:
    ledger(Kind.PINNED, A)
    before = replay(ledger.events)
    ledger(Kind.FORGOTTEN, A, until=NOON.isoformat(), before="held")
    hidden = replay(ledger.events)
    assert (hidden.held, hidden.marks[A].state, hidden.marks[A].before) == (1, State.FORGOTTEN, State.HELD)
    ledger(Kind.UNFORGOTTEN, A, to="held")
    after = replay(ledger.events)
    assert after.marks == before.marks
    assert (after.held, after.held_tokens) == (before.held, before.held_tokens)


def test_a_forgotten_memory_that_returns_to_the_archive_is_not_pinned(ledger: Ledger) -> None:
    ledger(Kind.PINNED, A)
    ledger(Kind.FORGOTTEN, A, until=NOON.isoformat(), before="held")
    ledger(Kind.UNFORGOTTEN, A, to="archived", reason="twin")
    mark = replay(ledger.events).marks[A]
    assert (mark.state, mark.reason, mark.pinned, mark.before) == (State.ARCHIVED, "twin", False, None)


def test_erasure_is_an_event_that_replay_honours(ledger: Ledger) -> None:
    ledger(Kind.PINNED, A)
    ledger(Kind.ERASED, A)
    state = replay(ledger.events)
    assert (state.held, state.held_tokens) == (1, 7)
    assert (state.marks[A].state, state.marks[A].pinned) == (State.ERASED, False)


def test_telling_recalling_and_rescoring_are_counted(ledger: Ledger) -> None:
    ledger(Kind.TOLD, A, how="retold")
    event = ledger(Kind.RECALLED, recall="r", memories=[str(A), str(B)], weights=[0.5, 0.5])
    ledger(Kind.RESCORED, A, importance=0.75, adapter="trained-2")
    state = replay(ledger.events)
    mark = state.marks[A]
    assert mark == Mark(
        State.HELD, 10, 0.75, "trained-2", written=2, sources=2, recalls=1, last_recalled=event.at,
        written_at=ledger.events[1].at, strength=mark.strength,
    )  # fmt: skip
    assert (state.marks[B].recalls, state.held) == (1, 2)


def test_a_new_configuration_is_in_force_at_once(ledger: Ledger) -> None:
    ledger(Kind.CONFIGURED, memories=3, tokens=9, policy="fifo")
    state = replay(ledger.events)
    assert (state.budget, state.policy) == (Budget(3, 9), "fifo")


def test_replay_in_two_steps_is_replay_in_one(ledger: Ledger) -> None:
    ledger(Kind.PINNED, A)
    ledger(Kind.EVICTED, B, reason="budget")
    state = replay(ledger.events[:3])
    for event in ledger.events[3:]:
        apply(state, event)
    assert state == replay(ledger.events)
    assert state != replay(ledger.events[:3])
    assert state != "something else"


@pytest.mark.parametrize("seq", [3, 5, 0])
def test_a_gap_or_a_repetition_is_refused(ledger: Ledger, seq: int) -> None:
    state = replay(ledger.events)
    with pytest.raises(BankError, match=f"event {seq} follows 3") as raised:
        apply(state, ledger.events[-1]._replace(seq=seq))
    assert not raised.value.retryable


@pytest.mark.parametrize("kind", [Kind.PINNED, Kind.EVICTED, Kind.ERASED, Kind.TOLD])
def test_an_event_about_a_memory_that_was_never_written_is_refused(ledger: Ledger, kind: Kind) -> None:
    with pytest.raises(BankError, match="never written"):
        replay([*ledger.events, ledger(kind, memory_id(9), reason="budget")][:4])


def test_a_recall_of_a_memory_that_was_never_written_is_refused(ledger: Ledger) -> None:
    ledger(Kind.RECALLED, recall="r", memories=[str(memory_id(9))], weights=[1.0])
    with pytest.raises(BankError, match="never written"):
        replay(ledger.events)


def test_an_event_that_names_no_memory_is_refused(ledger: Ledger) -> None:
    ledger(Kind.PINNED, None)
    with pytest.raises(BankError, match="names no memory"):
        replay(ledger.events)


def test_an_empty_ledger_is_an_empty_bank() -> None:
    assert replay([]) == BankState()
    assert BankState().held == 0


def recalled_after(days: float, state: BankState, memory: UUID = A) -> float:
    """Recall a memory so many days after the bank last had to do with it; returns its strength."""
    mark = state.marks[memory]
    at = (mark.last_recalled or mark.written_at or NOON) + timedelta(days=days)
    apply(state, BankEvent(state.seq + 1, Kind.RECALLED, at, None, {"memories": [str(memory)]}))
    return state.marks[memory].strength


def test_a_recall_strengthens_a_memory_the_more_the_longer_it_waited(ledger: Ledger) -> None:
    state = replay(ledger.events)
    assert state.marks[A].strength == 1.0
    # Hou et al.: g += (1 - e^-t) / (1 + e^-t), t in days
    assert recalled_after(1, state) == pytest.approx(1 + 0.46212, abs=1e-4)
    assert recalled_after(2, state) == pytest.approx(1.46212 + 0.76159, abs=1e-4)
    assert recalled_after(0, state) == pytest.approx(2.22371, abs=1e-4)
    assert state.marks[B].strength == 1.0


def test_the_unit_of_consolidation_is_the_banks(ledger: Ledger) -> None:
    ledger(Kind.CONFIGURED, memories=5, tokens=100, policy="decay(days=10.0)", unit=864_000.0)
    assert recalled_after(10, replay(ledger.events)) == pytest.approx(1 + 0.46212, abs=1e-4)


def test_remembering_fills_a_share_of_what_pinned_memories_leave(ledger: Ledger) -> None:
    assert replay(ledger.events).limit == Budget(5, 100)  # an old ledger says nothing of a share
    ledger(Kind.CONFIGURED, memories=11, tokens=110, policy="fifo", evict_at=0.7)
    ledger(Kind.PINNED, A)
    state = replay(ledger.events)
    assert (state.pinned, state.pinned_tokens) == (1, 10)
    assert state.limit == Budget(1 + 7, 10 + 70)
    ledger(Kind.FORGOTTEN, A, until="later")
    assert replay(ledger.events).pinned == 0


def test_a_memory_takes_from_its_mark_what_the_ledger_changes_and_nothing_else() -> None:
    """Field by field, so that one which comes to be is not lost on the way."""
    odd: dict[str, Any] = {
        "id": uuid4(), "text": "words", "role": Role.TOOL, "speaker": "Ana", "at": NOON, "tokens": 7, "importance": 0.1,
        "turn": uuid4(), "side": Side.ACTION, "place": Place(uuid4(), 3, 4), "piece": 5, "kind": "summary",
        "pinned": False, "written": 6, "recalls": 8, "last_recalled": NOON, "written_at": NOON, "strength": 9.0,
    }  # fmt: skip
    assert set(odd) == {field.name for field in fields(MemoryItem)}
    changed: dict[str, Any] = {
        "importance": 0.9, "pinned": True, "written": 60, "recalls": 80, "last_recalled": None, "written_at": None,
        "strength": 90.0,
    }  # fmt: skip
    mark = Mark(State.HELD, 70, adapter="new", **changed)
    assert as_marked(MemoryItem(**odd), mark) == MemoryItem(**(odd | changed))
