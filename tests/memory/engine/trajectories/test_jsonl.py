"""AGORA's JSONL: fields and their defaults, several conversations, and the report of all that is broken."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.engine.trajectories import TrajectoryError
from memory.engine.trajectories.jsonl import MAX_LINE_BYTES, read_jsonl

HEADER = {"conversation": {"id": "c1", "title": "Chat", "speakers": {"observation": "Ida", "action": "Bot"}}}


def lines(*records):
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in records).encode()


def read(*records):
    return read_jsonl(lines(*records))


def problems_of(data):
    with pytest.raises(TrajectoryError) as caught:
        read_jsonl(data)
    return [(problem.line, problem.sentence) for problem in caught.value.problems]


def test_a_turn_of_two_strings_needs_nothing_else():
    (trajectory,) = read({"observation": "Hi", "action": "Hello"})
    (turn,) = trajectory.turns
    assert (turn.ordinal, turn.session, turn.external_id) == (1, 1, "1")
    assert (turn.observation.role, turn.observation.speaker, turn.observation.external_id) == (
        "user",
        "User",
        "1.observation",
    )
    assert (turn.action.role, turn.action.speaker, turn.action.at) == ("assistant", "Assistant", None)
    assert (trajectory.title, trajectory.kind) == ("Hi", "user_assistant")


def test_every_field_of_a_turn_is_kept():
    (trajectory,) = read(
        HEADER,
        {
            "id": "x7",
            "session": 3,
            "place": "kitchen",
            "at": "2026-09-14T18:30:00+02:00",
            "observation": {"text": "sold?", "id": "q"},
            "action": {"text": "61", "role": "tool", "at": "2026-09-14T16:31:00Z", "speaker": "Shop"},
            "tool_calls": [{"name": "count", "arguments": {"a": [1, None, True]}}],
            "outcome": {"reward": 1.0},
        },
    )
    (turn,) = trajectory.turns
    assert (trajectory.external_id, trajectory.title) == ("c1", "Chat")
    assert (turn.external_id, turn.session, turn.place) == ("x7", 3, "kitchen")
    assert (turn.observation.speaker, turn.observation.external_id) == ("Ida", "q")
    assert turn.observation.at == datetime(2026, 9, 14, 16, 30, tzinfo=UTC)
    assert (turn.action.speaker, turn.action.role) == ("Shop", "tool")
    assert turn.action.at == datetime(2026, 9, 14, 16, 31, tzinfo=UTC)
    assert turn.tool_calls == ({"name": "count", "arguments": {"a": [1, None, True]}},)
    assert turn.outcome == {"reward": 1.0}


def test_a_tools_result_is_not_spoken_by_the_headers_person():
    (trajectory,) = read(HEADER, {"observation": {"text": "42", "role": "tool"}, "action": "It is 42."})
    assert trajectory.turns[0].observation.speaker == "Tool"
    assert trajectory.turns[0].action.speaker == "Bot"
    assert trajectory.kind == "tool_use"


def test_a_session_left_out_is_the_one_before():
    (trajectory,) = read(*[{"observation": "x", **more} for more in ({}, {"session": 4}, {}, {"session": 5})])
    assert [turn.session for turn in trajectory.turns] == [1, 4, 4, 5]


def test_several_conversations_lie_in_one_file_by_header_and_by_name():
    first, second, third = read(
        HEADER,
        {"observation": "one"},
        {"conversation": {"id": "c2"}},
        {"observation": "two"},
        {"conversation": "c1", "observation": "three"},
        {"conversation": "c3", "observation": "four"},
        {"observation": "five"},
    )
    texts = [[turn.observation.text for turn in one.turns] for one in (first, second, third)]
    assert texts == [["one", "three"], ["two", "five"], ["four"]]
    assert [one.external_id for one in (first, second, third)] == ["c1", "c2", "c3"]


def test_a_conversation_without_an_id_is_named_by_its_content():
    name = read({"observation": "x"})[0].external_id
    assert name == read({"observation": "x"})[0].external_id
    assert name != read({"observation": "y"})[0].external_id
    assert name != read({"observation": "x", "place": "hall"})[0].external_id


def test_the_examples_of_the_document_are_read():
    document = Path(__file__).resolve().parents[4] / "docs" / "trajectory-format.md"
    examples = re.findall(r"```json\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
    trajectories = [read_jsonl(example.encode())[0] for example in examples]
    assert [len(one.turns) for one in trajectories] == [1, 2]
    assert trajectories[1].turns[1].observation.role == "tool"


def test_bom_crlf_blank_lines_and_a_missing_last_line_end_are_no_trouble():
    data = b'\xef\xbb\xbf\r\n{"observation": "a\xe2\x80\xa8b"}\r\n\r\n   \r\n{"action": "c"}'
    (trajectory,) = read_jsonl(data)
    assert trajectory.turns[0].observation.text == "a\u2028b"
    assert trajectory.turns[1].observation is None
    assert trajectory.turns[1].action.text == "c"


def test_nul_and_lone_surrogates_are_taken_out_everywhere():
    (trajectory,) = read(
        r'{"observation": {"text": "a\u0000b\ud800", "speaker": "I\u0000da"}, "place": "k\udc00",'
        r' "tool_calls": [{"name": "n", "k\u0000": ["\ud83d\ude00\ud83d"]}],'
        r' "outcome": {"o\ud800": "\u0000"}}'
    )
    (turn,) = trajectory.turns
    assert (turn.observation.text, turn.observation.speaker, turn.place) == ("ab", "Ida", "k")
    assert turn.tool_calls == ({"name": "n", "k": ["😀"]},)
    assert turn.outcome == {"o": ""}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("{oops", "not JSON"),
        ('{"observation": "a', "not JSON"),
        ("[1]", "must be an object, not a list"),
        ("null", "must be an object, not null"),
        ({}, "needs the text"),
        ({"observation": " ", "action": None}, "needs the text"),
        ({"observation": {"text": "\u0000"}}, "needs the text"),
        ({"observation": 5}, "must be an object, not a number"),
        ({"observation": {"text": ["x"]}}, "must be a string, not a list"),
        (
            {"observation": {"text": "x", "role": "system"}},
            "one of user, assistant, tool, other, not “system”",
        ),
        ({"observation": {"text": "x", "speaker": ""}}, "must not be empty"),
        ({"observation": {"text": "x", "speaker": "s" * 201}}, "at most 200"),
        ({"observation": {"text": "x", "mood": "glad"}}, "Unknown field “mood” in the observation"),
        ({"observaton": "x", "action": "y"}, "Unknown field “observaton”"),
        ({"observation": "x", "at": "2026-09-14T18:30:00"}, "has no offset"),
        ({"observation": "x", "at": "2026-09-14"}, "has no offset"),
        ({"observation": "x", "at": "last week"}, "not an ISO-8601 instant"),
        ({"observation": "x", "at": "0001-01-01T00:00:00+14:00"}, "not an ISO-8601 instant"),
        ({"observation": "x", "at": 1789000000}, "must be a string, not a number"),
        ({"observation": "x", "session": "2"}, "whole number, not a string"),
        ({"observation": "x", "session": True}, "whole number, not a boolean"),
        ({"observation": "x", "session": 0}, "between 1 and"),
        ({"observation": "x", "place": 3}, "“place” must be a string"),
        ({"observation": "x", "conversation": 3}, "must be a string (an id) or an object"),
        ({"observation": "x", "tool_calls": {"name": "n"}}, "must be a list"),
        ({"observation": "x", "tool_calls": ["n"]}, "tool call 1 must be an object"),
        ({"observation": "x", "tool_calls": [{}]}, "“name” of tool call 1"),
        ({"observation": "x", "outcome": "won"}, "“outcome” must be an object"),
        ('{"observation": "x", "outcome": {"a": NaN}}', "NaN is not a JSON number"),
        ('{"observation": "x", "outcome": {"a": 1e999}}', "too large to store"),
        ('{"observation": "x", "outcome": {"a": ' + "9" * 5000 + "}}", "number that cannot be read"),
        ('{"observation": "x", "outcome": {"a": ' + "[" * 80 + "]" * 80 + "}}", "nested deeper than 64"),
        ('{"observation": "x", "outcome": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deep"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_broken_line_is_reported_with_its_number_and_reason(record, reason):
    data = lines({"observation": "fine"}, "", record, {"observation": "fine too"})
    ((line, sentence),) = problems_of(data)
    assert line == 3
    assert reason in sentence
    assert len(sentence) < 400


def test_every_broken_line_is_in_one_error():
    data = lines(HEADER, "{", {"observation": "x", "session": 2}, {"observation": "x", "session": 1}, "7")
    assert [line for line, _ in problems_of(data)] == [2, 4, 5]
    with pytest.raises(TrajectoryError) as caught:
        read_jsonl(data)
    assert str(caught.value).splitlines()[0].startswith("Line 2: This is not JSON")
    assert (caught.value.line, caught.value.retryable) == (2, False)


def test_a_long_report_says_how_many_lines_it_leaves_out():
    with pytest.raises(TrajectoryError) as caught:
        read_jsonl(b"a,b,c\n" * 50)
    assert len(caught.value.problems) == 50
    assert str(caught.value).endswith("And 30 more.")


def test_bytes_that_are_not_utf8_are_reported_with_their_line():
    ((line, sentence),) = problems_of(b'{"observation": "a"}\n{"observation": "\xff"}\n')
    assert line == 2
    assert "UTF-8" in sentence


def test_a_line_of_four_mebibytes_is_read_and_a_longer_one_refused():
    frame = len('{"observation": ""}')
    (trajectory,) = read({"observation": "x" * (MAX_LINE_BYTES - frame)})
    assert len(trajectory.turns[0].observation.text) == MAX_LINE_BYTES - frame
    ((line, sentence),) = problems_of(lines({"observation": "x" * (MAX_LINE_BYTES - frame + 1)}))
    assert line == 1
    assert "4 MiB" in sentence


def test_ids_that_stand_twice_are_refused_within_a_conversation_only():
    assert len(read(HEADER, {"id": "a", "action": "x"}, {"conversation": "c2", "id": "a", "action": "y"})) == 2
    ((line, sentence),) = problems_of(lines({"id": "a", "action": "x"}, {"id": "a", "action": "y"}))
    assert line == 2
    assert "stands twice" in sentence


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"id": ""}, "must not be empty"),
        ({"id": 7}, "must be a string"),
        ({"id": "c", "kind": "monologue"}, "must be one of two_people, user_assistant, tool_use"),
        ({"id": "c", "speakers": {"you": "Ida"}}, "Unknown field “you”"),
        ({"id": "c", "metadata": []}, None),
        ({"id": "c", "metadata": [1]}, "must be an object, not a list"),
        ({"id": "c", "colour": "red"}, "Unknown field “colour” in the header"),
    ],
)
def test_a_broken_header_is_reported_alone_and_an_empty_part_is_none(header, reason):
    data = lines({"conversation": header}, {"observation": "x"})
    if reason is None:
        assert read_jsonl(data)[0].metadata == {"format": "jsonl"}
        return
    ((line, sentence),) = problems_of(data)
    assert line == 1
    assert reason in sentence


def test_a_header_stands_once_before_turns():
    assert [line for line, _ in problems_of(lines(HEADER, {"observation": "x"}, HEADER))] == [3]
    assert [line for line, _ in problems_of(lines(HEADER, HEADER, {"observation": "x"}))] == [2]
    ((line, sentence),) = problems_of(lines(HEADER))
    assert (line, sentence) == (1, "The conversation of this header has no turn.")
