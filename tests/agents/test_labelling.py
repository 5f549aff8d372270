"""An agent's setting opens conversations begun from then on; the owner's word goes before it."""

from __future__ import annotations

import pytest
from django.test import Client

from agents import labelling
from agents.models import Agent
from agora_web.accounts.models import User
from memory.models import Conversation, Job, Labelling
from memory.services.conversations import let_label
from memory.services.jobs import HANDLERS
from memory.tenancy import acting_as
from tests.agora_web.accounts.test_roles import FORM
from tests.scenes import begin, make_agent, make_person

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner", "worker"])


@pytest.fixture
def scribe() -> Agent:
    return make_agent(labelling=True)


@pytest.fixture
def ana(scribe: Agent) -> User:
    return make_person()


def state(person: User, conversation: Conversation) -> str:
    with acting_as(person.pk):
        return Conversation.objects.get(pk=conversation.pk).labelling


def test_the_setting_opens_what_is_begun_from_then_on_and_the_chat_is_told(ana: User) -> None:
    shut, opened = make_agent("Pythia"), make_agent("Sibyl", labelling=True)
    assert state(ana, begin(ana, shut)) == Labelling.SHUT
    assert state(ana, begin(ana, opened)) == Labelling.AGENT
    client = Client()
    client.force_login(ana)
    told = {agent["name"]: agent["labelling"] for agent in client.get("/api/agents/").json()["agents"]}
    assert (told["Pythia"], told["Sibyl"]) == (False, True)


def test_taken_back_it_closes_what_it_opened_and_leaves_what_owners_said(ana: User, scribe: Agent) -> None:
    by_agent, by_owner, refused = (begin(ana, scribe) for _ in range(3))
    with acting_as(ana.pk):
        let_label(by_owner.pk, True)
        let_label(refused.pk, False)
    chief = make_person("chief@example.org", roles=["administrator"])
    client = Client()
    client.force_login(chief)
    assert client.post(f"/agents/{scribe.pk}/", {**FORM, "name": scribe.name, "labelling": "on"}).status_code == 302
    assert not Job.objects.using("worker").filter(kind=labelling.JOB).exists()
    assert client.post(f"/agents/{scribe.pk}/", {**FORM, "name": scribe.name}).status_code == 302
    assert Job.objects.using("worker").filter(kind=labelling.JOB, key=str(scribe.pk)).count() == 1
    HANDLERS[labelling.JOB](str(scribe.pk))
    assert [state(ana, one) for one in (by_agent, by_owner, refused)] == [
        Labelling.SHUT, Labelling.OWNER, Labelling.REFUSED,
    ]  # fmt: skip


def test_a_job_that_comes_after_the_administrator_thought_better_of_it_closes_nothing(ana: User, scribe: Agent) -> None:
    begun = begin(ana, scribe)
    labelling.close(str(scribe.pk))
    assert state(ana, begun) == Labelling.AGENT
