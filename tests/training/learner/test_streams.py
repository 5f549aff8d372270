"""Streams: turns and positions, evidence, and what tells that the same words stand in two sets."""

from __future__ import annotations

from dataclasses import replace

from memory.engine.types import Role, Side
from tests.training.learner.toy_streams import MORNING, facts, stream
from training.learner.streams import NOT_BY_CHANCE, Stream, Use, numbered, session_fingerprint, session_traces


def shape(told: Stream) -> list[tuple[int, int, int, str]]:
    return [(side.session, side.position, side.turn, side.side.value[0]) for side in told.sides]


def test_a_turn_is_an_observation_and_the_action_after_it() -> None:
    told = stream("toy", ["hello", "hi", "how are you", "well"], ["again", "yes"])
    assert shape(told) == [
        (0, 0, 0, "o"),
        (0, 1, 0, "a"),
        (0, 2, 1, "o"),
        (0, 3, 1, "a"),
        (1, 0, 2, "o"),
        (1, 1, 2, "a"),
    ]


def test_an_action_without_an_observation_is_a_turn_of_its_own_and_none_crosses_sessions() -> None:
    roles = [Role.ASSISTANT, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    told = stream("toy", ["look", "look again", "a shelf", "take it"], ["once more"], roles=roles)
    assert [(side.turn, side.side) for side in told.sides] == [
        (0, Side.ACTION), (1, Side.ACTION), (2, Side.OBSERVATION), (2, Side.ACTION), (3, Side.ACTION),
    ]  # fmt: skip


def test_two_observations_in_a_row_are_two_turns() -> None:
    told = numbered([(0, role, "x", "words", MORNING, str(n)) for n, role in enumerate((Role.USER, Role.TOOL))])
    assert [(side.turn, side.side) for side in told] == [(0, Side.OBSERVATION), (1, Side.OBSERVATION)]
    assert numbered([]) == []


def test_evidence_is_what_questions_and_later_uses_need() -> None:
    told = replace(facts(), uses=(Use(at=5, source=1), Use(at=7, source=1)))
    assert told.evidence == {"0:0", "0:4", "1:0", "1:4", "0:1"}


def test_the_same_session_has_the_same_fingerprint_whatever_its_white_space_ids_and_dates() -> None:
    one = stream("one", ["My bike\nis  red", "Nice"], ["Anna lives in Lisbon"])
    other = stream("other", ["nothing"], [" My bike is red", "Nice "], day=100)
    assert len(one.fingerprints) == len(other.fingerprints) == 2
    assert len(one.fingerprints & other.fingerprints) == 1
    assert session_fingerprint(one.sessions[0]) == session_fingerprint(other.sessions[1])


def test_sides_that_are_put_together_otherwise_are_another_session() -> None:
    one, other = stream("one", ["My bike", "is red"]), stream("other", ["My bike is red"])
    assert not one.fingerprints & other.fingerprints


def test_a_long_side_is_a_trace_of_its_session_and_a_short_one_is_not() -> None:
    long = "I have been thinking of a way to plant tomatoes on my balcony"
    assert len(long) >= NOT_BY_CHANCE > len("ok thanks")
    told = stream("told", [long, "ok thanks"])
    changed = stream("changed", [long + " ", "ok thanks", "By the way, my sister moved"])
    assert not told.fingerprints & changed.fingerprints
    assert len(told.traces & changed.traces) == 1
    assert told.traces == session_traces(told.sides)
    assert not stream("small", ["ok thanks", "hm"]).traces & stream("talk", ["ok thanks", "well"]).traces
