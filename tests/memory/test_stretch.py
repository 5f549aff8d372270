"""What some time of a bank is: between two days, and only while one adapter judged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.bank import BankEvent, Kind
from memory.models import Turn
from memory.stretch import Stretch, judged_by
from memory.tenancy import acting_as
from tests.scenes import begin, make_agent, make_person, take_turn

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def at(hour: int) -> datetime:
    return NOON + hour * HOUR


def event(hour: int, kind: Kind, adapter: str, *, of_a_memory: bool = True) -> BankEvent:
    return BankEvent(hour + 1, kind, at(hour), uuid4() if of_a_memory else None, {"adapter": adapter})


def test_an_adapter_judges_from_the_first_thing_it_scored_until_another_one_did() -> None:
    events = [
        event(0, Kind.CONFIGURED, "ignored", of_a_memory=False), event(1, Kind.WRITTEN, "one"),
        event(2, Kind.WRITTEN, "two"), event(3, Kind.EVICTED, "two"), event(4, Kind.RESCORED, "one"),
        event(5, Kind.PINNED, ""), event(6, Kind.WRITTEN, "two"),
    ]  # fmt: skip
    assert judged_by(events, "one") == [(None, at(2)), (at(4), at(6))]
    assert judged_by(events, "two") == [(at(2), at(4)), (at(6), None)]
    assert judged_by(events, "three") == []
    assert judged_by([], "one") == []


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=20), st.integers(-1, 25))
def test_at_every_instant_one_adapter_judges(names: list[str], hour: int) -> None:
    events = [event(number, Kind.WRITTEN, name) for number, name in enumerate(names)]
    judging = [name for name in "abc" if Stretch().only(judged_by(events, name)).has(at(hour))]
    assert judging == [names[min(max(hour, 0), len(names) - 1)]]


@pytest.mark.django_db
def test_a_query_finds_what_the_stretch_has() -> None:
    ana = make_person()
    talk = begin(ana, make_agent())
    turns = [take_turn(ana, talk, f"Boat {number} is green.") for number in range(4)]
    with acting_as(ana.pk):
        for hour, turn in enumerate(turns):
            Turn.objects.filter(pk=turn.pk).update(created_at=at(hour))
        for stretch in (
            Stretch(), Stretch(since=at(1)), Stretch(until=at(1)), Stretch().only([]), Stretch().only([(None, None)]),
            Stretch().only([(None, at(1)), (at(3), None)]), Stretch(since=at(1), until=at(3)).only([(None, at(2))]),
        ):  # fmt: skip
            found = Turn.objects.filter(stretch.where("created_at"), conversation=talk).values_list("created_at")
            assert sorted(one for (one,) in found) == [at(hour) for hour in range(4) if stretch.has(at(hour))]
