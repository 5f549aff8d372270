"""Roles are groups with permissions: which pages open to whom, and what the database then lets them do."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from agents.models import Agent
from agora_web.accounts.models import User
from agora_web.accounts.roles import ROLES
from memory.models import Job
from memory.tenancy import acting_as
from tests.scenes import PASSWORD, make_agent, make_person

pytestmark = pytest.mark.django_db

FORM = {
    "name": "Pythia", "description": "", "persona": "You are brief.", "backend": "quote", "base_url": "", "model": "",
    "context_tokens": "4096", "reply_tokens": "600", "budget_memories": "50", "budget_tokens": "4000",
    "policy": "importance", "recall_tokens": "800", "active": "on",
}  # fmt: skip


def client_of(*roles: str, superuser: bool = False) -> Client:
    person = (
        User.objects.create_superuser("chief@example.org", PASSWORD)
        if superuser
        else make_person(f"{'-'.join(roles) or 'plain'}@example.org", roles=roles)
    )
    client = Client()
    client.force_login(person)
    return client


def test_each_role_is_a_group_with_all_its_permissions() -> None:
    for role, wanted in ROLES.items():
        group = Group.objects.get(name=role)
        granted = set(group.permissions.values_list("content_type__app_label", "codename"))
        assert granted == set(wanted), role


@pytest.mark.parametrize(("roles", "agents", "jobs"), [
    ((), 403, 403),
    (("labeller",), 403, 403),
    (("analyst",), 403, 403),
    (("operator",), 403, 200),
    (("administrator",), 200, 200),
    (("labeller", "operator"), 403, 200),
])  # fmt: skip
def test_pages_open_to_their_roles_alone(roles: tuple[str, ...], agents: int, jobs: int) -> None:
    scribe = make_agent()
    client = client_of(*roles)
    assert client.get("/chat/").status_code == 200
    for path in ("/agents/", "/agents/new/", f"/agents/{scribe.pk}/"):
        response = client.get(path)
        assert response.status_code == agents, path
        assert ("This is not open to you" in response.content.decode()) == (agents == 403)
    assert client.get("/jobs/").status_code == jobs
    links = client.get("/chat/").content.decode()
    assert ('href="/agents/"' in links, 'href="/jobs/"' in links) == (agents == 200, jobs == 200)


def test_a_superuser_has_every_role() -> None:
    client = client_of(superuser=True)
    assert [client.get(path).status_code for path in ("/agents/", "/jobs/", "/admin/")] == [200, 200, 200]


def test_the_administration_site_is_closed_without_the_staff_flag() -> None:
    assert client_of("administrator").get("/admin/").status_code == 302
    assert client_of().get("/admin/accounts/user/").status_code == 302


def test_an_administrator_makes_and_changes_an_agent() -> None:
    client = client_of("administrator")
    assert client.post("/agents/new/", FORM)["Location"] == "/agents/"
    page = client.get("/agents/").content.decode()
    assert "Pythia" in page
    assert "Pythia is saved." in page
    with acting_as(User.objects.get().pk):
        made = Agent.objects.get()
    assert (made.persona, made.budget_memories, made.small_model) == ("You are brief.", 50, False)
    assert client.post(f"/agents/{made.pk}/", {**FORM, "persona": "Be\x00 calm."}).status_code in (302, 400)
    assert client.post(f"/agents/{made.pk}/", {**FORM, "persona": "Be calm."}).status_code == 302
    assert client.get(f"/agents/{uuid4()}/").status_code == 404


def test_a_policy_is_stored_in_its_one_spelling_and_a_bank_evicts_at_all_of_its_budget_unless_told() -> None:
    client = client_of("administrator")
    composed = {**FORM, "policy": "floor(recent=6) + chains", "evict_at": "0.75"}
    assert client.post("/agents/new/", FORM).status_code == 302
    assert client.post("/agents/new/", {**composed, "name": "Sibyl"}).status_code == 302
    assert client.post("/agents/new/", {**FORM, "name": "Vates", "evict_at": ""}).status_code == 302
    with acting_as(User.objects.get().pk):
        made = {agent.name: (agent.policy, agent.evict_at) for agent in Agent.objects.all()}
    assert made == {
        "Pythia": ("importance", 1.0), "Sibyl": ("chains+floor(recent=6)+importance", 0.75),
        "Vates": ("importance", 1.0),
    }  # fmt: skip
    assert "chains+floor(recent=6)+importance" in client.get("/agents/new/").content.decode()


@pytest.mark.parametrize("wrong", [
    {"name": ""}, {"name": "x" * 61}, {"budget_memories": "4"}, {"budget_memories": "-1"}, {"budget_tokens": "many"},
    {"backend": "oracle"}, {"policy": "none such"}, {"policy": "floor(recent=x)"}, {"evict_at": "0.4"},
    {"base_url": "no address"}, {"base_url": "javascript:alert(1)"},
    {"context_tokens": "1000", "reply_tokens": "600"}, {"context_tokens": "99999999999999999999"},
])  # fmt: skip
def test_an_agent_that_cannot_be_is_refused_beside_its_field(wrong: dict[str, str]) -> None:
    client = client_of("administrator")
    response = client.post("/agents/new/", {**FORM, **wrong})
    assert response.status_code == 400
    assert response.context["form"].errors
    with acting_as(User.objects.get().pk):
        assert not Agent.objects.exists()


def test_two_agents_of_one_name_are_refused_with_a_sentence() -> None:
    make_agent("Pythia")
    response = client_of("administrator").post("/agents/new/", FORM)
    assert response.status_code == 400
    assert "already exists" in response.content.decode()


def test_without_the_role_the_form_changes_nothing() -> None:
    scribe = make_agent()
    for client in (client_of(), client_of("operator", "analyst", "labeller")):
        assert client.post("/agents/new/", FORM).status_code == 403
        assert client.post(f"/agents/{scribe.pk}/", FORM).status_code == 403
    with acting_as(User.objects.get(email="root@example.org").pk):
        assert list(Agent.objects.values_list("name", flat=True)) == ["Scribe"]


def test_an_operator_sees_everybodys_jobs_with_state_and_error() -> None:
    ana = make_person()
    with acting_as(ana.pk):
        Job.objects.create(kind="memory.erase", key="k", owner=ana, state="failed", error="The disk was full.")
        Job.objects.create(kind="memory.score_archive", key="k", owner=ana)
    page = client_of("operator").get("/jobs/").content.decode()
    assert page.index("memory.erase") < page.index("memory.score_archive"), "failed ones first"
    assert "The disk was full." in page
