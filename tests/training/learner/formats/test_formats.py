"""Every format, on samples of a few lines that were written for these tests."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memory.engine.types import Role, Side
from training.learner.formats import FORMATS, longmemeval, memdaily, read_streams, tau
from training.learner.streams import Stream, Use

SEPARATOR = "\u2028"  # a line break to str.splitlines, and to nobody else


def stored(path: Path, text: str) -> list[Path]:
    path.write_text(text, encoding="utf-8")
    return [path]


def texts(told: Stream) -> list[str]:
    return [side.text for side in told.sides]


# --- LongMemEval ----------------------------------------------------------------------------------------------------


def turn(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def question(name: str = "q1", **more: Any) -> dict[str, Any]:
    return {
        "question_id": name, "question_type": "single", "question": "What did I plant?", "answer": "Beans.",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/21 (Sun) 10:00", "2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["later", "earlier"],
        "haystack_sessions": [
            [turn("user", "I planted beans.", has_answer=True), turn("assistant", "How good.", has_answer=False)],
            [turn("user", f"A line{SEPARATOR}and another."), turn("assistant", " "), turn("user", "Bye.")],
        ],
        **more,
    }  # fmt: skip


def test_longmemeval_tells_its_sessions_the_oldest_first_and_marks_the_evidence() -> None:
    told = longmemeval.stream_of(question())
    assert (told.name, told.kind, told.group) == ("q1", "user_assistant", "q1")
    assert texts(told) == [f"A line{SEPARATOR}and another.", "Bye.", "I planted beans.", "How good."]
    assert [(side.session, side.position, side.role) for side in told.sides] == [
        (0, 0, Role.USER), (0, 1, Role.USER), (1, 0, Role.USER), (1, 1, Role.ASSISTANT),
    ]  # fmt: skip
    assert told.sides[2].at == datetime(2023, 5, 21, 10, tzinfo=UTC)
    (asked,) = told.questions
    assert asked.evidence == {told.sides[2].id}
    assert (asked.text, asked.at, asked.category) == (
        "What did I plant?", datetime(2023, 5, 30, 23, 40, tzinfo=UTC), "single",
    )  # fmt: skip


def test_longmemeval_asks_nothing_where_there_is_no_answer() -> None:
    assert longmemeval.stream_of(question("q1_abs")).questions == ()
    unmarked = question(haystack_sessions=[[turn("user", "one")], [turn("user", "two")]])
    assert longmemeval.stream_of(unmarked).questions == ()


@pytest.mark.parametrize("packed", [True, False])
def test_longmemeval_is_read_line_by_line_though_texts_hold_other_line_breaks(tmp_path: Path, packed: bool) -> None:
    lines = "\n".join(json.dumps(question(name), ensure_ascii=False) for name in ("q1", "q2")) + "\n\n"
    path = tmp_path / ("a.jsonl.gz" if packed else "a.jsonl")
    path.write_bytes(gzip.compress(lines.encode()) if packed else lines.encode())
    assert SEPARATOR in lines
    told = read_streams("longmemeval", [path])
    assert [one.name for one in told] == ["q1", "q2"]
    assert SEPARATOR in told[0].sides[0].text


@pytest.mark.parametrize("parse", [longmemeval.parse_date, memdaily.parse_date])
def test_what_is_no_date_is_refused_in_a_sentence(parse: Any) -> None:
    with pytest.raises(ValueError, match="'tomorrow' is no date of"):
        parse("tomorrow")


# --- MemDaily -------------------------------------------------------------------------------------------------------


def day(number: int) -> dict[str, Any]:
    said = [f"我的编号是{number}。", "今天下雨。"]
    return {
        "message_list": [
            {"mid": mid, "message": text, "time": "2024年04月01日 周一 08:30", "place": "家"}
            for mid, text in enumerate(said)
        ],
        "question_list": [
            {"qid": 0, "question": "我的编号是多少？", "time": "2024年04月02日 周二 09:00", "target_step_id": [0]}
        ],
    }  # fmt: skip


def test_memdaily_lays_sixty_days_end_to_end_the_same_each_time(tmp_path: Path) -> None:
    paths = [*stored(tmp_path / "b_roles.json", json.dumps([day(n) for n in range(40)])),
             *stored(tmp_path / "a_simple.json", json.dumps([day(n) for n in range(40, 70)]))]  # fmt: skip
    told = read_streams("memdaily", paths)
    assert told == read_streams("memdaily", paths[::-1])
    assert [len(one.questions) for one in told] == [60, 10]
    assert [len(one.sides) for one in told] == [120, 20]
    assert {asked.category for one in told for asked in one.questions} == {"b_roles", "a_simple"}
    for one in told:
        text_of = {side.id: side.text for side in one.sides}
        assert len(text_of) == len(one.sides)
        assert all("编号" in text_of[name] for asked in one.questions for name in asked.evidence)
        assert [side.turn for side in one.sides] == list(range(len(one.sides)))
        assert {(side.role, side.side) for side in one.sides} == {(Role.USER, Side.OBSERVATION)}
    assert told[0].sides[0].at == datetime(2024, 4, 1, 8, 30, tzinfo=UTC)
    assert told[0].questions[0].at == datetime(2024, 4, 2, 9, 0, tzinfo=UTC)


# --- tau-bench ------------------------------------------------------------------------------------------------------


def call(**arguments: str) -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": "find", "arguments": json.dumps(arguments)}}


MESSAGES: list[dict[str, Any]] = [
    turn("system", "Rules about EXAMPLE-99."),
    turn("user", "My number is QX7-4411."),  # 0
    turn("assistant", None, tool_calls=[call(number="QX7-4411")]),  # 1: one message back is no later use
    turn("tool", "Found QX7-4411, paid with card_2002."),  # 2
    turn("assistant", "Shall I?"),  # 3
    turn("user", "Yes."),  # 4
    turn("assistant", "", tool_calls=[call(number="QX7-4411", card="card_2002", new="never_1")]),  # 5
]


def test_a_later_use_passes_on_what_was_shown_last_at_least_two_messages_before() -> None:
    told = tau.stream_of("log:0", "task 3", MESSAGES)
    assert told.uses == [Use(at=5, source=2)]  # the number and the card both, one use; its newest showing counts
    assert told.evidence == {"2"}
    assert (told.group, told.kind) == ("task 3", "tool_use")
    assert [side.role for side in told.sides] == [
        Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT, Role.USER, Role.ASSISTANT,
    ]  # fmt: skip
    assert told.sides[1].text == 'find {"number": "QX7-4411"}'
    assert "EXAMPLE-99" not in "".join(texts(told))


def test_an_identifier_has_four_characters_and_a_digit() -> None:
    assert list(tau.identifiers("AB12 AB1 booking #W553 2024-05-01 AB12 a_1_b")) == [
        "AB12", "W553", "2024-05-01", "a_1_b",
    ]  # fmt: skip


def test_a_source_is_never_the_message_itself_nor_one_after_it() -> None:
    assert tau.uses_of(["AB12", "CD34", "AB12"], ["", "", "AB12"]) == [Use(2, 0)]
    assert tau.uses_of(["hm", "hm", "AB12"], ["", "", "AB12"]) == []
    assert tau.uses_of(["AB12 CD34", "CD34", "hm", "hm"], ["", "", "", "AB12 CD34"]) == [Use(3, 0), Use(3, 1)]


def test_trials_of_one_task_are_one_group(tmp_path: Path) -> None:
    rows = [{"task_id": number % 2, "traj": MESSAGES} for number in range(4)]
    told = read_streams("tau", stored(tmp_path / "log.json", json.dumps(rows)))
    assert [one.group for one in told] == ["task 0", "task 1", "task 0", "task 1"]
    assert len({one.name for one in told}) == 4


# --- ALFWorld -------------------------------------------------------------------------------------------------------

ROOM = (
    "You see a drawer 1, and a shelf 2.\nYour task is to: put a cup in drawer.\n"
    "> Think: the drawer 1 may be good\n> go to shelf 2\nOn the shelf 2, you see a cup 3.\n> Think: take the cup 3\n"
    "Fine.\n> go to drawer 1\nIt is open.\n> take cup 3 from shelf 2\nYou take it.\n"
)


def test_alfworld_uses_are_things_of_earlier_sights_in_what_is_done_not_in_what_is_thought(tmp_path: Path) -> None:
    (told,) = read_streams("alfworld", stored(tmp_path / "log.jsonl", json.dumps({"traj": ROOM}) + "\n"))
    assert texts(told)[1] == "Think: the drawer 1 may be good\ngo to shelf 2"
    assert [side.role for side in told.sides] == [Role.TOOL, Role.ASSISTANT] * 4 + [Role.TOOL]
    # 1 goes to what message 0 shows: too near; 3 thinks, and what it thinks of is no sight;
    # 5 goes to the drawer of 0; 7 takes the cup of 2 off its shelf
    assert told.uses == [Use(5, 0), Use(7, 2)]
    assert told.evidence == {"0", "2"}


# --- LoCoMo ---------------------------------------------------------------------------------------------------------


def test_locomo_asks_categories_one_to_four_and_only_where_the_evidence_exists(tmp_path: Path) -> None:
    def said(speaker: str, text: str, name: str) -> dict[str, str]:
        return {"speaker": speaker, "text": text, "dia_id": name}

    def asks(category: int, *evidence: str) -> dict[str, Any]:
        return {"question": "?", "answer": "x", "category": category, "evidence": list(evidence)}

    sample = {
        "sample_id": "conv-1",
        "qa": [asks(1, "D1:1; D1:2"), asks(2, "D2:1"), asks(5, "D1:1"), asks(3), asks(4, "D9:9", "D1:2")],
        "conversation": {
            "speaker_a": "Ann", "speaker_b": "Ben",
            "session_1": [said("Ann", "I moved to Graz", "D1:1"), said("Ben", "How is it?", "D1:2")],
            "session_1_date_time": "1:56 pm on 1 May, 2023",
            "session_2": [said("Ben", "Back again", "D2:1")],
            "session_2_date_time": "9:00 am on 3 May, 2023",
        },
    }  # fmt: skip
    (told,) = read_streams("locomo", stored(tmp_path / "locomo.json", json.dumps([sample])))
    assert [(asked.category, asked.evidence) for asked in told.questions] == [
        ("multi_hop", {"D1:1", "D1:2"}), ("temporal", {"D2:1"}), ("single_hop", {"D1:2"}),
    ]  # fmt: skip
    assert [(side.id, side.position, side.turn, side.role) for side in told.sides] == [
        ("D1:1", 0, 1, Role.USER), ("D1:2", 1, 1, Role.OTHER), ("D2:1", 0, 2, Role.OTHER),
    ]  # fmt: skip
    assert {asked.at for asked in told.questions} == {datetime(2023, 5, 4, 9, tzinfo=UTC)}
    assert told.kind == "two_people"


# --- AGORA's own ----------------------------------------------------------------------------------------------------

TURNS = [
    {"conversation": "c1", "observation": f"Where is{SEPARATOR}A-2210?", "action": "I look."},
    {"conversation": "c1", "session": 2, "observation": {"text": "in transit", "role": "tool", "id": "seen"}},
]  # fmt: skip


def lines(*rows: dict[str, Any]) -> str:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n"


def test_own_jsonl_may_ask_questions_of_its_only_conversation(tmp_path: Path) -> None:
    asked = {"question": "Where is it?", "evidence": ["seen", "1.observation"], "category": "order"}
    (told,) = read_streams("jsonl", stored(tmp_path / "own.jsonl", lines(*TURNS, asked)))
    assert texts(told) == [f"Where is{SEPARATOR}A-2210?", "I look.", "in transit"]
    assert [(side.id, side.position) for side in told.sides] == [("1.observation", 0), ("1.action", 1), ("seen", 0)]
    (question,) = told.questions
    assert (question.evidence, question.category) == ({"seen", "1.observation"}, "order")
    assert question.at == told.sides[-1].at


def test_own_jsonl_questions_name_their_conversation_where_there_are_several(tmp_path: Path) -> None:
    other = {"conversation": "c2", "observation": "hello"}
    asked = [
        {"question": "A?", "evidence": ["1.observation"], "conversation": "c2", "at": "2026-10-01T00:00:00+00:00"},
        {"question": "B?", "evidence": ["seen"], "conversation": "c1"},
    ]
    told = read_streams("jsonl", stored(tmp_path / "own.jsonl", lines(*TURNS, other, *asked)))
    assert [[question.text for question in one.questions] for one in told] == [["B?"], ["A?"]]
    assert told[1].questions[0].at == datetime(2026, 10, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"question": "?", "evidence": ["nowhere"]}, "Evidence that is no side of c1: \\['nowhere'\\]"),
        ({"question": "?", "evidence": []}, "names no evidence"),
        ({"question": "?"}, "names no evidence"),
    ],
)
def test_own_jsonl_refuses_questions_without_evidence(tmp_path: Path, asked: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_streams("jsonl", stored(tmp_path / "own.jsonl", lines(*TURNS, asked)))


# --- the public sets ------------------------------------------------------------------------------------------------

FILES = {
    "locomo": "locomo/locomo_dev.json",
    "longmemeval": "longmemeval/dev_s.jsonl.gz",
    "memdaily": "memdaily/*.json",
    "tau": "trajectories/tau_airline/gpt-4o-airline.json",
    "alfworld": "trajectories/alfworld_react/*.jsonl",
}


@pytest.mark.data
@pytest.mark.parametrize(
    ("format", "count", "useful"),
    [("locomo", 5, 5), ("longmemeval", 58, 56), ("memdaily", 7, 7), ("tau", 200, 158), ("alfworld", 510, None)],
)
def test_the_public_sets_are_read_whole(data_folder: Path, format: str, count: int, useful: int | None) -> None:
    told = read_streams(format, sorted(data_folder.glob(FILES[format])))
    assert len(told) == count
    if useful is not None:
        assert sum(bool(one.questions or one.uses) for one in told) == useful
    for one in told:
        ids = {side.id for side in one.sides}
        assert len(ids) == len(one.sides) > 0
        assert all(asked.evidence and asked.evidence <= ids for asked in one.questions)
        assert all(use.source <= use.at - 2 for use in one.uses)
        assert all(side.text.strip() for side in one.sides)
        turns = [side.turn for side in one.sides]
        assert turns == sorted(turns)


def test_every_format_is_tried_here() -> None:
    assert set(FORMATS) == {*FILES, "jsonl"}
