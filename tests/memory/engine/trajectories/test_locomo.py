"""LoCoMo files: pairing, dates, photos, evidence, and what a broken file is told."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.engine.trajectories import TrajectoryError, read_trajectory_file
from memory.engine.trajectories.locomo import evidence_ids, parse_date, read_locomo
from memory.engine.trajectories.values import ValueRefused

LOCOMO = Path(__file__).resolve().parents[5] / "shared" / "data" / "locomo" / "locomo_dev.json"


def message(speaker, text, dia_id, **more):
    return {"speaker": speaker, "text": text, "dia_id": dia_id, **more}


def sample(*sessions, **more):
    """A sample of Ann (first) and Ben with these sessions, all dated."""
    conversation = {"speaker_a": "Ann", "speaker_b": "Ben"}
    for number, rows in enumerate(sessions, 1):
        conversation[f"session_{number}"] = rows
        conversation[f"session_{number}_date_time"] = f"1:56 pm on {number} May, 2023"
    return {"sample_id": "conv-1", "qa": [], "conversation": conversation, **more}


def read(*samples):
    return read_locomo(json.dumps(list(samples)).encode())


def shape(trajectory):
    """Turns as (session, observation's id, action's id)."""
    return [
        (
            turn.session,
            turn.observation and turn.observation.external_id,
            turn.action and turn.action.external_id,
        )
        for turn in trajectory.turns
    ]


def problems_of(*samples):
    with pytest.raises(TrajectoryError) as caught:
        read(*samples)
    return [problem.sentence for problem in caught.value.problems]


def test_the_first_speaker_observes_as_user_and_the_second_acts_as_another_person():
    (trajectory,) = read(sample([message("Ann", "Hi Ben", "D1:1"), message("Ben", "Hi Ann", "D1:2")]))
    (turn,) = trajectory.turns
    assert (turn.observation.speaker, turn.observation.role, turn.observation.text) == (
        "Ann",
        "user",
        "Hi Ben",
    )
    assert (turn.action.speaker, turn.action.role, turn.action.text) == ("Ben", "other", "Hi Ann")
    assert turn.observation.at == turn.action.at == datetime(2023, 5, 1, 13, 56, tzinfo=UTC)
    assert (trajectory.external_id, trajectory.title) == ("locomo:conv-1", "Ann and Ben (conv-1)")
    assert trajectory.kind == "two_people"


def test_a_repeated_speaker_and_a_session_border_make_turns_of_one_side():
    (trajectory,) = read(
        sample(
            [message("Ann", "a", "D1:1"), message("Ann", "b", "D1:2"), message("Ben", "c", "D1:3")],
            [message("Ben", "d", "D2:1"), message("Ben", "e", "D2:2"), message("Ann", "f", "D2:3")],
            [message("Ben", "g", "D3:1")],
        )
    )
    assert shape(trajectory) == [
        (1, "D1:1", None),
        (1, "D1:2", "D1:3"),
        (2, None, "D2:1"),
        (2, None, "D2:2"),
        (2, "D2:3", None),
        (3, None, "D3:1"),
    ]
    assert [turn.external_id for turn in trajectory.turns] == ["D1:1", "D1:2", "D2:1", "D2:2", "D2:3", "D3:1"]
    assert [turn.ordinal for turn in trajectory.turns] == [1, 2, 3, 4, 5, 6]


def test_sessions_follow_their_numbers_and_not_their_spelling():
    (trajectory,) = read(sample(*[[message("Ann", "x", f"D{number}:1")] for number in range(1, 13)]))
    assert [turn.session for turn in trajectory.turns] == list(range(1, 13))


def test_a_photo_is_told_after_the_text_and_alone_where_there_is_none():
    rows = [
        message("Ann", "Look!", "D1:1", blip_caption="a photo of\na  dog"),
        message("Ben", "", "D1:2", blip_caption="a cat"),
        message("Ann", "", "D1:3", img_url=["x.jpg"]),
        message("Ben", "  ", "D1:4"),
    ]
    (trajectory,) = read(sample(rows))
    texts = [side.text for turn in trajectory.turns for side in turn.sides]
    assert texts == [
        "Look! [shares a photo: a photo of a dog]",
        "[shares a photo: a cat]",
        "[shares a photo]",
    ]


def test_speakers_and_ids_that_the_file_leaves_out_are_made_up_from_the_order():
    conversation = {"session_1": [{"speaker": "Zoe", "text": "hi"}, {"speaker": "Al", "text": "ho"}]}
    (trajectory,) = read({"conversation": conversation})
    assert shape(trajectory) == [(1, "D1:1", "D1:2")]
    assert trajectory.turns[0].observation.speaker == "Zoe"
    assert trajectory.turns[0].observation.at is None
    assert trajectory.external_id == read({"conversation": conversation})[0].external_id
    conversation["session_1"][0]["text"] = "hello"
    assert trajectory.external_id != read({"conversation": conversation})[0].external_id


def test_nul_and_lone_surrogates_are_taken_out_of_every_text():
    data = (
        b'\xef\xbb\xbf{"conversation": {"session_1": '
        b'[{"speaker": "A\\u0000nn", "text": "a\\ud800b \\ud83d\\ude00", "dia_id": "D1:1"}]}}'
    )
    (trajectory,) = read_locomo(data)
    assert trajectory.turns[0].observation.text == "ab 😀"
    assert trajectory.turns[0].observation.speaker == "Ann"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:56 pm on 8 May, 2023", (2023, 5, 8, 13, 56)),
        ("12:09 am on 13 September, 2023", (2023, 9, 13, 0, 9)),
        ("12:30 PM on 1 Jan, 2024", (2024, 1, 1, 12, 30)),
    ],
)
def test_dates_are_read_on_the_twelve_hour_clock(text, expected):
    assert parse_date(text) == datetime(*expected, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "8 May 2023", "13:56 pm on 8 May, 2023", "1:56 pm on 31 June, 2023", "1:56 pm on 8 Mai, 0"],
)
def test_a_date_that_does_not_parse_is_refused_with_a_sentence(text):
    with pytest.raises(ValueRefused, match="the date"):
        parse_date(text)


def test_all_that_is_wrong_is_told_at_once_with_its_place():
    broken = sample(
        [message("Ann", 5, "D1:1"), "hello", message("Ben", "ok", "D1:3"), message("", "x", "D1:4")],
        [message("Ann", "x", "D1:3")],
    )
    broken["conversation"]["session_3"] = []
    broken["conversation"]["session_3_date_time"] = "yesterday"
    assert problems_of(broken) == [
        "Conversation conv-1, session 3: the date “yesterday” is not like “1:56 pm on 8 May, 2023”.",
        "Conversation conv-1, session 1, message 1: “text” must be a string, not a number.",
        "Conversation conv-1, session 1, message 2: it must be an object, not a string.",
        "Conversation conv-1, session 1, message 4: “speaker” must not be empty.",
        "Conversation conv-1, session 2, message 1: the dia_id D1:3 stands twice.",
    ]


def test_a_conversation_that_stands_twice_or_is_empty_is_refused():
    one = sample([message("Ann", "x", "D1:1")])
    assert problems_of(one, one) == ["Conversation locomo:conv-1 stands twice in the file."]
    assert problems_of(sample([])) == ["Conversation conv-1: it has no messages."]
    assert problems_of() == ["The file holds no conversation."]
    assert problems_of(None) == ["Conversation 1: it must be an object, not null."]


def test_broken_json_is_reported_with_its_line():
    with pytest.raises(TrajectoryError) as caught:
        read_locomo(b'[\n {"conversation":\n  oops}]')
    assert caught.value.line == 3
    assert not caught.value.retryable


def test_evidence_strings_are_read_with_their_slips():
    assert evidence_ids("D8:6; D9:17") == ("D8:6", "D9:17")
    assert evidence_ids("D:11:26") == ("D11:26",)
    assert evidence_ids("D30:05") == ("D30:5",)
    assert evidence_ids("D") == ()


@pytest.mark.data
def test_the_five_conversations_are_read_whole_and_their_evidence_is_found():
    samples = {sample["sample_id"]: sample for sample in json.loads(LOCOMO.read_bytes())}
    trajectories = read_trajectory_file(LOCOMO)
    assert len(trajectories) == 5
    unresolved = set()
    for trajectory in trajectories:
        sample = samples[trajectory.metadata["sample_id"]]
        rows = [row for value in sample["conversation"].values() if isinstance(value, list) for row in value]
        sides = {side.external_id: side for turn in trajectory.turns for side in turn.sides}
        assert set(sides) == {row["dia_id"] for row in rows}
        assert len(rows) / 2 <= len(trajectory.turns) <= len(rows) * 0.6
        assert all(sides[row["dia_id"]].text.startswith(row["text"]) for row in rows)
        assert all(sides[row["dia_id"]].speaker == row["speaker"] for row in rows)
        instants = [side.at for side in sides.values()]
        assert None not in instants
        assert instants == sorted(instants)
        named = {one for question in sample["qa"] for text in question["evidence"] for one in evidence_ids(text)}
        assert len(named) > 70
        unresolved |= {(sample["sample_id"], one) for one in named if one not in sides}
    # The file itself names a message that session does not have.
    assert unresolved == {("conv-42", "D10:19")}
