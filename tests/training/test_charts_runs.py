"""A run's curves, by value."""

from __future__ import annotations

from tests.memory.charts.test_parts import checked
from training.charts_runs import CurveRow, curve_rows, curves_figure

CURVES = {"loss.asking": [0.7, 0.4], "left_out.two_people": [0.6], "loss.two_people": [0.69, 0.5, 0.45]}


def test_a_runs_curves_are_rows_of_one_name_by_kind_and_step() -> None:
    assert curve_rows(CURVES, "left_out") == [CurveRow("two_people", 1, 0.6)]
    assert [(row.kind, row.step, row.value) for row in curve_rows(CURVES, "loss")] == [
        ("asking", 1, 0.7), ("asking", 2, 0.4), ("two_people", 1, 0.69), ("two_people", 2, 0.5), ("two_people", 3, 0.45)
    ]  # fmt: skip
    assert curve_rows({}, "loss") == []


def test_each_kind_is_a_line_with_a_hue_and_a_mark_of_its_own() -> None:
    drawn = curves_figure(curve_rows(CURVES, "loss"), x="Step", y="Loss", names=str.upper)
    one, two = drawn["data"]
    assert (one["name"], one["x"], one["y"]) == ("ASKING", [1, 2], [0.7, 0.4])
    assert (two["name"], two["x"], two["y"]) == ("TWO_PEOPLE", [1, 2, 3], [0.69, 0.5, 0.45])
    assert one["marker"]["symbol"] != two["marker"]["symbol"]
    assert one["line"]["color"] != two["line"]["color"]
    assert drawn["layout"]["xaxis"]["range"] == [0.5, 3.5]
    checked(drawn)
    checked(curves_figure([], x="Step", y="Loss"))
