"""Figures of one recall, by value."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from memory.charts.parts import Role, colour
from memory.charts.why import MOST_SIGNALS, contributions_figure, floor_figure, reread_figure
from memory.rereading import RereadRow
from memory.why import CandidateRow
from tests.memory.charts.test_parts import checked


def row(rank: int, what: str, *, weight: float = 0.1, fit: float = 0.4, interplay: float = 0.0, **added: float) -> Any:
    return CandidateRow(
        rank, UUID(int=rank), what, weight, fit, 0.3, 0.6, "maybe", round(sum(added.values()) + interplay, 5),
        what == "recalled", what == "recalled", False, False, "held", interplay, text=f"<memory> {rank}",
        **{f"contribution_{name}": value for name, value in added.items()},
    )  # fmt: skip


ROWS = [
    row(1, "recalled", weight=0.7, fit=0.9, cosine=2.0, lexical=1.0, age=-0.25, interplay=0.5),
    row(2, "near", weight=0.2, fit=0.5, cosine=1.0, lexical=-0.5),
    row(3, "below", weight=0.1, fit=0.1, cosine=-1.0, pinned=0.1, length=0.05, numbers=0.2, dated=0.3, recency=0.01),
]


def test_bars_are_what_each_signal_adds_and_the_least_are_one_bar() -> None:
    drawn = contributions_figure(ROWS, names=str.upper, address=lambda memory: f"/{memory.int}/")
    checked(drawn)
    bars = {one["name"]: one for one in drawn["data"] if one["type"] == "bar"}
    assert list(bars) == ["COSINE", "LEXICAL", "INTERPLAY", "DATED", "AGE", "NUMBERS", "OTHERS"]
    assert len(bars) == MOST_SIGNALS + 1
    assert bars["COSINE"]["x"] == [2.0, 1.0, -1.0]
    assert bars["OTHERS"]["x"] == [0, 0, pytest.approx(0.16)]
    assert bars["OTHERS"]["marker"]["color"] == colour(Role.MUTED)
    assert bars["AGE"]["customdata"] == ["/1/", "/2/", "/3/"]
    assert len({one["marker"]["color"] for one in bars.values()}) == len(bars)
    for place, one in enumerate(ROWS):
        assert sum(bar["x"][place] for bar in bars.values()) == pytest.approx(one.logit)
    assert drawn["layout"]["yaxis"]["ticktext"][0] == "1 · &lt;memory&gt; 1"


def test_the_sums_are_marked_apart_by_what_became_of_them() -> None:
    sums = [one for one in contributions_figure(ROWS)["data"] if one["type"] == "scatter"]
    assert [(one["name"], one["y"], one["x"]) for one in sums] == [
        ("recalled", [0], [3.25]), ("near", [1], [0.5]), ("below", [2], [pytest.approx(-0.34)])
    ]  # fmt: skip
    assert len({one["marker"]["symbol"] for one in sums}) == 3


def test_the_floor_and_the_high_level_are_lines_at_their_fit() -> None:
    drawn = floor_figure(ROWS, 0.3, 0.6)
    checked(drawn)
    assert [(one["x0"], one["x1"]) for one in drawn["layout"]["shapes"]] == [(0.3, 0.3), (0.6, 0.6)]
    assert [(one["name"], one["x"], one["y"]) for one in drawn["data"]] == [
        ("recalled", [0.9], [0.7]), ("near", [0.5], [0.2]), ("below", [0.1], [0.1])
    ]  # fmt: skip


def test_both_readings_stand_beside_each_other_and_what_was_not_handed_on_is_hatched() -> None:
    rows = [
        RereadRow(UUID(int=1), 1, None, 0.7, None, 2.0, None, 0.9, True, False, "left", "one"),
        RereadRow(UUID(int=2), 2, 1, 0.3, 0.9, 1.0, 1.1, 0.8, False, True, "came", "two"),
    ]
    drawn = reread_figure(rows)
    checked(drawn)
    before, after = drawn["data"]
    assert (before["x"], after["x"]) == ([0.7, 0.3], [None, 0.9])
    assert before["marker"]["pattern"]["shape"] == ["", "/"]
    assert after["marker"]["pattern"]["shape"] == ["/", ""]
    assert drawn["layout"]["yaxis"]["ticktext"] == ["one", "two"]


def test_a_recall_of_an_empty_bank_draws_nothing() -> None:
    assert contributions_figure([])["data"] == floor_figure([], 0.3, 0.6)["data"] == []
