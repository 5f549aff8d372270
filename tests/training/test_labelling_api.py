"""The JSON and the pages of the labelling queue: who gets in, what they read, and what they may say."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from agents.models import Agent
from agora_web.accounts.models import User
from memory.models import Conversation, Labelling
from memory.services import memories
from memory.tenancy import acting_as
from tests.scenes import begin, make_agent, make_person, take_turn
from training.models import Mode, ReviewItem, ReviewState
from training.services import queue, settling

pytestmark = pytest.mark.django_db
PATH = "/api/labelling/items/"
DISPUTES = "/api/labelling/disputes/"
PAGES = ("/training/labelling/", "/training/labelling/resolve/", "/training/labelling/statistics/")


def client_of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def ana() -> User:
    return make_person("ana@example.org")


@pytest.fixture
def scribe() -> Agent:
    return make_agent()


@pytest.fixture
def conversation(ana: User, scribe: Agent) -> Conversation:
    """Opened by its owner, with items."""
    begun = begin(ana, scribe)
    for said in (
        "My mail is ana@example.net",
        "The harbour opens at nine",
        "I eat no walnuts",
        "Rent is due on the 3rd",
    ):
        take_turn(ana, begun, said)
    with acting_as(ana.pk):
        queue.open_to_labelling(begun.pk, True)
        queue.fill_queue(str(begun.bank_id))
    return begun


def labeller(number: int = 1, role: str = "labeller") -> Client:
    return client_of(make_person(f"{role}{number}@example.org", name=f"Labeller {number}", roles=[role]))


def send(client: Client, path: str, body: Any, method: str = "post") -> Any:
    return getattr(client, method)(path, body, content_type="application/json")


def settle(ana: User) -> None:
    with acting_as(ana.pk):
        for item in ReviewItem.objects.values_list("pk", flat=True):
            settling.settle(str(item))


def test_a_labeller_gets_masked_items_answers_them_and_sees_the_progress(conversation: Conversation) -> None:
    client = labeller()
    first = client.get(PATH).json()
    left = first["progress"]["left"]
    assert len(first["items"]) == 3
    assert set(first["items"][0]) == {"id", "mode", "memories"}, "why it was chosen would lead the answer"
    seen = str(first)
    while first["items"]:
        one = first["items"][0]
        value = 1 if one["mode"] == Mode.COMPARE else 3
        first = send(client, f"{PATH}{one['id']}/", {"value": value, "but": []}).json()
        seen += str(first)
    assert first["progress"] == {"answered": left, "left": 0, "disputed": 0}
    assert "[e-mail]" in seen
    assert "example.net" not in seen
    assert str(conversation.pk) not in seen
    assert str(conversation.owner_id) not in seen


def test_what_a_page_holds_already_is_not_told_again(conversation: Conversation) -> None:
    client = labeller()
    one, two, three = (item["id"] for item in client.get(PATH).json()["items"])
    after = send(client, f"{PATH}{one}/", {"value": None, "but": [two, three]}).json()
    assert {one, two, three}.isdisjoint(item["id"] for item in after["items"])


def test_undo_brings_the_item_back(conversation: Conversation) -> None:
    client = labeller()
    one = client.get(PATH).json()["items"][0]["id"]
    send(client, f"{PATH}{one}/", {"value": 1})
    assert one not in {item["id"] for item in client.get(PATH).json()["items"]}
    assert client.delete(f"{PATH}{one}/").json()["progress"]["answered"] == 0
    assert client.delete(f"{PATH}{one}/").status_code == 404


@pytest.mark.parametrize("body", [{}, {"value": "many"}, {"value": 5}, {"value": -1}, {"value": 1, "but": ["x"]}, []])
def test_an_answer_that_is_none_is_refused_with_a_sentence(conversation: Conversation, body: Any) -> None:
    client = labeller()
    one = client.get(PATH).json()["items"][0]["id"]
    response = send(client, f"{PATH}{one}/", body)
    assert response.status_code == 400
    assert response.json()["error"]["sentence"]


def test_what_left_the_queue_is_not_found(ana: User, conversation: Conversation) -> None:
    client = labeller()
    one = client.get(PATH).json()["items"][0]["id"]
    with acting_as(ana.pk):
        memories.forget(ReviewItem.objects.get(pk=one).memory_id, now=timezone.now())
    for key in (one, uuid4()):
        response = send(client, f"{PATH}{key}/", {"value": 1})
        assert response.status_code == 404
        assert "left the queue" in response.json()["error"]["sentence"]
    assert client.delete(f"{PATH}{one}/").status_code == 404


def test_a_disagreement_is_settled_by_an_administrator_who_sees_what_was_said_and_not_by_whom(
    ana: User, conversation: Conversation
) -> None:
    with acting_as(ana.pk):
        ReviewItem.objects.update(wanted=2)
        item = ReviewItem.objects.filter(mode=Mode.RATE).first()
        assert item is not None
    one, two, chief = labeller(1), labeller(2), labeller(3, "administrator")
    for client, value in ((one, 0), (two, 4)):
        assert send(client, f"{PATH}{item.pk}/", {"value": value}).status_code == 200
    settle(ana)
    assert one.get(DISPUTES).json()["items"] == []
    assert send(one, f"{DISPUTES}{item.pk}/", {"value": 4}).status_code == 409
    found = chief.get(DISPUTES).json()
    assert [(row["id"], row["answers"]) for row in found["items"]] == [(str(item.pk), [0.0, 4.0])]
    assert "Labeller" not in str(found)
    assert send(chief, f"{DISPUTES}{item.pk}/", {"value": 4}).status_code == 200
    settle(ana)
    with acting_as(ana.pk):
        assert ReviewItem.objects.get(pk=item.pk).state == ReviewState.RESOLVED
    assert send(chief, f"{DISPUTES}{item.pk}/", {"value": 4}).status_code == 409
    assert chief.delete(f"{DISPUTES}{item.pk}/").status_code == 200


@pytest.mark.parametrize("roles", [(), ("operator",), ("analyst",), ("operator", "analyst")])
def test_others_get_in_nowhere(conversation: Conversation, roles: tuple[str, ...]) -> None:
    client = client_of(make_person("other@example.org", roles=roles))
    with acting_as(conversation.owner_id):
        item = ReviewItem.objects.values_list("pk", flat=True)[0]
    for path in (PATH, DISPUTES):
        assert client.get(path).status_code == 403
        for key in (item, uuid4()):
            assert send(client, f"{path}{key}/", {"value": 1}).status_code == 403
            assert client.delete(f"{path}{key}/").status_code == 403
    for page in PAGES:
        assert client.get(page).status_code == 403
    assert "/training/labelling/" not in client.get("/chat/").content.decode()


def test_an_administrator_settles_and_reads_figures_but_does_not_label(conversation: Conversation) -> None:
    chief = labeller(1, "administrator")
    assert [chief.get(path).status_code for path in (PATH, *PAGES)] == [403, 403, 200, 200]
    with acting_as(conversation.owner_id):
        item = ReviewItem.objects.values_list("pk", flat=True)[0]
    assert send(chief, f"{PATH}{item}/", {"value": 1}).status_code == 403


def test_the_owner_opens_and_closes_and_nobody_else(ana: User, scribe: Agent) -> None:
    begun = begin(ana, scribe)
    path = f"/api/labelling/conversations/{begun.pk}/"
    client = client_of(ana)
    assert client.get(path).json() == {"labelling": "", "open": False}
    assert send(client, path, {"open": True}, "put").json() == {"labelling": "owner", "open": True}
    assert client.get(f"/api/conversations/{begun.pk}/").json()["conversation"]["labelling"] == "owner"
    assert send(client, path, {"open": False}, "put").json() == {"labelling": "refused", "open": False}
    assert send(client, path, {"open": "perhaps"}, "put").status_code == 400
    other = labeller()
    for key in (begun.pk, uuid4()):
        assert other.get(f"/api/labelling/conversations/{key}/").status_code == 404
        assert send(other, f"/api/labelling/conversations/{key}/", {"open": True}, "put").status_code == 404
    with acting_as(ana.pk):
        assert Conversation.objects.get(pk=begun.pk).labelling == Labelling.REFUSED


def test_the_pages_say_what_there_is(conversation: Conversation, ana: User) -> None:
    client = labeller()
    page = client.get(PAGES[0]).content.decode()
    assert 'data-items="/api/labelling/items/"' in page
    assert 'data-items="/api/labelling/disputes/"' in client.get(PAGES[1]).content.decode()
    figures = client.get(PAGES[2]).content.decode()
    assert "Nobody has answered anything yet." in figures
    one = client.get(PATH).json()["items"][0]["id"]
    send(client, f"{PATH}{one}/", {"value": 1})
    figures = client.get(PAGES[2]).content.decode()
    assert "Labeller 1" in figures
    assert "ana@example" not in figures
