"""The bench of the queue's order, on sides whose features are drawn by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bench import queue
from bench.queue import LABELS, measure, places_from_leaving, queued
from bench.table import Row
from memory.engine.adapting import own_head
from tests.bench.test_adapt import some


def test_the_next_to_leave_stands_at_nought_and_what_left_below() -> None:
    logits = np.array([5.0, 1.0, 4.0, 3.0, 2.0, 0.0, -1.0, -2.0, -3.0, -4.0])  # a fifth of ten is kept
    assert places_from_leaving(logits).tolist() == [1, -3, 0, -1, -2, -4, -5, -6, -7, -8]


def test_the_queue_asks_each_memory_once_and_as_many_as_it_is_told() -> None:
    z = np.random.default_rng(1).standard_normal((500, 2))
    head = own_head([1.0, 0.5], -1.0)
    rows = queued(head, z, places_from_leaving(head.logits(z)), np.random.default_rng(2))
    assert len(set(rows.tolist())) == LABELS


def test_both_orders_are_measured_on_the_same_draws_and_the_difference_is_theirs() -> None:
    rows = measure([some("one", [1.0, 0.0]), some("two", [0.0, 1.0])], seeds=4)
    of = {(row.metric, row.category, row.method): row for row in rows}
    differences = [of["queue_minus_random", name, "queue"].value for name in ("one", "two")]
    for name, difference in zip(("one", "two"), differences, strict=True):
        kept = [of["evidence_kept", name, order].value for order in ("queue", "random")]
        assert difference == pytest.approx(kept[0] - kept[1], abs=2e-4)
    assert _all(rows).value == pytest.approx(np.mean(differences), abs=2e-4)
    assert _all(rows).n == 4


def _all(rows: Sequence[Row]) -> Row:
    (row,) = [row for row in rows if row.category == "all"]
    return row


def test_an_order_that_is_random_itself_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "SHARES", {})
    row = _all(measure([some("one", [1.0, 0.0])], seeds=8))
    assert row.low is not None
    assert row.high is not None
    assert row.low <= 0 <= row.high
