"""Question sets in their three shapes, and what is wrong with broken ones."""

from __future__ import annotations

import json

import pytest

from memory.engine.trajectories import TrajectoryError
from training.learner.evidence import Evidence, read_evidence


def test_one_object_names_its_conversation_once_and_may_name_what_is_outdated() -> None:
    data = {"conversation": "c1", "questions": [
        {"question": "Where?", "answer": "There.", "evidence": ["t2", "t3"], "outdated": ["t1", "t2"]},
        {"question": "Why?", "answer": None, "evidence": []},
    ]}  # fmt: skip
    assert read_evidence(json.dumps(data, indent=1).encode()) == [
        Evidence("c1", frozenset({"t2", "t3"}), frozenset({"t1"}))
    ]


def test_lines_of_questions_stand_alone_or_among_turns() -> None:
    lines = [
        {"observation": "Hi", "action": "Hello"},
        {"question": "What?", "evidence": ["1.observation"]},
        {"question": "Who?", "evidence": ["2"], "conversation": "c2", "category": "x"},
    ]
    assert read_evidence("\n\n".join(map(json.dumps, lines)).encode()) == [
        Evidence("", frozenset({"1.observation"})), Evidence("c2", frozenset({"2"})),
    ]  # fmt: skip


def test_a_single_question_is_a_set_too() -> None:
    assert read_evidence(b'{"question": "What?", "evidence": ["1"]}') == [Evidence("", frozenset({"1"}))]


def test_locomo_names_messages_and_its_adversarial_questions_need_none() -> None:
    sample = {
        "sample_id": "conv-1", "conversation": {"session_1": []},
        "qa": [
            {"question": "A?", "evidence": ["D1:3; D2:07"], "category": 1},
            {"question": "B?", "evidence": ["D1:1"], "category": 5},
        ],
    }  # fmt: skip
    assert read_evidence(json.dumps([sample]).encode()) == [Evidence("locomo:conv-1", frozenset({"D1:3", "D2:7"}))]


@pytest.mark.parametrize(
    ("data", "line", "says"),
    [
        (b'{"question": "A?", "evidence": "t1"}', 1, "must be a list"),
        (b'\n{"question": "A?", "evidence": [3]}', 2, "must be a string"),
        (b'{"question": "", "evidence": ["t1"]}', 1, "must not be empty"),
        (b'{"question": "A?"}\n{broken', 2, "not JSON"),
        (b'{"observation": "Hi"}', None, "no question that names its evidence"),
        (b'{"conversation": "c", "questions": ["A?"]}', None, "must be an object"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(data: bytes, line: int | None, says: str) -> None:
    with pytest.raises(TrajectoryError, match=says) as caught:
        read_evidence(data)
    assert caught.value.line == line
