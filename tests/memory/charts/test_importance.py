"""The figures of importance and of calibration, by value."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from memory.charts import importance
from memory.charts.importance import calibration_figure, group_of, importance_figure, is_exact
from memory.history import AdapterChange
from memory.life import ImportanceRow
from memory.life_calibration import CalibrationRow, calibration_rows
from tests.memory.charts.test_parts import checked

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)


def row(turn: int = 1, **fields: Any) -> ImportanceRow:
    usual = {"at": AT + timedelta(minutes=turn), "memory": uuid4(), "kind": "side", "role": "user", "importance": 0.5,
             "first": 0.5, "adapter": "shipped-2", "state": "held", "reason": "", "pinned": False, "tokens": 9,
             "label": None, "label_weight": None, "text": "Vera <b>bakes</b>"}  # fmt: skip
    return ImportanceRow(**{"turn": turn, **usual, **fields})


def test_each_memory_is_a_point_at_its_turn_with_its_address_and_words() -> None:
    rows = [
        row(1, importance=0.25, first=0.25), row(2, importance=0.75, state="archived"),
        row(3, role="assistant", pinned=True),
    ]  # fmt: skip

    def address(memory: UUID) -> str:
        return f"/memories/{memory}/"

    drawn = importance_figure(rows, 1, 3, address=address)
    user, assistant = drawn["data"]
    assert (user["name"], user["x"], user["y"]) == ("user", [1, 2], [0.25, 0.75])
    assert user["customdata"] == [address(rows[0].memory), address(rows[1].memory)]
    assert user["text"][0] == "<b>0.250</b> · Vera &lt;b&gt;bakes&lt;/b&gt;<br>Turn 1 · 2026-03-01 09:01"
    assert user["marker"]["opacity"] == [0.9, 0.45]
    assert (assistant["x"], assistant["marker"]["line"]["width"]) == ([3], [2])
    assert user["marker"]["symbol"] != assistant["marker"]["symbol"]
    assert drawn["layout"]["xaxis"]["range"] == [0.5, 3.5]
    checked(drawn)


def test_bars_reach_from_low_to_high_and_a_score_without_an_interval_has_none() -> None:
    rows = [row(1, importance=0.5, first=0.5, low=0.25, high=0.75), row(2, unsure="other_adapter")]
    (points,) = importance_figure(rows, 1, 2)["data"]
    assert points["error_y"]["array"] == points["error_y"]["arrayminus"] == [0.25, 0.0]
    assert points["text"][0].endswith("<br>one deviation: 0.25 to 0.75")
    assert "deviation" not in points["text"][1]
    checked(importance_figure(rows, 1, 2))


def test_so_many_bars_that_they_would_cover_the_points_are_left_to_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importance, "MOST_BARS", 1)
    (points,) = importance_figure([row(1, low=0.25, high=0.75), row(2)], 1, 2)["data"]
    assert "error_y" not in points
    assert points["text"][0].endswith("0.25 to 0.75")


def test_judgements_and_changes_of_adapter_are_marked() -> None:
    judged = row(2, importance=0.2, first=0.4, label=1.0, label_weight=2.0)
    change = AdapterChange(9, AT, "promoted-3", "")
    drawn = importance_figure([row(1), judged], 1, 9, changes=[(4, change)])
    mark = drawn["data"][-1]
    assert (mark["name"], mark["x"], mark["y"]) == ("judgement", [2], [1.0])
    assert mark["text"][0].endswith("0.400 when it was written<br>judged 1.00")
    assert [one["x0"] for one in drawn["layout"]["shapes"]] == [3.5]
    assert [one["text"] for one in drawn["layout"]["annotations"]] == ["promoted-3"]
    checked(drawn)


def test_too_many_memories_are_bands_of_a_few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importance, "MOST_POINTS", 3)
    monkeypatch.setattr(importance, "MOST_BINS", 2)
    rows = [row(turn, importance=turn / 10) for turn in (1, 2, 3, 5)]
    assert not is_exact(rows)
    lowest, highest, mean = importance_figure(rows, 1, 6)["data"]
    assert lowest["x"] == highest["x"] == mean["x"] == [2.0, 5.0]  # the middle of turns 1 to 3 and 4 to 6
    assert (lowest["y"], highest["y"], mean["y"]) == ([0.1, 0.5], [0.3, 0.5], [0.2, 0.5])
    assert (highest["fill"], highest["fillcolor"]) == ("tonexty", "role:hue-1/18")
    assert mean["customdata"] == [[None, 0.1, 0.3, 3], [None, 0.5, 0.5, 1]]
    checked(importance_figure(rows, 1, 6))


def test_groups_are_roles_and_formed_memories_are_a_group_of_their_own() -> None:
    assert group_of(row(role="tool")) == "tool"
    assert group_of(row(kind="summary", role="user")) == "summary"
    names = [trace["name"] for trace in importance_figure([row(kind="odd"), row(role="other"), row()], 1, 1)["data"]]
    assert names == ["user", "other", "odd"]


def test_calibration_counts_judged_memories_by_tenth_and_weighs_judgements() -> None:
    rows = [row(importance=0.05, label=0.0, label_weight=1.0), row(importance=0.09, label=1.0, label_weight=3.0),
            row(importance=1.0, label=0.5, label_weight=1.0), row(importance=0.5),
            row(importance=0.5, label=1.0, label_weight=0.0)]  # fmt: skip
    assert calibration_rows(rows) == [
        CalibrationRow(0.0, 0.1, 2, pytest.approx(0.07), 0.75), CalibrationRow(0.9, 1.0, 1, 1.0, 0.5)
    ]  # fmt: skip
    drawn = calibration_figure(calibration_rows(rows))
    assert (drawn["data"][1]["x"], drawn["data"][1]["y"]) == ([0.07, 1.0], [0.75, 0.5])
    checked(drawn)
    checked(calibration_figure([]))
