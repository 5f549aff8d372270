"""One person's words never reach another: by every route, every frame of the socket, every command.

The routes are those of the resolver, so a new one is walked too, and one that takes an unknown kind of id fails here
until it says whose ids it takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from itertools import product
from pathlib import Path
from types import UnionType
from typing import Any, get_args
from uuid import UUID, uuid4

import pytest
from allauth.account.utils import user_pk_to_url_str
from django.contrib import admin
from django.core.management import CommandError, call_command, get_commands
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from agents import frames
from agents.models import Agent
from agents.threads import as_person
from agora_web.accounts.models import User
from memory.models import Conversation, Memory, Turn
from memory.tenancy import acting_as
from tests.memory.test_tenancy import OWNED
from tests.scenes import PASSWORD, Life, begin, live, make_agent, make_person
from tests.tabs import browser, session_of
from training.models import ReviewItem

CANARY = "quixotry"
METHODS = ("get", "post", "patch", "put", "delete")
BODY = {"title": "mine now", "keep_memories": False}
# The secret in the address is the right to what it opens: tested for giving nothing away without it.
KEY_ROUTES = ("confirm-email/", "password/reset/key/")
# Commands that take nobody's ids, each with what it takes instead.
WITHOUT_IDS = {
    "up": "settings only",
    "prepare": "settings only",
    "first_run": "settings only",
    "doctor": "settings only; what it writes is its own",
}
STAFFS = {"agent_id", "run_id"}  # ids of what belongs to no person: agents, training runs
COMMANDS = {"converse", "import_conversation", "replay"}  # tested below, each by name


def routes(
    resolver: URLResolver, prefix: str = "", names: frozenset[str] = frozenset()
) -> Iterator[tuple[str, set[str]]]:
    """Every route with the names of what it takes."""
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        takes = names | set(getattr(pattern.pattern, "converters", {})) | set(pattern.pattern.regex.groupindex)
        if isinstance(pattern, URLPattern):
            yield route, set(takes)
        else:
            yield from routes(pattern, route, frozenset(takes))


ROUTES = dict(routes(get_resolver()))
TAKING = {
    route: names
    for route, names in ROUTES.items()
    if names and not route.startswith("admin/") and not any(key in route for key in KEY_ROUTES)
}
PLAIN = sorted(route for route, names in ROUTES.items() if not names)


def address(route: str, ids: dict[str, Any]) -> str:
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(ids[match[1]]), route)


def ids_of(life: Life) -> dict[str, list[UUID]]:
    """One person's ids by the name under which routes take them."""
    return {
        "conversation_id": [life.conversation, life.forgotten_conversation],
        "turn_id": [life.turn],
        "recall_id": [life.recall],
        "memory_id": [life.held, life.archived, life.forgotten],
        "bank_id": [life.bank],
        "replay_id": [life.replay],
        "item_id": [closed_item(life)],
    }


def closed_item(life: Life) -> UUID:
    """What labellers were shown of a conversation, until its owner closed it."""
    with acting_as(life.person):
        item, _made = ReviewItem.objects.get_or_create(
            owner_id=life.person, bank_id=life.bank, memory_id=life.held,
            defaults={"mode": "rate", "chosen": "random", "hidden": True, "shown": [{"text": CANARY}]},
        )  # fmt: skip
        return item.pk


def ask(client: Client, method: str, path: str) -> HttpResponse:
    return getattr(client, method)(
        path, **({} if method == "get" else {"data": BODY, "content_type": "application/json"})
    )


def shown(response: HttpResponse) -> str:
    """What a person can tell one answer from another by: all but the form token, and the address that was asked."""
    return f"{response.status_code} " + re.sub(
        r'(csrf-token" content|csrfmiddlewaretoken" value)="\w+"', "", body(response)
    )


def body(response: HttpResponse) -> str:
    return "" if response.streaming else response.content.decode()


@pytest.fixture
def scribe() -> Agent:
    return make_agent(budget_memories=5)


@pytest.fixture
def life(scribe: Agent) -> Life:
    return live(make_person("ana@example.org", name=f"Ana {CANARY}"), scribe, CANARY)


@pytest.fixture
def ben() -> User:
    return make_person("ben@example.org", name="Ben", roles=["labeller", "analyst", "operator"])


@pytest.fixture
def chief(scribe: Agent) -> User:
    return User.objects.get(email="root@example.org")  # a superuser, who made the agent


def client_of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


