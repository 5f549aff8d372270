"""The policy lab on a stored conversation: what it finds, and that it leaves no mark."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.management import CommandError, call_command

from memory.encoding import encoder
from memory.engine.types import BankError, State
from memory.services.replays import Replay, replay_conversation, replay_json
from memory.services.turns import NotFound
from tests.memory.services.desk import Desk
from tests.memory.test_tenancy import OWNED

SAID = ["My passport number is X1234567", "ok thanks", "We walked along the harbour", "Tea is better than coffee"]


@pytest.fixture
def told(desk: Desk) -> Desk:
    for words in SAID:
        desk.tell(words, f"You said so on day {len(words)}")
    desk.tell("What is my passport number?")
    return desk


def replay(desk: Desk, *policies: str, **budget: Any) -> Replay:
    with desk.acting():
        return replay_conversation(desk.conversation_id, policies, **budget)


def everything() -> dict[str, list[str]]:
    """Every row of every table that a person owns, vectors and all."""
    return {
        model.__name__: sorted(str(row) for row in model._default_manager.using("owner").values()) for model in OWNED
    }


def test_no_row_of_any_table_changes(told: Desk) -> None:
    before, seq = everything(), told.hot().state.seq
    replay(told, "fifo", "lru", "chains+floor+decay", "threshold(below=0.9)", memories=2)
    assert everything() == before
    assert before["Memory"]
    assert told.hot().state.seq == seq
    told.agree()


def test_a_small_budget_misses_what_a_later_turn_asks_for(told: Desk) -> None:
    out = replay_json(replay(told, "fifo", "floor(recent=0)+fifo", memories=2))
    fifo, floor = out["policies"]
    passport = str(told.memory(SAID[0]).pk)
    assert passport in [miss["memory"] for miss in fifo["misses"]]
    assert {miss["text"] for miss in fifo["misses"] if miss["memory"] == passport} == {SAID[0]}
    assert all(miss["left"] < miss["ordinal"] == 5 for miss in fifo["misses"])
    assert passport in [memory["memory"] for memory in floor["kept"]]
    assert passport not in [miss["memory"] for miss in floor["misses"]]
    assert (out["turns"], out["budget"]["memories"], fifo["held"]) == (5, 2, 2)


def test_the_banks_own_policy_and_budget_give_what_the_bank_holds(told: Desk) -> None:
    (report,) = replay(told, "importance", memories=1000).policies
    with told.acting():
        held = {memory.id for memory in told.hot()}
    assert {memory.id for memory in report.kept} == held
    assert report.misses == []


def test_stored_vectors_are_not_encoded_again(told: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from memory.services import remember

    def fail(texts: list[str]) -> None:
        raise AssertionError(texts)

    monkeypatch.setattr(remember, "encoder", lambda: type("Deaf", (), {"encode": staticmethod(fail)}))
    assert encoder() is not None
    assert replay(told, "fifo", memories=3).policies[0].kept


def test_what_was_erased_since_is_made_anew_with_an_id_that_stays(told: Desk) -> None:
    from memory.services.memories import erase

    passport = told.memory(SAID[0]).pk
    with told.acting():
        erase(passport, now=datetime.now(UTC))
    ids = [[memory.id for memory in replay(told, "fifo", memories=99).policies[0].kept] for _ in range(2)]
    assert ids[0] == ids[1]
    assert passport not in ids[0]
    assert told.reread(passport) is None
    assert told.texts(State.ARCHIVED) == []


def test_mistakes_are_told_in_a_sentence(told: Desk) -> None:
    with pytest.raises(BankError, match="There is no retention policy “best”"):
        replay(told, "best", memories=3)
    with pytest.raises(BankError, match="at least 1 memory"):
        replay(told, "fifo", memories=0)
    with told.acting(), pytest.raises(NotFound):
        replay_conversation(uuid4(), ["fifo"], memories=3)


def test_the_command_prints_a_table_or_one_json_object(told: Desk) -> None:
    def run(*more: str) -> str:
        out = StringIO()
        call_command("replay", "--conversation", str(told.conversation_id), "--user", told.person.email, "--budget",
                     "2", *more, stdout=out)  # fmt: skip
        return out.getvalue()

    found = json.loads(run("--policy", "fifo", "--policy", "chains+importance", "--json"))
    assert [report["policy"] for report in found["policies"]] == ["fifo", "chains+importance"]
    assert UUID(found["conversation"]) == told.conversation_id
    said = run("--policy", "fifo", "--budget-tokens", "50")
    assert "a budget of 2 memories and 50 tokens" in said
    assert SAID[0] in said
    with pytest.raises(CommandError, match="There are: fifo"):
        run("--policy", "best")
