"""The figures of adapters, by value."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.memory.charts.test_parts import checked
from training.charts_adapters import CompareRow, LineageRow, compare_figure, lineage_figure

AT = datetime(2026, 11, 1, tzinfo=UTC)


def test_each_version_stands_by_its_generation_with_a_line_to_its_parent() -> None:
    rows = [LineageRow("shipped-2", "", 0, "", 3, 0, AT), LineageRow("shared-1", "shipped-2", 1, "serves", 5, 400, AT),
            LineageRow("shared-2", "shared-1", 2, "shadows", 0, 500, AT)]  # fmt: skip
    drawn = lineage_figure(rows, names=lambda state: state or "waits")
    lines, serves, shadows, waits = drawn["data"]
    assert (lines["x"], lines["y"]) == ([0, 1, None, 1, 2, None], [0, 1, None, 1, 2, None])
    assert [one["name"] for one in (serves, shadows, waits)] == ["serves", "shadows", "waits"]
    assert (serves["x"], serves["y"], serves["text"]) == ([1], [1], ["shared-1"])
    assert len({one["marker"]["symbol"] for one in (serves, shadows, waits)}) == 3
    checked(drawn)
    assert len(lineage_figure(rows[:1])["data"]) == 1


def test_a_challenger_is_surely_ahead_only_where_its_interval_lies_above_0() -> None:
    rows = [
        CompareRow("shared-1", "kept", "tool_use", 0.5, 0.6, 0.1, 0.04, 0.16, 40),
        CompareRow("shared-1", "ranking", "tool_use", 0.5, 0.51, 0.01, -0.02, 0.05, 40),
        CompareRow("shared-1", "pairs", "tool_use", 0.5, 0.4, -0.1, -0.2, -0.01, 40),
    ]
    ahead, behind, unsure = compare_figure(rows)["data"]
    assert (ahead["x"], ahead["y"]) == ([0.1], [0])
    assert (ahead["error_x"]["array"], ahead["error_x"]["arrayminus"]) == ([0.06], [0.06])
    assert (behind["y"], unsure["y"]) == ([2], [1])
    assert unsure["error_x"]["arrayminus"] == [0.03]
    checked(compare_figure(rows))