# --- pages and JSON -------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_every_route_that_takes_an_id_finds_nothing_for_another_person(life: Life, ben: User, chief: User) -> None:
    mine = ids_of(life)
    assert len(TAKING) > 10
    asking = [(client_of(ben), METHODS), (client_of(chief), ("get", "post"))]
    for (route, names), (client, methods) in product(TAKING.items(), asking):
        if names <= STAFFS:
            continue
        (name,) = names
        assert name in mine, f"{route}: say in `ids_of` whose ids this route takes"
        for method in methods:
            nothing = shown(ask(client, method, address(route, {name: uuid4()})))
            for key in mine[name]:
                response = ask(client, method, address(route, {name: key}))
                assert response.status_code in (404, 405), f"{method} {route}: {response.status_code}"
                assert shown(response) == nothing, f"{method} {route} tells another's id from none"
                assert CANARY not in body(response)
    with acting_as(life.person):
        assert Conversation.objects.get(pk=life.conversation).title == f"About {CANARY}"
        assert Memory.objects.filter(pk__in=[life.held, life.archived, life.forgotten]).count() == 3


@pytest.mark.django_db
def test_the_same_routes_answer_their_owner(life: Life) -> None:
    """Without this the test above would also pass on routes that answer nobody."""
    client = client_of(User.objects.get(pk=life.person))
    for route, names in TAKING.items():
        if names <= STAFFS or names == {"item_id"}:  # items are labellers' (tests/training/test_labelling_api.py)
            continue
        (name,) = names
        answered = []
        for method in METHODS:
            for key in ids_of(life)[name]:
                with transaction.atomic():
                    answered.append(ask(client, method, address(route, {name: key})).status_code)
                    transaction.set_rollback(True)
        assert 200 in answered, f"{route} answers its owner with {answered}"


@pytest.mark.django_db(databases=["default", "worker"])  # some pages count over all banks
def test_routes_without_ids_show_another_person_nothing(life: Life, ben: User, chief: User, scribe: Agent) -> None:
    asked = ["", f"?q={CANARY}", f"?agent={scribe.pk}&q={CANARY}&state=archived",
             f"?agent={life.bank}&user={life.person}&owner={life.person}"]  # fmt: skip
    ours = [route for route in PLAIN if not route.startswith("admin/")]
    for route, client in product(ours, (client_of(ben), client_of(chief))):
        for query in asked[: 1 if route.startswith("accounts/") else None]:
            response = client.get(f"/{route}{query}")
            assert response.status_code < 500, route
            # a page of a search repeats what was searched for
            assert CANARY not in body(response).replace(f"q={CANARY}", ""), f"{route}{query}"


@pytest.mark.django_db
def test_the_administration_site_registers_nothing_that_a_person_owns() -> None:
    assert set(admin.site._registry).isdisjoint(OWNED)


@pytest.mark.django_db
def test_the_administration_site_shows_no_words_and_is_closed_to_people(life: Life, ben: User, chief: User) -> None:
    outside, inside = client_of(ben), client_of(chief)
    ids: dict[str, Any] = {"app_label": "accounts", "url": "memory/turn/", "content_type_id": 1}
    walked = [(route, names) for route, names in ROUTES.items() if route.startswith("admin/") and "^" not in route]
    assert walked
    for route, names in walked:
        assert names <= {"object_id", "id", *ids}, f"{route}: say what this route takes"
        for key in (life.person, life.conversation, life.held) if names & {"object_id", "id"} else (None,):
            path = address(route, {**ids, "object_id": key, "id": key})
            if route not in ("admin/login/", "admin/logout/"):
                assert outside.get(path).status_code in (302, 403, 404), route
            said = body(inside.get(path))
            assert CANARY not in said.replace(f"Ana {CANARY}", ""), route  # people are listed by their names


@pytest.mark.django_db
def test_agents_are_edited_by_administrators_alone(ben: User, chief: User, scribe: Agent) -> None:
    for person, there, nowhere in ((ben, 403, 403), (chief, 200, 404)):
        client = client_of(person)
        assert client.get(f"/agents/{scribe.pk}/").status_code == there
        assert client.get(f"/agents/{uuid4()}/").status_code == nowhere


@pytest.mark.django_db
def test_links_with_a_secret_open_nothing_without_it(ben: User) -> None:
    ana = make_person("ana@example.org", name=f"Ana {CANARY}")
    uid, client = user_pk_to_url_str(ana), client_of(ben)
    known = [route for route in ROUTES if any(key in route for key in KEY_ROUTES)]
    assert known
    for path in (f"/accounts/password/reset/key/{uid}-guess-ed/", f"/accounts/password/reset/key/{uid}-set-password/",
                 "/accounts/confirm-email/guess/"):  # fmt: skip
        for method in ("get", "post"):
            response = getattr(client, method)(path, {"password1": "n3w-secret-x", "password2": "n3w-secret-x"})
            assert response.status_code < 500
            assert CANARY not in body(response)
    ana.refresh_from_db()
    assert ana.check_password(PASSWORD)


