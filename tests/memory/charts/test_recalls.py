"""The map of turns against memories, by value."""

from __future__ import annotations

from uuid import uuid4

from memory.charts.recalls import weights_figure
from memory.life_recalls import Heat, HeatCell, HeatRow
from tests.memory.charts.test_parts import checked


def test_rows_columns_and_kinds_of_cells_are_where_they_belong() -> None:
    recall = uuid4()
    heat = Heat(
        first=4, last=6, width=1, columns=[4, 5, 6], recalls=[None, recall, None],
        rows=[HeatRow(uuid4(), 1, 0.75, 1, "Vera <bakes>"), HeatRow(uuid4(), 2, 0.5, 1, "x" * 99)],
        cells=[HeatCell(1, 0, 0.75, "recalled"), HeatCell(2, 0, 0.1, "below"), HeatCell(1, 1, 0.2, "near")],
    )  # fmt: skip
    drawn = weights_figure(heat, address=lambda one: f"/memories/recalls/{one}/")
    below, near, recalled, *legend = drawn["data"]
    assert recalled["z"] == [[None, 0.75, None], [None, None, None]]
    assert near["z"] == [[None, None, None], [None, 0.2, None]]
    assert below["z"] == [[None, None, 0.1], [None, None, None]]
    assert recalled["x"] == [4, 5, 6]
    assert {one["zmax"] for one in (below, near, recalled)} == {0.75}
    assert recalled["colorscale"] != below["colorscale"] != near["colorscale"]
    assert recalled["meta"]["addresses"] == ["", f"/memories/recalls/{recall}/", ""]
    assert [one["name"] for one in legend] == ["recalled", "no room left", "below the floor"]
    assert drawn["layout"]["yaxis"]["ticktext"] == ["Vera &lt;bakes&gt;", "x" * 33 + "…"]
    checked(drawn)


def test_a_column_of_several_turns_stands_in_their_middle_and_leads_nowhere() -> None:
    heat = Heat(1, 12, 3, [1, 4, 7, 10], [None] * 4, [HeatRow(uuid4(), 1, 1.0, 2)], [HeatCell(3, 0, 0.5, "recalled")])
    (only,) = weights_figure(heat)["data"]
    assert only["x"] == [2.0, 5.0, 8.0, 11.0]
    assert only["z"] == [[None, None, None, 0.5]]
    assert not any(only["meta"]["addresses"])
    checked(weights_figure(Heat(1, 1, 1, [1], [None], [], [])))
