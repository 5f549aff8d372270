"""The figures of evictions, of the budget and of single moments, by value."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from memory.charts import spans
from memory.charts.moments import moment_figure
from memory.charts.spans import budget_figure, hue_of, is_exact, spans_figure
from memory.life import BudgetRow, SpanRow
from tests.memory.charts.test_parts import checked

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)


def span(came: int, left: int | None = None, *, memory: UUID | None = None, **fields: Any) -> SpanRow:
    usual = {"came_at": AT, "how": "written", "left_at": AT if left else None, "reason": "budget" if left else "",
             "policy": "importance" if left else "", "adapter": "", "score": 0.25 if left else None, "into": None,
             "text": "Vera"}  # fmt: skip
    return SpanRow(**{"memory": memory or uuid4(), "came": came, "left": left, **usual, **fields})


def test_each_stretch_is_a_bar_from_coming_to_leaving_or_the_end() -> None:
    again = uuid4()
    rows = [span(1, 3, memory=again), span(2), span(5, memory=again, how="restored.asked"),
            span(2, 4, reason="merged", into=uuid4())]  # fmt: skip
    drawn = spans_figure(rows, 1, 8, address=lambda memory: f"/{memory}/")
    held, budget, merged, back, into = drawn["data"]
    assert [one["name"] for one in drawn["data"]] == ["held", "budget", "merged", "came back", "merged"]
    assert (budget["y"], budget["base"], budget["x"]) == ([0], [0.5], [2.5])
    assert (held["y"], held["base"], held["x"]) == ([1, 0], [1.5, 4.5], [7.0, 4.0])
    assert (merged["base"], merged["x"]) == ([1.5], [2.5])
    assert (back["x"], back["y"]) == ([5], [0])
    assert (into["x"], into["y"]) == ([4], [2])
    assert budget["text"] == ["<b>budget</b> · Vera<br>turn 1 to 3 · 2026-03-01 09:00 – 2026-03-01 09:00<br>"
                              "ranked at 0.250 by importance"]  # fmt: skip
    assert budget["customdata"] == [f"/{again}/"]
    checked(drawn)


def test_what_came_and_left_at_one_turn_is_seen_and_reasons_have_hues() -> None:
    assert spans_figure([span(4, 4)], 1, 9)["data"][0]["x"] == [0.5]
    hues = {hue_of(reason) for reason in ("held", "budget", "merged", "withdrawn", "threshold")}
    assert len(hues) == 5
    assert hue_of("a reason of tomorrow") == "role:muted"


def test_too_many_stretches_are_counted_by_turns_and_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "MOST_BARS", 3)
    monkeypatch.setattr(spans, "MOST_BINS", 2)
    rows = [span(1, 2), span(1, 3), span(1, 6, reason="merged"), span(1), span(1, 9),
            span(5, how="restored.asked")]  # fmt: skip
    assert not is_exact(rows)
    drawn = spans_figure(rows, 1, 6)
    budget, merged, back = drawn["data"]
    assert (budget["x"], budget["y"], budget["width"]) == ([2.0, 5.0], [2, 0], 3)  # what left at turn 9 is outside
    assert merged["y"] == [0, 1]
    assert back["y"] == [None, 1]
    checked(drawn)


def test_the_budget_in_use_is_told_in_shares_and_whole_numbers() -> None:
    rows = [BudgetRow(1, AT, 2, 4, 0.5, 10, 100, 0.1), BudgetRow(2, AT, 5, 4, 1.25, 1000, 10_000, 0.1)]
    memories, tokens = budget_figure(rows, 1, 2)["data"]
    assert (memories["x"], memories["y"], memories["text"]) == ([1, 2], [0.5, 1.25], ["2 / 4", "5 / 4"])
    assert (tokens["y"], tokens["text"][1]) == ([0.1, 0.1], "1,000 / 10,000")
    assert memories["line"]["dash"] != tokens["line"]["dash"]
    checked(budget_figure(rows, 1, 2))


def test_of_many_turns_the_fullest_of_each_bin_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "MOST_POINTS", 2)
    rows = [BudgetRow(turn, AT, turn % 3, 4, (turn % 3) / 4, 0, 100, 0.0) for turn in range(1, 5)]
    memories = budget_figure(rows, 1, 4)["data"][0]
    assert (memories["x"], memories["y"]) == ([2, 4], [0.5, 0.25])


def test_two_moments_stand_side_by_side_the_earlier_first() -> None:
    alone = moment_figure(9, {"held": 3, "budget": 1, "pinned": 1})
    assert [(one["name"], one["x"], one["y"]) for one in alone["data"]] == [
        ("after turn 9", ["held", "pinned", "budget"], [3, 1, 1])
    ]
    before, after = moment_figure(9, {"held": 3}, 2, {"held": 1, "erased": 2}, names=str.upper)["data"]
    assert (before["name"], before["x"], before["y"]) == ("after turn 2", ["HELD", "ERASED"], [1, 2])
    assert after["y"] == [3, 0]
    checked(alone)
