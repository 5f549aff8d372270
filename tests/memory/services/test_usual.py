"""What is usual in a bank, read off its ledger, is what its fold says."""

from __future__ import annotations

from memory.engine.importance import kind_of
from memory.hot_banks import hot_banks
from memory.models import Bank, Memory
from memory.services import memories
from memory.usual import usual_in
from tests.memory.services.desk import Desk


def test_it_is_read_as_the_hot_bank_has_it_after_an_erasure_too(desk: Desk, now: object) -> None:
    for text in ("My boat is called Seagull", "Rent is 900 euros", "Where is the harbour?"):
        desk.tell(text, f"I see: {text}")
    desk.configure(budget_tokens=90_000)
    with desk.acting():
        memories.erase(Memory.objects.filter(bank=desk.bank_id).earliest("written_seq").pk, now=now)  # type: ignore[arg-type]
        bank = Bank.objects.select_related("space").get(pk=desk.bank_id)
        state = hot_banks.open(bank).state
        hot = usual_in(bank)
        hot_banks.drop(bank.pk)
        assert hot_banks.seen(bank.pk) == 0
        cold = usual_in(bank)
    assert cold == hot == (state.statistics, kind_of(state.statistics, state.kind))
    assert sum(state.statistics.share(role) for role in ("user", "assistant")) == 1  # type: ignore[arg-type]