@pytest.mark.django_db
def test_signed_out_every_route_leads_to_sign_in_or_says_no(life: Life, scribe: Agent) -> None:
    public, client = {"", "ready", "admin/login/"}, Client()
    for route, names in ROUTES.items():
        if route.startswith(("accounts/", "admin/")) and route != "accounts/profile/":
            continue
        keys = {"agent_id": [scribe.pk], "run_id": [uuid4()], **ids_of(life)}
        for key in keys[next(iter(names))] if names else [None]:
            path = address(route, dict.fromkeys(names, key))
            for method in METHODS:
                response = ask(client, method, path)
                assert CANARY not in body(response)
                if route in public:
                    continue
                if route.startswith("api/"):
                    assert response.status_code in (401, 403), f"{method} {path}: {response.status_code}"
                    assert response.json()["error"]["code"] == "not_authenticated"
                else:
                    assert response.status_code == 302, f"{method} {path}: {response.status_code}"
                    assert response["Location"].startswith("/accounts/login/")


@pytest.mark.django_db
def test_the_owner_comes_from_the_session_and_never_from_a_body(life: Life, ben: User, scribe: Agent) -> None:
    client = client_of(ben)
    claims = {"owner": str(life.person), "owner_id": str(life.person), "user": str(life.person), "id": str(life.turn),
              "bank": str(life.bank), "bank_id": str(life.bank), "conversation": str(life.conversation)}  # fmt: skip
    response = client.post("/api/conversations/", {"agent": str(scribe.pk), **claims}, content_type="application/json")
    assert response.status_code == 201
    made = UUID(response.json()["id"])
    client.patch(f"/api/conversations/{made}/", {"title": "t", **claims}, content_type="application/json")
    with acting_as(ben.pk):
        begun = Conversation.objects.get(pk=made)
        assert (begun.owner_id, begun.title) == (ben.pk, "t")
        assert begun.bank_id != life.bank
    with acting_as(life.person):
        assert not Conversation.objects.filter(pk=made).exists()
    response = client.post(
        "/accounts/profile/",
        {"name": "Changed", "time_zone": "UTC", "language": "en", "id": str(life.person), "pk": str(life.person),
         "email": "ana@example.org", "is_superuser": "on", "is_staff": "on", "groups": "1"},
    )  # fmt: skip
    assert response.status_code == 302
    ben.refresh_from_db()
    assert (ben.name, ben.email, ben.is_superuser, ben.is_staff) == ("Changed", "ben@example.org", False, False)
    assert User.objects.get(pk=life.person).name == f"Ana {CANARY}"


# --- sockets --------------------------------------------------------------------------------------------------------


def frames_with(turn: UUID) -> dict[type, list[dict[str, Any]]]:
    """What a client can send about a turn, by the schema of the frame."""
    return {
        frames.Send: [{"kind": "edit", "turn": turn, "text": "mine now"}],
        frames.Stop: [{"kind": "stop", "turn": turn}],
        frames.Retry: [{"kind": "retry", "turn": turn}],
        frames.Follow: [{"kind": "follow", "turn": turn, "last_seq": ""}, {"kind": "follow", "turn": turn}],
    }


def test_the_socket_test_knows_every_frame() -> None:
    known: UnionType = frames.Frame
    assert set(get_args(known)) == set(frames_with(uuid4())), "a new frame needs its case in `frames_with`"


