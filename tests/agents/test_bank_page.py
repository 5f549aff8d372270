"""The page of one's own bank: a preview changes nothing, applying does what it said, undo brings it back."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from agents.models import Agent, Seat
from agents.services import bring_bank_in_line
from agora_web.accounts.models import User
from memory.models import Bank, Event, Memory
from memory.services.memories import pin
from memory.tenancy import acting_as
from tests.scenes import begin, make_agent, make_person, take_turn

pytestmark = pytest.mark.django_db
SAID = ["The harbour opens at nine", "My sister Vera bakes bread", "Hello", "The code of the shed is 4711",
        "Rent is 900 euros", "How are you?"]  # fmt: skip


class Screen:
    """One person at the page of one bank."""

    def __init__(self, person: User, bank: UUID) -> None:
        self.person, self.bank = person, bank
        self.client = Client()
        self.client.force_login(person)
        self.address = f"/memories/banks/{bank}/"

    def look(self, query: str = "") -> str:
        return self.client.get(self.address + query).content.decode()

    def fields(self, **changed: Any) -> dict[str, Any]:
        with acting_as(self.person.pk):
            bank = Bank.objects.get(pk=self.bank)
        names = ("budget_memories", "budget_tokens", "evict_at", "policy", "adapter", "recall_tokens")
        return {name: getattr(bank, name) for name in names} | changed

    def preview(self, **changed: Any) -> HttpResponse:
        return self.client.post(self.address, self.fields(**changed))

    def apply(self, preview: HttpResponse, promise: str | None = None) -> HttpResponse:
        return self.client.post(self.address, {"promise": promise or promise_in(preview)}, follow=True)

    def undo(self) -> HttpResponse:
        return self.client.post(self.address, {"undo": "1"}, follow=True)

    def held(self) -> set[UUID]:
        with acting_as(self.person.pk):
            return set(Memory.objects.filter(bank=self.bank, state="held").values_list("pk", flat=True))

    def events(self) -> int:
        with acting_as(self.person.pk):
            return Event.objects.filter(bank=self.bank).count()

    def seat(self) -> Seat:
        with acting_as(self.person.pk):
            return Seat.objects.select_related("agent", "bank").get(bank=self.bank)


def promise_in(response: HttpResponse) -> str:
    found = re.search(r'name="promise" value="([^"]+)"', response.content.decode())
    assert found is not None
    return found[1]


def listed(response: HttpResponse, name: str = "leaving") -> list[UUID]:
    """The memories of one list of the preview, in order."""
    found = re.search(rf'<ol[^>]* id="{name}".*?</ol>', response.content.decode(), re.DOTALL)
    return [UUID(memory) for memory in re.findall(r'data-memory="([^"]+)"', found[0])] if found else []


@pytest.fixture
def scribe() -> Agent:
    return make_agent(budget_memories=40)


def screen_of(person: User, agent: Agent, word: str = "") -> Screen:
    conversation = begin(person, agent)
    for said in SAID:
        take_turn(person, conversation, f"{said} {word}", "Noted.")
    return Screen(person, conversation.bank_id)


@pytest.fixture
def screen(scribe: Agent) -> Screen:
    return screen_of(make_person(), scribe)


def test_a_preview_lists_what_would_leave_and_changes_nothing(screen: Screen) -> None:
    before, events = screen.held(), screen.events()
    preview = screen.preview(budget_memories=5, policy="fifo")
    shown = preview.content.decode()
    assert preview.status_code == 200
    assert len(listed(preview)) == len(before) - 5
    assert f"{len(before) - 5} memories would leave" in shown
    assert "The harbour opens at nine" in shown
    assert "too many memories" in shown
    assert set(listed(preview)) | set(listed(preview, "lowest")) == before
    assert (screen.held(), screen.events()) == (before, events)
    assert screen.fields()["policy"] == "importance"


def test_applying_does_what_the_preview_said_and_undo_brings_it_back(screen: Screen) -> None:
    before = screen.held()
    preview = screen.preview(budget_memories=5, policy="chains + floor(recent=2)+importance")
    applied = screen.apply(preview)
    assert screen.held() == before - set(listed(preview))
    assert screen.fields()["policy"] == "chains+floor(recent=2)+importance"
    assert f"{len(listed(preview))} memories have left for the archive." in applied.content.decode()
    assert screen.seat().own_settings
    undone = screen.undo()
    assert f"{len(listed(preview))} memories are back." in undone.content.decode()
    assert screen.held() == before
    assert screen.fields()["policy"] == "importance"
    assert not screen.seat().own_settings
    assert "There is nothing to undo any more." in screen.undo().content.decode()


def test_a_bank_that_changed_since_is_previewed_anew(screen: Screen, scribe: Agent) -> None:
    preview = screen.preview(budget_memories=5)
    take_turn(screen.person, begin(screen.person, scribe), "The cat is called Pixel", "Noted.")
    before = screen.held()
    refused = screen.apply(preview)
    assert refused.status_code == 409
    assert "The bank has changed since the preview." in refused.content.decode()
    assert screen.held() == before
    assert screen.fields()["budget_memories"] == 40
    screen.apply(refused)  # the new preview can be applied
    assert screen.held() == before - set(listed(refused))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"policy": "best"}, "There is no retention policy “best”."),
        ({"budget_memories": 4}, "greater than or equal to 5"),
        ({"evict_at": 0.3}, "greater than or equal to 0.5"),
        ({"adapter": "none-9"}, "Select a valid choice."),
        ({"recall_tokens": ""}, "This field is required."),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(screen: Screen, wrong: dict[str, Any], sentence: str) -> None:
    refused = screen.preview(**wrong)
    assert refused.status_code == 400
    assert sentence in refused.content.decode()
    assert "Now it holds" in refused.content.decode()
    assert "of 40 memories" in refused.content.decode()


def test_a_budget_beneath_the_pinned_memories_is_refused(screen: Screen) -> None:
    with acting_as(screen.person.pk):
        for memory in list(Memory.objects.filter(bank=screen.bank))[:6]:
            pin(memory.pk, now=timezone.now())
    refused = screen.preview(budget_memories=5)
    assert refused.status_code == 409
    assert "The pinned memories alone would not fit." in refused.content.decode()


def test_the_same_settings_change_nothing_and_there_is_nothing_to_apply(screen: Screen) -> None:
    preview = screen.preview()
    assert "Nothing would change" in preview.content.decode()
    assert 'name="promise"' not in preview.content.decode()


def test_a_bank_that_its_person_set_up_does_not_follow_the_agent_until_told_to(screen: Screen, scribe: Agent) -> None:
    screen.apply(screen.preview(budget_memories=8))
    for agent_says in (30, 20):
        scribe.budget_memories = agent_says
        with acting_as(screen.person.pk):
            bring_bank_in_line(scribe, Bank.objects.get(pk=screen.bank), now=timezone.now())
        assert screen.fields()["budget_memories"] == 8
    assert 'name="budget_memories" value="40"' in screen.look("?agent")
    screen.apply(screen.preview(budget_memories=40))
    assert not screen.seat().own_settings


def test_neither_a_forged_promise_nor_that_of_another_bank_is_kept(screen: Screen, scribe: Agent) -> None:
    ben = screen_of(make_person("ben@example.org", name="Ben"), scribe, "quixotry")
    before, theirs = screen.held(), ben.held()
    foreign = promise_in(ben.preview(budget_memories=5))
    for promise in (foreign, "forged:text:here", foreign[:-2] + "xx"):
        assert "This preview is too old." in screen.apply(ben.preview(), promise).content.decode()
    assert (screen.held(), ben.held()) == (before, theirs)
    assert screen.client.get(ben.address).status_code == 404
    for body in ({"promise": foreign}, {"undo": "1"}, screen.fields(budget_memories=5)):
        assert screen.client.post(ben.address, body).status_code == 404
    assert ben.held() == theirs


def test_an_administrator_reaches_no_bank_but_their_own(screen: Screen) -> None:
    chief = User.objects.get(email="root@example.org")
    client = Client()
    client.force_login(chief)
    assert client.get(screen.address).status_code == 404
    assert client.post(screen.address, screen.fields(budget_memories=5)).status_code == 404


def test_undo_of_one_bank_is_not_offered_at_another(screen: Screen) -> None:
    other = screen_of(screen.person, make_agent("Clerk", budget_memories=40))
    other.client = screen.client
    screen.apply(screen.preview(budget_memories=5))
    assert 'id="undo"' in screen.look()
    assert 'id="undo"' not in other.look()
    assert "There is nothing to undo any more." in other.undo().content.decode()
    assert len(screen.held()) == 5
