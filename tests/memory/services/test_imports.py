from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agora_web.accounts.models import User
from memory.engine import remember
from memory.engine.trajectories import Trajectory, TrajectorySide, TrajectoryTurn, read_trajectory_file
from memory.engine.types import Role, State
from memory.models import Conversation, Event, Memory, Turn
from memory.services.imports import Imported, import_trajectory
from memory.services.ledger import BankMissing
from tests.memory.engine.toy_bank import cue
from tests.memory.services.desk import Desk

MAY = datetime(2026, 5, 3, 10, tzinfo=UTC)


def side(text: str, at: datetime | None = None, speaker: str = "Ben", **fields: str) -> TrajectorySide:
    return TrajectorySide(text, speaker, Role.OTHER, at, **fields)


def turn(
    number: int, observation: TrajectorySide | None, action: TrajectorySide | None = None, session: int = 1
) -> TrajectoryTurn:
    return TrajectoryTurn(number, session, str(number), observation, action)


STORY = Trajectory(
    "story", "A story", "two_people",
    (
        turn(1, side("My bike is red", MAY, external_id="D1:1"), side("A fine colour it is", MAY, "Cleo")),
        turn(2, None, side("I live in Porto now", MAY + timedelta(minutes=1), "Cleo")),
        turn(3, side("We meet on 3 May"), session=2),
        turn(4, side("My bike is red", MAY + timedelta(days=2)), session=2),
    ),
    {"source": "a test"},
)  # fmt: skip


def take_in(desk: Desk, trajectory: Trajectory = STORY) -> Imported:
    with desk.acting():
        return import_trajectory(trajectory, owner_id=desk.person.pk, bank_id=desk.bank_id, now=datetime.now(UTC))


def rows(desk: Desk) -> list[Memory]:
    with desk.acting():
        return list(Memory.objects.filter(bank=desk.bank_id).order_by("written_seq"))


def test_an_imported_conversation_is_remembered_like_a_chat(desk: Desk) -> None:
    done = take_in(desk)
    assert (done.new, done.turns) == (True, 4)
    assert [(row.text, row.speaker, row.role) for row in rows(desk)] == [
        ("My bike is red", "Ben", "other"),
        ("A fine colour it is", "Cleo", "other"),
        ("I live in Porto now", "Cleo", "other"),
        ("We meet on 3 May", "Ben", "other"),
    ]
    with desk.acting():
        conversation = Conversation.objects.get(pk=done.conversation)
        turns = list(conversation.turns.all())
    assert (conversation.title, conversation.external_id) == ("A story", "story")
    assert conversation.metadata == {"kind": "two_people", "source": "a test"}
    assert conversation.updated_at == MAY + timedelta(days=2)
    assert [one.state for one in turns] == ["done"] * 4
    assert all(one.remembered for one in turns)
    assert turns[0].external_ids == {"observation": "D1:1"}
    assert (turns[1].observation, turns[1].action) == ("", "I live in Porto now")
    assert turns[2].observation_at == MAY + timedelta(minutes=1)  # an instant the file lacks: the last before it
    desk.agree()


def test_a_side_stands_by_its_number_in_its_session(desk: Desk) -> None:
    take_in(desk)
    assert [(row.session, row.position) for row in rows(desk)] == [(1, 0), (1, 1), (1, 2), (2, 0)]
    assert desk.hot().candidates(cue("anything"), []).previous.tolist() == [-1, 0, 1, -1]


def test_what_is_told_twice_in_a_file_is_one_memory(desk: Desk) -> None:
    take_in(desk)
    bike = desk.memory("My bike is red").pk
    assert desk.happened(bike) == ["written", "told"]


def test_importing_twice_imports_nothing_twice(desk: Desk) -> None:
    first = take_in(desk)
    before = desk.happened()
    second = take_in(desk)
    assert (second.conversation, second.turns, second.new) == (first.conversation, 4, False)
    assert desk.happened() == before
    with desk.acting():
        assert Turn.objects.count() == 4
        assert Conversation.objects.exclude(external_id="").count() == 1


def test_an_error_inside_leaves_nothing_behind(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.tell("I drink green tea")
    before = desk.happened()
    taken: list[str] = []
    take = remember.Planner.take

    def breaks_off(self, new, *rest):  # type: ignore[no-untyped-def]
        taken.append(new.text)
        if len(taken) == 4:
            raise RuntimeError("the machine is on fire")
        take(self, new, *rest)

    monkeypatch.setattr(remember.Planner, "take", breaks_off)
    with pytest.raises(RuntimeError):
        take_in(desk)
    monkeypatch.undo()
    assert len(taken) == 4
    assert desk.happened() == before
    assert desk.texts() == ["I drink green tea"]
    with desk.acting():
        assert not Conversation.objects.filter(external_id="story").exists()
    desk.agree()
    assert take_in(desk).new
    desk.agree()


def test_an_import_into_a_small_bank_keeps_to_its_budget_all_the_way(narrow: Desk) -> None:
    said = ["My bike is red", "hm well", "I live in Porto", "We meet on 3 May", "hm well", "Anna has a dog", "hm well"]
    take_in(narrow, replace(STORY, turns=tuple(turn(i, side(text)) for i, text in enumerate(said, 1))))
    state = narrow.agree()
    assert state.held == 3
    # let go and told again in one import, it is the same memory that comes back
    assert narrow.texts(State.ARCHIVED).count("hm well") == 1
    kinds = narrow.happened(narrow.memory("hm well").pk)
    assert kinds[0] == "written"
    assert kinds.count("written") == 1
    assert "restored" in kinds
    assert kinds.count("told") == 2


def test_names_and_titles_of_long_graphemes_fit_their_columns(desk: Desk) -> None:
    family = "👨‍👩‍👧‍👦" * 60
    named = replace(STORY, title=family, external_id=family, turns=(turn(1, side("Hello there", speaker=family)),))
    done = take_in(desk, named)
    with desk.acting():
        found = Conversation.objects.get(pk=done.conversation)
    assert (len(found.title), len(rows(desk)[0].speaker)) == (196, 119)
    assert not take_in(desk, named).new


def test_another_persons_bank_takes_nothing_in(desk: Desk) -> None:
    stranger = User.objects.create_user("importer@example.org")
    try:
        other = Desk(stranger)
        with other.acting(), pytest.raises(BankMissing):
            import_trajectory(STORY, owner_id=stranger.pk, bank_id=desk.bank_id, now=datetime.now(UTC))
    finally:
        User.objects.using("owner").get(pk=stranger.pk).delete()
    assert rows(desk) == []


@pytest.mark.data
def test_a_locomo_conversation_fills_a_bank_of_two_hundred(person: User, data_folder: Path) -> None:
    path = sorted((data_folder / "locomo").rglob("*.json"))[0]
    trajectory = read_trajectory_file(path)[0]
    desk = Desk(person, memories=200, tokens=16_000)
    done = take_in(desk, trajectory)
    assert done.turns == len(trajectory.turns) > 100
    state = desk.agree()
    assert 0 < state.held <= 200
    with desk.acting():
        events = Event.objects.filter(bank=desk.bank_id)
        assert events.filter(kind="evicted").count() > 0
        sides = sum(len(one.sides) for one in trajectory.turns)
        assert events.filter(kind__in=["written", "told"]).count() >= sides * 0.95
        assert len(set(Turn.objects.filter(conversation=done.conversation).values_list("session", flat=True))) > 5
    assert not take_in(desk, trajectory).new
