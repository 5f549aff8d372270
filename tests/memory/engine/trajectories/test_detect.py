"""The format is told by content, never by a file's name."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.trajectories import TrajectoryError, detect, read_trajectories, read_trajectory_file

LOCOMO = {
    "sample_id": "c",
    "conversation": {"session_1": [{"speaker": "Ann", "text": "hi", "dia_id": "D1:1"}]},
}
TURN = {"observation": "hi"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps([LOCOMO]), "locomo"),
        (json.dumps(LOCOMO), "locomo"),
        (json.dumps([LOCOMO], indent=2), "locomo"),
        ("\ufeff\n" + json.dumps(LOCOMO, indent=1), "locomo"),
        (json.dumps(TURN), "jsonl"),
        (json.dumps({"conversation": {"id": "c"}}) + "\n" + json.dumps(TURN), "jsonl"),
        ("\ufeff\r\n\r\n" + json.dumps(TURN) + "\r\n", "jsonl"),
        ('{"observation": broken\n' + json.dumps(TURN), "jsonl"),
        ("speaker,text\nAnn,hi", "jsonl"),
    ],
)
def test_content_tells_the_format(text, expected):
    assert detect(text.encode()) == expected


def test_a_list_of_turns_is_told_how_to_become_jsonl():
    for text in (json.dumps([TURN]), json.dumps([TURN], indent=1), json.dumps(TURN, indent=1), "[]"):
        with pytest.raises(TrajectoryError, match="one turn a line"):
            read_trajectories(text.encode())


def test_a_cut_off_locomo_file_is_one_problem_and_not_a_thousand():
    text = json.dumps([LOCOMO] * 50, indent=2)[:-30]
    with pytest.raises(TrajectoryError) as caught:
        read_trajectories(text.encode())
    assert len(caught.value.problems) == 1
    assert caught.value.line > 100


@pytest.mark.parametrize("data", [b"", b"  \n\n", b"\xef\xbb\xbf\r\n"])
def test_an_empty_file_is_refused(data):
    with pytest.raises(TrajectoryError, match="empty"):
        read_trajectories(data)


def test_utf16_is_named_as_such():
    with pytest.raises(TrajectoryError, match="UTF-16"):
        read_trajectories(json.dumps(TURN).encode("utf-16"))


def test_a_named_format_is_believed():
    assert read_trajectories(json.dumps(LOCOMO).encode(), "locomo")[0].external_id == "locomo:c"
    with pytest.raises(TrajectoryError, match="Line 1: "):
        read_trajectories(json.dumps(LOCOMO).encode(), "jsonl")


def test_a_file_is_read_whatever_its_name_and_a_missing_one_is_a_sentence(tmp_path):
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps(TURN), encoding="utf-8")
    assert read_trajectory_file(path)[0].turns[0].observation.text == "hi"
    for missing in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(TrajectoryError, match="cannot be read"):
            read_trajectory_file(missing)


def read_or_refuse(data, format):
    """The conversations and "", or () and what the refusal says; any other exception fails the test."""
    try:
        return read_trajectories(data, format), ""
    except TrajectoryError as error:
        return (), str(error)


_leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_values = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "conversation",
                    "observation",
                    "action",
                    "text",
                    "at",
                    "session_1",
                    "speaker",
                    "tool_calls",
                    "id",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_values, min_size=1, max_size=4), st.sampled_from(["auto", "locomo", "jsonl"]))
def test_any_json_is_either_read_into_storable_text_or_refused_with_a_sentence(values, format):
    data = "\n".join(json.dumps(value) for value in values).encode()
    trajectories, refusal = read_or_refuse(data, format)
    assert trajectories or refusal
    for trajectory in trajectories:
        assert trajectory.turns
        for turn in trajectory.turns:
            assert turn.sides
            for side in turn.sides:
                assert side.text.strip()
                assert "\x00" not in side.text
                side.text.encode("utf-8")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_either_read_or_refused(data):
    trajectories, refusal = read_or_refuse(data, "auto")
    assert trajectories or refusal
