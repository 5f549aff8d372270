"""How a bank is set up: policies by name, and eviction from a set share of the budget."""

from __future__ import annotations

import pytest

from memory.engine.types import BankError
from memory.models import Event
from tests.memory.services.desk import Desk


def configured(desk: Desk) -> dict[str, object]:
    with desk.acting():
        return Event.objects.filter(bank=desk.bank_id, kind="configured").latest("seq").data


def test_a_bank_fills_to_its_share_and_a_restored_memory_pushes_nothing_out(desk: Desk) -> None:
    from datetime import UTC, datetime

    from memory.services.memories import restore

    desk.configure(budget_memories=6, evict_at=0.5, policy="fifo")
    for number in range(5):
        desk.tell(f"Fact number {number} is about subject {number * 7}")
    assert [text[:13] for text in desk.texts()] == ["Fact number 2", "Fact number 3", "Fact number 4"]
    with desk.acting():
        restore(desk.memory("Fact number 0 is about subject 0").pk, now=datetime.now(UTC))
    assert len(desk.texts()) == 4
    desk.agree()


def test_lowering_the_share_evicts_at_once_and_the_ledger_says_it(desk: Desk) -> None:
    for number in range(6):
        desk.tell(f"Fact number {number} is about subject {number * 7}")
    desk.configure(budget_memories=8)
    assert "evict_at" not in configured(desk)  # as in ledgers from before there was a share
    desk.configure(evict_at=0.5, policy="decay(days=2)")
    assert len(desk.texts()) == 4
    assert (configured(desk)["evict_at"], configured(desk)["unit"]) == (0.5, 172_800.0)
    desk.agree()


@pytest.mark.parametrize("wrong", [{"policy": "best"}, {"policy": "floor(recent=x)"}, {"evict_at": 0.4},
                                   {"evict_at": 1.1}])  # fmt: skip
def test_what_cannot_be_is_refused_and_changes_nothing(desk: Desk, wrong: dict[str, object]) -> None:
    before = configured(desk)
    with pytest.raises(BankError):
        desk.configure(**wrong)
    assert configured(desk) == before