@pytest.fixture
def people(scribe: Agent, life: Life) -> tuple[Life, User, str, UUID]:
    ben = make_person("ben@example.org", name="Ben")
    return life, ben, session_of(ben), begin(ben, scribe).pk


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
async def test_no_frame_reaches_another_persons_turn(people: tuple[Life, User, str, UUID]) -> None:
    life, _, session, conversation = people
    async with browser() as open_tab:
        tab = await open_tab(session, conversation)
        for cases in frames_with(life.turn).values():
            for case in cases:
                await tab.say(**case)
                said = await tab.error()
                assert said["code"] == "not_found", case
        nothing = [{**frame} for frame in tab.frames]
        for cases in frames_with(uuid4()).values():
            for case in cases:
                await tab.say(**case)
                await tab.error()
        assert tab.frames[len(nothing) :] == nothing, "another's turn and no turn are told apart"
        told = await tab.tell("Hello", owner=str(life.person), conversation=str(life.conversation), turn=str(life.turn))
        assert told["observation"]["text"] == "Hello"
        assert CANARY not in str(tab.frames)


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
async def test_another_persons_conversation_closes_the_socket(people: tuple[Life, User, str, UUID]) -> None:
    life, _, session, _ = people
    async with browser() as open_tab:
        for conversation, who, code, name in (
            (life.conversation, session, 4404, "not_found"),
            (life.forgotten_conversation, session, 4404, "not_found"),
            (uuid4(), session, 4404, "not_found"),
            (life.conversation, None, 4401, "signed_out"),
            (life.conversation, "forged" * 5, 4401, "signed_out"),
        ):
            tab = await open_tab(who, conversation)
            assert (await tab.next())["code"] == name
            await tab.next()
            assert tab.closed == code
        strange = await open_tab(session, life.conversation, origin="https://elsewhere.example")
        assert strange.closed is not None
        assert strange.frames == []


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
async def test_a_turn_is_announced_to_its_own_tabs_alone(people: tuple[Life, User, str, UUID]) -> None:
    life, _, session, conversation = people
    ana = await as_person(None, lambda: session_of(User.objects.get(pk=life.person)))
    async with browser() as open_tab:
        hers, his = await open_tab(ana, life.conversation), await open_tab(session, conversation)
        await hers.tell(f"One more {CANARY}.")
        await his.say("stop", turn=uuid4())
        await his.error()
        assert [frame["type"] for frame in his.frames] == ["error"]


# --- commands -------------------------------------------------------------------------------------------------------


def test_the_command_test_knows_every_command() -> None:
    ours = {
        name for name, app in get_commands().items() if app in ("agora_web", "agora_web.accounts", "memory", "agents")
    }
    assert ours - COMMANDS - set(WITHOUT_IDS) == set(), "a new command needs its case here, or to say why it needs none"
    assert ours >= COMMANDS


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_converse_finds_no_conversation_of_another_person(life: Life) -> None:
    make_person("ben@example.org", name="Ben")
    for conversation in (life.conversation, life.forgotten_conversation, uuid4()):
        out = StringIO()
        with pytest.raises(CommandError, match="There is no such conversation") as refusal:
            call_command("converse", user="ben@example.org", agent="Scribe", conversation=conversation,
                         message=f"What about {CANARY}?", json=True, stdout=out, stderr=out)  # fmt: skip
        assert CANARY not in out.getvalue() + str(refusal.value)
    out = StringIO()
    call_command("converse", user="ben@example.org", agent="Scribe", message="What concerns the harbour?", json=True,
                 stdout=out)  # fmt: skip
    assert CANARY not in out.getvalue()
    with acting_as(life.person):
        assert Turn.objects.filter(conversation=life.conversation).count() == 3


@pytest.mark.django_db(transaction=True, databases=["default", "owner", "worker"])
def test_replay_finds_no_conversation_of_another_person(life: Life) -> None:
    ben = make_person("ben@example.org", name="Ben")
    for conversation in (life.conversation, life.forgotten_conversation, uuid4()):
        out = StringIO()
        with pytest.raises(CommandError, match="There is no such conversation") as refusal:
            call_command("replay", user=ben.email, conversation=conversation, policy=["fifo"], budget=3, json=True,
                         stdout=out, stderr=out)  # fmt: skip
        assert CANARY not in out.getvalue() + str(refusal.value)
    for conversation in (life.forgotten_conversation, uuid4()):  # nor does it show anybody what is forgotten
        with pytest.raises(CommandError, match="There is no such conversation"):
            call_command("replay", conversation=conversation, policy=["fifo"], budget=3, stdout=StringIO())
    for whose in ({"user": "ana@example.org"}, {}):
        out = StringIO()
        call_command("replay", conversation=life.conversation, policy=["fifo"], budget=3, stdout=out, **whose)
        assert CANARY in out.getvalue()  # the same finds its owner's


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_an_import_of_the_same_file_meets_no_import_of_another_person(tmp_path: Path, scribe: Agent) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text(
        '{"conversation": "talk-1", "observation": "The lighthouse keeper is called Ida.", "action": "Noted."}\n'
    )
    ids = {}
    for email in ("ana@example.org", "ben@example.org"):
        person = make_person(email)
        out = StringIO()
        call_command("import_conversation", str(file), user=email, agent="Scribe", stdout=out, stderr=StringIO())
        assert "imported" in out.getvalue()
        with acting_as(person.pk):
            ids[email] = Conversation.objects.get().pk
    assert len(set(ids.values())) == 2
