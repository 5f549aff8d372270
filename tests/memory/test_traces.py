"""Traces in few bytes say what a recollection said."""

from uuid import UUID

import pytest

from memory.engine.attention import recall
from memory.engine.lexical import terms
from memory.engine.prior import prior
from memory.engine.types import RecallLimits, Recollection
from memory.models import Recall
from memory.traces import forget_rows, packed, trace_rows
from tests.memory.engine.toy_bank import cue, hot_bank, item

TEXTS = ["Anna lives in Lisbon", "my bike is red", "I drink tea", "what does Anna drink?", "Bruno is a dog", "yes"]


@pytest.fixture
def found() -> Recollection:
    asked = cue("Where does Anna live?")
    hot = hot_bank([item(i, text) for i, text in enumerate(TEXTS)])
    return recall(asked, hot.candidates(asked, terms(asked.text)), prior(), RecallLimits(tokens=100))


def trace_of(found: Recollection) -> Recall:
    ids = [one.id for one in found.items]
    return Recall(
        floor=found.floor, highly=found.highly, memories=ids, signals=list(found.names), numbers=packed(found),
        recalled=[ids[row] for row in found.chosen], injected=[ids[row] for row in found.chosen],
    )  # fmt: skip


def test_a_traces_rows_are_the_recollections(found: Recollection) -> None:
    rows = trace_rows(trace_of(found))
    assert len(rows) == len(found.rows) == 6
    for shown, row in zip(rows, found.rows, strict=True):
        assert shown["memory"] == str(row.item.id)
        assert shown["signals"] == {name: round(value, 5) for name, value in row.signals.items()}
        parts = {name: round(value, 5) for name, value in row.contributions.items()}
        assert shown["contributions"] == {name: value for name, value in parts.items() if value}
        assert (shown["logit"], shown["weight"]) == (round(row.logit, 5), round(row.weight, 6))
        assert (shown["fit"], shown["group"], shown["state"]) == (round(row.fit, 5), row.group, row.state.value)
        assert (shown["recalled"], shown["injected"], shown["cited"]) == (row.injected, row.injected, False)
        assert sum(shown["contributions"].values()) == pytest.approx(shown["logit"], abs=1e-4)
    assert found.injected == tuple(row for row in found.rows if row.injected) != ()


def test_what_is_forgotten_leaves_a_trace_and_the_other_rows_stay(found: Recollection) -> None:
    trace = trace_of(found)
    before = trace.rows
    gone = UUID(before[0]["memory"])
    assert before[0]["injected"]
    forget_rows(trace, {gone})
    assert trace.rows == before[1:]
    assert gone not in {*trace.memories, *trace.recalled, *trace.injected}


def test_an_empty_trace_has_no_rows() -> None:
    assert trace_rows(Recall(floor=0.4, highly=0.6)) == []
