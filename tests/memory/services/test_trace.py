"""Any row of a trace, stored or not, can be computed again from the ledger and the adapter's version."""

from datetime import datetime

import numpy as np
import pytest

from agora_web.accounts.models import User
from memory.adapters import serving_adapter
from memory.engine import attention, signals
from memory.engine.hot import HotBank, check
from memory.engine.lexical import terms
from memory.hot_banks import load, read_events
from memory.models import Bank, Memory, Recall
from memory.services import memories
from memory.services.recalls import prepare_cue
from tests.memory.services.desk import Desk
from tests.toy import WIDTH

PLACES = ["Lisbon", "Porto", "Oslo", "Rome", "Paris"]
THINGS = ["a red bike", "green tea", "an old dog", "the garden", "a passport", "my sister", "music"]


def fill(desk: Desk, turns: int) -> None:
    for i in range(turns):
        desk.tell(
            f"{THINGS[i % 7].capitalize()} number {i} is in {PLACES[i % 5]}" + ("?" if i % 4 == 0 else ""),
            f"I note {THINGS[(i * 3) % 7]} in {PLACES[(i * 2) % 5]}, case {i}." if i % 3 else "",
        )


def bank_at(desk: Desk, seq: int) -> HotBank:
    """The bank as it was after event `seq`, from its ledger and the words that its memories still have."""
    with desk.acting():
        bank = Bank.objects.get(pk=desk.bank_id)
        hot = HotBank(WIDTH)
        hot.apply(read_events(bank, upto=seq), load(Memory.objects.filter(bank=bank).values_list("pk", flat=True)))
    check(hot)
    return hot


def test_every_candidate_of_a_past_recall_can_be_computed_again(person: User, now: datetime) -> None:
    desk = Desk(person, memories=70, tokens=100_000)
    fill(desk, 45)  # about eighty sides: some leave
    with desk.acting():
        memories.pin(desk.memory("A red bike number 7 is in Oslo").pk, now=now)
    asked = desk.ask("Where is my red bike, and where is number 44?")
    # the bank lives on: memories come, go and change, so that nothing of what follows can lean on the present
    fill(desk, 15)
    with desk.acting():
        memories.unpin(desk.memory("A red bike number 7 is in Oslo").pk, now=now)
    desk.configure(budget_memories=20)
    desk.ask("Where is the garden?")

    with desk.acting():
        trace = Recall.objects.select_related("turn").get(pk=asked.trace.pk)
        cue = prepare_cue(trace.turn, previous=None, exclude_turns=frozenset(), now=trace.at).cue
    assert trace.adapter == serving_adapter().version
    hot = bank_at(desk, trace.seq)
    candidates = hot.candidates(cue, list(dict.fromkeys(terms(cue.text))))
    computed = signals.compute(cue, candidates)
    contributions = computed.values * serving_adapter().recall.weights(trace.asking)
    logits = contributions.sum(axis=1)
    weights = attention.softmax(logits, serving_adapter().recall.temperature)
    fit = attention.fits(cue, candidates, serving_adapter())
    where = {str(one.id): i for i, one in enumerate(candidates.items)}

    assert len(where) == trace.candidates == 70
    assert len(trace.rows) == attention.TRACED
    for row in trace.rows:
        i = where.pop(row["memory"])
        assert row["signals"] == pytest.approx(dict(zip(signals.NAMES, computed.values[i], strict=True)), abs=2e-5)
        assert row["logit"] == pytest.approx(float(logits[i]), abs=2e-5)
        assert row["weight"] == pytest.approx(float(weights[i]), abs=2e-6)
        assert row["fit"] == pytest.approx(float(fit[i]), abs=2e-5)
        for name, value in row["contributions"].items():
            assert value == pytest.approx(float(contributions[i][signals.NAMES.index(name)]), abs=2e-5)
        assert sum(row["contributions"].values()) == pytest.approx(row["logit"], abs=1e-4)
    for name, constants in trace.normalisation.items():
        assert constants == pytest.approx(computed.normalisation[name], abs=2e-6)

    # the rest were never stored: they rank behind, and theirs is the weight that the stored rows leave
    assert len(where) == 70 - attention.TRACED
    rest = np.array(list(where.values()))
    assert float(logits[rest].max()) <= min(row["logit"] for row in trace.rows) + 2e-5
    assert sum(row["weight"] for row in trace.rows) + float(weights[rest].sum()) == pytest.approx(1.0, abs=1e-4)
    below = sum(row["fit"] < trace.floor for row in trace.rows) + int((fit[rest] < trace.floor).sum())
    assert below == trace.below_floor


def test_a_trace_was_read_before_its_own_event(desk: Desk) -> None:
    desk.tell("Anna lives in Lisbon")
    asked = desk.ask("Where does Anna live?")
    assert bank_at(desk, asked.trace.seq).state.seq == asked.trace.seq
    assert desk.happened()[asked.trace.seq] == "recalled"
    assert next(iter(bank_at(desk, asked.trace.seq))).recalls == 0
    assert next(iter(bank_at(desk, asked.trace.seq + 1))).recalls == 1
