"""An agent's model rates a few new memories after a turn, where its setting says so; nonsense makes no label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from agents.models import Agent
from agora_web.accounts.models import User
from agora_web.rating import AgentsModel
from memory.models import Conversation, Turn
from memory.services.jobs import HANDLERS
from memory.tenancy import acting_as
from tests.scenes import begin, make_agent, make_person, take_turn
from tests.scripted_llm import Script, ScriptedLlm
from training.learner.rating import RULES
from training.models import Label, ModelAsked
from training.services import model_ratings
from training.services.model_ratings import JOB, ONE_IN, WEIGHT, rate

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedLlm]:
    with ScriptedLlm() as llm:
        yield llm


@pytest.fixture
def llm(server: ScriptedLlm) -> ScriptedLlm:
    server.reset()
    return server


@pytest.fixture
def ana() -> User:
    return make_person()


@pytest.fixture
def agent(llm: ScriptedLlm) -> Agent:
    return make_agent(backend="openai", base_url=llm.base_url, rates_memories=True)


@pytest.fixture
def talk(ana: User, agent: Agent) -> Conversation:
    return begin(ana, agent)


@pytest.fixture
def turn(ana: User, talk: Conversation) -> Turn:
    return take_turn(ana, talk, "My sister Vera lives in Porto.", "Good to know!")


def rated(ana: User, turn: Turn) -> list[tuple[str, float, float, str]]:
    with acting_as(ana.pk):
        rate(turn.pk, AgentsModel(), now=timezone.now())
        labels = Label.objects.filter(source="model", about="importance").order_by("value")
        return list(labels.values_list("text", "value", "weight", "reason"))


def counts(ana: User) -> list[tuple[int, int]]:
    with acting_as(ana.pk):
        return list(ModelAsked.objects.values_list("memories", "rated"))


def test_what_the_model_says_of_new_memories_are_weak_labels(ana: User, turn: Turn, llm: ScriptedLlm) -> None:
    llm.queue(Script(text="1: 3\n2: 0"))
    wanted = [("Good to know!", 0.0, WEIGHT, "0 of 4"), ("My sister Vera lives in Porto.", 0.75, WEIGHT, "3 of 4")]
    assert rated(ana, turn) == wanted
    messages = llm.chats[0].body["messages"]
    assert messages[0] == {"role": "system", "content": RULES}
    assert '1. "My sister Vera lives in Porto."\n2. "Good to know!"' in messages[1]["content"]
    assert counts(ana) == [(2, 2)]
    assert rated(ana, turn) == wanted  # asked once
    assert len(llm.chats) == 1


@pytest.mark.parametrize("script", [Script(text="They are all lovely."), Script("cut", text="1: 3\n2: 0", after=1)])
def test_an_answer_that_is_no_rating_makes_no_label_and_is_counted(
    ana: User, turn: Turn, llm: ScriptedLlm, script: Script
) -> None:
    llm.queue(script)
    assert rated(ana, turn) == []
    assert counts(ana) == [(2, 0)]


@pytest.mark.parametrize("fields", [{"rates_memories": False}, {"backend": "quote"}])
def test_an_agent_that_is_not_to_ask_asks_nobody(
    ana: User, agent: Agent, turn: Turn, llm: ScriptedLlm, fields: dict[str, Any]
) -> None:
    root = User.objects.get(email="root@example.org")
    with acting_as(root.pk):
        Agent.objects.filter(pk=agent.pk).update(**fields)
    assert rated(ana, turn) == []
    assert (counts(ana), llm.chats) == ([], [])


def test_the_setting_is_off_unless_somebody_sets_it() -> None:
    assert not make_agent("Plain").rates_memories


def test_one_turn_in_a_few_is_asked_about_and_the_same_at_each_delivery(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[UUID] = []
    monkeypatch.setattr(model_ratings, "rate", lambda turn, *_args, **_named: asked.append(turn))
    turns = [uuid4() for _ in range(400)]
    for turn in turns:
        HANDLERS[JOB](str(turn))
    first = list(asked)
    assert 400 / ONE_IN * 0.5 < len(first) < 400 / ONE_IN * 1.6
    for turn in turns:
        HANDLERS[JOB](str(turn))
    assert asked == first * 2
