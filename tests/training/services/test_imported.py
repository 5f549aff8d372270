"""Labels from a set of questions: its evidence, what it calls outdated, and some of what it does not ask for."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from memory.engine.trajectories import read_trajectories
from memory.services import memories
from memory.services.imports import import_trajectory
from tests.memory.services.desk import Desk
from training.learner.evidence import Evidence
from training.models import Label
from training.services.imported import OTHERS, UNASKED, Labelled, label_evidence

NOW = datetime(2026, 5, 3, 9, tzinfo=UTC)
LINES = [
    '{"conversation": {"id": "talk"}}',
    '{"id": "t1", "observation": "The party is on 3 May", "action": "Noted, 3 May."}',
    '{"id": "t2", "observation": "The party moved to 9 May", "action": {"text": "So the ninth.", "id": "answer"}}',
    *(f'{{"observation": "It rained {n} times this week"}}' for n in range(30)),
]


@pytest.fixture
def talk(desk: Desk) -> UUID:
    (trajectory,) = read_trajectories("\n".join(LINES).encode())
    with desk.acting():
        return import_trajectory(trajectory, owner_id=desk.person.pk, bank_id=desk.bank_id, now=NOW).conversation


def asked(*needed: str, outdated: tuple[str, ...] = ()) -> Evidence:
    return Evidence("talk", frozenset(needed), frozenset(outdated))


def judged(desk: Desk) -> dict[str, tuple[float, float, str]]:
    with desk.acting():
        rows = Label.objects.filter(source="imported", about="importance")
        return {label.text: (label.value, label.weight, label.reason) for label in rows}


def test_evidence_is_needed_the_outdated_a_little_and_some_others_are_not_asked_for(desk: Desk, talk: UUID) -> None:
    with desk.acting():
        done = label_evidence(talk, [asked("t2.observation", outdated=("t1",))], now=NOW)
    assert done == Labelled(needed=1, outdated=2, unasked=OTHERS, unknown=0)
    found = judged(desk)
    assert found.pop("The party moved to 9 May") == (1.0, 1.0, "evidence")
    assert found.pop("The party is on 3 May") == (0.25, 0.5, "outdated")
    assert found.pop("Noted, 3 May.") == (0.25, 0.5, "outdated")
    assert set(found.values()) == {(0.0, UNASKED, "not asked for")}
    assert len(found) == OTHERS


def test_another_set_takes_the_place_of_the_first_and_the_same_gives_the_same(desk: Desk, talk: UUID) -> None:
    with desk.acting():
        label_evidence(talk, [asked("t1.observation")], now=NOW)
        label_evidence(talk, [asked("answer"), asked("t9")], now=NOW)
    first = judged(desk)
    assert first["So the ninth."] == (1.0, 1.0, "evidence")
    assert first.get("The party is on 3 May", (0.0, UNASKED, "not asked for")) == (0.0, UNASKED, "not asked for")
    with desk.acting():
        assert label_evidence(talk, [asked("answer"), asked("t9")], now=NOW).unknown == 1
    assert judged(desk) == first


def test_what_is_evidence_of_one_question_is_not_outdated_by_another(desk: Desk, talk: UUID) -> None:
    with desk.acting():
        label_evidence(talk, [asked("t1.observation"), asked("answer", outdated=("t1.observation",))], now=NOW)
    assert judged(desk)["The party is on 3 May"] == (1.0, 1.0, "evidence")


def test_pieces_of_a_long_side_share_its_weight(desk: Desk) -> None:
    long = " ".join(f"Sentence number {n} says that the boat {n} is blue." for n in range(120))
    (trajectory,) = read_trajectories(f'{{"conversation": {{"id": "long"}}}}\n{{"observation": "{long}"}}'.encode())
    with desk.acting():
        done = import_trajectory(trajectory, owner_id=desk.person.pk, bank_id=desk.bank_id, now=NOW)
        labelled = label_evidence(done.conversation, [asked("1.observation")], now=NOW)
    assert labelled.needed > 1
    assert sum(weight for _value, weight, _reason in judged(desk).values()) == pytest.approx(1.0)


def test_what_is_being_forgotten_is_not_labelled(desk: Desk, talk: UUID) -> None:
    with desk.acting():
        memories.forget(desk.memory("The party moved to 9 May").pk, now=NOW)
        done = label_evidence(talk, [asked("t2.observation", "t1.observation")], now=NOW)
    assert (done.needed, done.unknown) == (1, 1)
