"""The frame of all figures, and the colours that they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from plotly.graph_objects import Figure

from memory.charts.parts import EXCERPT, Role, colour, figure, plain, room, scale, time_axis

ROOT = Path(__file__).resolve().parent.parent.parent.parent
TOKENS = (ROOT / "static/site/figures.css").read_text()


def resolved(value: object) -> object:
    """A figure as Plotly's own checks take it: the roles, which only the page's script reads, are some colour."""
    if isinstance(value, dict):
        return {name: resolved(one) for name, one in value.items()}
    if isinstance(value, list):
        return [resolved(one) for one in value]
    return "#123456" if isinstance(value, str) and value.startswith("role:") else value


def checked(drawn: dict[str, object]) -> Figure:
    """Raises `ValueError` where Plotly knows a name or value of the figure not."""
    return Figure(resolved(drawn))


@pytest.mark.parametrize("role", list(Role))
def test_every_role_has_a_light_and_a_dark_colour(role: Role) -> None:
    assert re.search(rf"--figure-{role.value}: (?:light-dark\(#\w+, #\w+\)|var\(--[\w-]+\));", TOKENS)


def test_the_frame_is_plotlys_and_names_no_colour() -> None:
    drawn = figure([{"type": "scatter", "x": [1], "y": [2]}], xaxis=time_axis(1, 30, "Turn"), yaxis={"title": "y"})
    assert checked(drawn).layout.xaxis.title.text == "Turn"
    assert drawn["layout"]["yaxis"]["title"]["font"]["color"] == colour(Role.MUTED)
    assert not re.search(r"#[0-9a-f]{3,8}\b", str(drawn))
    assert drawn["layout"]["showlegend"] is False


def test_plotly_refuses_what_is_no_figure() -> None:
    with pytest.raises(ValueError, match="Invalid"):
        checked(figure([{"type": "scatter", "no_such_thing": 1}]))


def test_a_scale_goes_from_role_to_role() -> None:
    assert scale(Role.HEAT_LOW, Role.HEAT_HIGH) == [[0.0, "role:heat-low"], [1.0, "role:heat-high"]]


@pytest.mark.parametrize(("turns", "step"), [(1, 1), (8, 1), (16, 2), (30, 5), (100, 20), (10_000, 2000)])
def test_the_time_axis_has_about_eight_whole_steps(turns: int, step: int) -> None:
    axis = time_axis(1, turns, "Turn")
    assert axis["dtick"] == step
    assert axis["range"] == [0.5, turns + 0.5]


def test_labels_get_the_room_of_the_longest_and_wide_letters_count_twice() -> None:
    assert room([], 10) == 16
    assert room(["ab", "abcd"], 10) == 16 + 24
    assert room(["abcd", "\u6e2f\u53e3\u6e2f"], 10) == 16 + 36


def test_words_of_people_are_no_markup_and_stay_short() -> None:
    assert plain('<a href="javascript:x">a\n&b</a>') == '&lt;a href="javascript:x"&gt;a &amp;b&lt;/a&gt;'
    assert plain("x" * EXCERPT) == "x" * EXCERPT
    assert plain("x" * (EXCERPT + 1)) == "x" * (EXCERPT - 1) + "…"
