"""The words of a merged memory, which are those of several turns: another person's never, and gone with each turn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from uuid import UUID

import pytest
from django.utils import timezone

from agora_web.accounts.models import User
from memory.models import Memory
from memory.services import conversations, memories
from memory.tenancy import acting_as
from tests.flows.test_canary import CANARY, METHODS, TAKING, address, ask, body, client_of
from tests.scenes import Life, live, make_agent, make_person


@dataclass(frozen=True)
class Merged:
    """A life in a bank that merges, the agent that it is had with, and one memory merged of several turns' words."""

    life: Life
    agent: UUID
    memory: UUID


@pytest.fixture
def merged() -> Merged:
    agent = make_agent("Merger", budget_memories=5, policy="merge(similarity=0.2,share=1.0)+fifo")
    life = live(make_person("ana@example.org", name=f"Ana {CANARY}"), agent, CANARY)
    with acting_as(life.person):
        one = Memory.objects.filter(kind="merged", state__in=("held", "archived"), text__contains="harbour").first()
    assert one is not None
    return Merged(life, agent.pk, one.pk)


def pages(merged: Merged) -> str:
    """All that the pages of the bank say to its owner."""
    client = client_of(User.objects.get(pk=merged.life.person))
    asked = [f"/api/memories/?agent={merged.agent}&state={state}" for state in ("held", "archived")]
    return "".join(body(client.get(path)) for path in asked).replace(" ", "")


@pytest.mark.django_db
def test_a_merged_memory_is_nobody_elses(merged: Merged) -> None:
    ben = client_of(make_person("ben@example.org", name="Ben", roles=["labeller", "analyst", "operator"]))
    routes = [route for route, names in TAKING.items() if names == {"memory_id"}]
    assert routes
    for route, method in product(routes, METHODS):
        response = ask(ben, method, address(route, {"memory_id": merged.memory}))
        assert response.status_code in (404, 405), f"{method} {route}"
        assert CANARY not in body(response)
    assert str(merged.memory) not in body(ben.get(f"/api/memories/?agent={merged.agent}"))
    assert f'"id":"{merged.memory}"' in pages(merged)
    assert '"kind":"merged"' in pages(merged)


@pytest.mark.django_db
def test_what_is_erased_of_one_turn_is_in_no_merged_memory_of_the_pages(merged: Merged) -> None:
    with acting_as(merged.life.person):
        told = Memory.objects.filter(kind="side", text__contains="harbour")
        assert told
        for memory in list(told):
            memories.erase(memory.pk, now=timezone.now())
        assert not Memory.objects.filter(pk=merged.memory).exists()
    assert "harbour" not in pages(merged)


@pytest.mark.django_db
def test_a_conversation_that_is_erased_takes_what_was_merged_of_it_along(merged: Merged) -> None:
    assert "harbour" in pages(merged)
    client = client_of(User.objects.get(pk=merged.life.person))
    path = f"/api/conversations/{merged.life.conversation}/forget/"
    assert client.post(path, {"keep_memories": False}, content_type="application/json").status_code < 300
    assert "harbour" not in pages(merged)
    with acting_as(merged.life.person):
        conversations.erase_conversation(merged.life.conversation, now=timezone.now() + timedelta(hours=1))
        assert not Memory.objects.filter(text__contains="harbour").exists()
    assert "harbour" not in pages(merged)
