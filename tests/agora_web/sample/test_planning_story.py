"""The sample conversation and its questions agree with each other."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

import agora_web
from memory.engine.trajectories import read_trajectory_file

SAMPLE = Path(agora_web.__file__).parent / "sample"


@pytest.fixture(scope="module")
def story():
    (trajectory,) = read_trajectory_file(SAMPLE / "planning_story.jsonl")
    return trajectory


@pytest.fixture(scope="module")
def questions():
    return json.loads((SAMPLE / "questions.json").read_text(encoding="utf-8"))


def test_the_story_has_sixty_turns_in_eight_sessions_over_six_weeks(story):
    assert len(story.turns) == 60
    assert {turn.session for turn in story.turns} == set(range(1, 9))
    instants = [side.at for turn in story.turns for side in turn.sides]
    assert instants == sorted(instants)
    assert timedelta(weeks=5) < instants[-1] - instants[0] < timedelta(weeks=6)
    assert all(turn.observation.role == "user" and turn.action.role == "assistant" for turn in story.turns)


def test_every_question_points_at_turns_that_are_there(story, questions):
    names = {turn.external_id for turn in story.turns}
    assert questions["conversation"] == story.external_id
    assert len(questions["questions"]) == 15
    for question in questions["questions"]:
        assert set(question["evidence"]) | set(question["outdated"]) <= names
        assert bool(question["evidence"]) == (question["answer"] is not None)


def test_the_questions_hold_changed_answers_and_four_without_one(questions):
    assert sum(question["answer"] is None for question in questions["questions"]) == 4
    assert sum(bool(question["outdated"]) for question in questions["questions"]) >= 5


@pytest.mark.parametrize(
    ("number", "figures"),
    [
        (0, ["Old Ropeworks", "14 Tanyard Lane"]),
        (1, ["10 October"]),
        (2, ["£7,200"]),
        (3, ["4462"]),
        (5, ["118"]),
    ],
)
def test_a_changed_answer_stands_in_its_evidence_and_not_in_what_is_outdated(story, questions, number, figures):
    question = questions["questions"][number]
    texts = {turn.external_id: " ".join(side.text for side in turn.sides) for turn in story.turns}
    for figure in figures:
        assert figure in question["answer"]
        assert any(figure in texts[name] for name in question["evidence"])
        assert not any(figure in texts[name] for name in question["outdated"])
