"""The pages of banks and of a conversation's memory: for whom they open, what they show, and what stays masked."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import async_to_sync
from django.db import DatabaseError
from django.test import Client

from agents.models import Agent
from agora_web.accounts.models import User
from agora_web.pages import door, memory_figures, recall_figures
from agora_web.pages.bank_recall_figures import OF_ALL, OF_ONE
from agora_web.pages.life_figures import FIGURES
from memory.bank_past import LeavingRow
from memory.figure_rows import read_csv
from memory.models import Bank, Conversation, Doubt, Look, Memory, Recall
from memory.services import memories
from memory.services.banks import open_to_analysts
from memory.services.conversations import forget_conversation, rename_conversation
from memory.services.table_statistics import refresh_table_statistics
from memory.tenancy import acting_as
from tests.memory.long_life import make_long_life
from tests.scenes import begin, make_agent, make_person, take_turn

pytestmark = pytest.mark.django_db
MAIL, PHONE, SPEAKER = "vera@example.net", "+351 912 345 678", "Ana Quixotry"
SECRETS = (MAIL, "912 345 678", SPEAKER)
SAID = (
    f"Write to Vera at {MAIL} about the harbour.", f"Vera's number is {PHONE}, she bakes walnut bread.",
    "The harbour office opens at nine.", "Rent is due on the 3rd.", "I eat no walnuts but almonds.",
    f"Write to Vera at {MAIL} about the harbour.", "Whom do I write to about the harbour?",
)  # fmt: skip


def client_of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def ana() -> User:
    return make_person("ana@example.org", name=SPEAKER)


@pytest.fixture
def ben() -> User:
    return make_person("ben@example.org", name="Ben", roles=["analyst"])


@pytest.fixture
def scribe() -> Agent:
    return make_agent(budget_memories=6)


@pytest.fixture
def talk(ana: User, scribe: Agent) -> Conversation:
    """A conversation with what is to be masked in its title, its turns and its memories."""
    begun = begin(ana, scribe)
    for said in SAID:
        take_turn(ana, begun, said, f"You said: {said}")
    with acting_as(ana.pk):
        rename_conversation(begun.pk, f"Vera is {MAIL}")
        old, new = Memory.objects.filter(bank=begun.bank_id).order_by("written_seq")[:2]
        Doubt.objects.create(owner=ana, bank_id=begun.bank_id, memory=old, newer=new, what=Doubt.What.NUMBER)
        missed = Memory.objects.filter(bank=begun.bank_id, state="archived").first()
        assert missed is not None
        Recall.objects.filter(pk=Recall.objects.latest("at").pk).update(regretted=[{"memory": str(missed.pk)}])
        begun.refresh_from_db()
    return begun


def things(talk: Conversation) -> tuple[UUID, UUID]:
    """A recall of the conversation's bank, and a memory whose words are to be masked."""
    with acting_as(talk.owner_id):
        recall = Recall.objects.filter(bank=talk.bank_id).latest("at")
        memory = Memory.objects.filter(bank=talk.bank_id).exclude(state="forgotten").earliest("written_seq")
    return recall.pk, memory.pk


def figures(talk: Conversation) -> list[str]:
    recall, memory = things(talk)
    return [
        *(f"/api/banks/{talk.bank_id}/life/{name}/" for name, _view in OF_ONE),
        *(f"/api/conversations/{talk.pk}/life/{one.name}/" for one in FIGURES),
        *(f"/api/recalls/{recall}/{one.name}/" for one in recall_figures.FIGURES),
        *(f"/api/memories/{memory}/{one.name}/" for one in memory_figures.FIGURES),
    ]


def pages(talk: Conversation) -> list[str]:
    recall, memory = things(talk)
    return [f"/memories/banks/{talk.bank_id}/life/", f"/memories/conversations/{talk.pk}/life/",
            f"/memories/recalls/{recall}/", f"/memories/{memory}/"]  # fmt: skip


ALL = [f"/api/banks/life/{name}/" for name, _view in OF_ALL]


def let(talk: Conversation, open_: bool = True) -> None:
    with acting_as(talk.owner_id):
        open_to_analysts(talk.bank_id, open_)


def said(client: Client, path: str, **query: str) -> str:
    response = client.get(path, query)
    assert response.status_code == 200, (path, response.status_code)
    return str(response.content.decode())


def exported(client: Client, path: str, **query: str) -> str:
    """An export, which is sent block by block."""
    response = client.get(path, query)
    assert response.streaming

    async def whole() -> bytes:
        return b"".join([part async for part in response])

    return async_to_sync(whole)().decode()


def figure(client: Client, path: str, **query: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(client, path, **query))
    return found


def everything(client: Client, talk: Conversation) -> str:
    """All that the pages, figures and exports of a bank say to somebody."""
    told = [said(client, path) for path in [*pages(talk), "/memories/banks/"]]
    for path in [*figures(talk), *ALL]:
        told += [said(client, path), exported(client, path, format="csv"), exported(client, path, format="json")]
    return "\n".join(told)


def test_the_owner_reads_their_own_as_it_is(ana: User, talk: Conversation) -> None:
    told = everything(client_of(ana), talk)
    for secret in SECRETS:
        assert secret in told
    assert "[e-mail]" not in told


def test_an_analyst_reads_an_opened_bank_masked_in_pages_figures_and_exports(ben: User, talk: Conversation) -> None:
    let(talk)
    told = everything(client_of(ben), talk)
    for secret in SECRETS:
        assert secret not in told
    assert "[e-mail]" in told
    assert "[phone]" in told
    assert "walnuts but almonds" in told
    assert "can change nothing" in told
    assert str(talk.owner_id) not in told


def test_an_analyst_reads_the_same_numbers_as_the_owner(ana: User, ben: User, talk: Conversation) -> None:
    let(talk)
    for path in figures(talk):
        theirs, masked = (figure(client_of(person), path) for person in (ana, ben))
        assert masked["sentence"] == theirs["sentence"], path
        assert masked["table"]["total"] == theirs["table"]["total"], path
        assert masked["table"]["total"] or masked["empty"], path


def test_a_bank_that_is_not_open_is_not_found_by_any_route(ben: User, talk: Conversation) -> None:
    client = client_of(ben)
    for path in [*pages(talk), *figures(talk)]:
        assert client.get(path).status_code == 404, path
    assert str(talk.bank_id) not in said(client, "/memories/banks/") + "".join(said(client, path) for path in ALL)


def test_closing_shuts_at_once(ben: User, talk: Conversation) -> None:
    client = client_of(ben)
    let(talk)
    assert str(talk.bank_id) in said(client, ALL[0])
    let(talk, False)
    for path in [*pages(talk), *figures(talk)]:
        assert client.get(path).status_code == 404, path
    assert figure(client, ALL[0])["table"]["total"] == 0


@pytest.mark.parametrize("roles", [(), ("labeller",), ("operator",), ("administrator",)])
def test_other_roles_find_nothing_of_an_opened_bank(talk: Conversation, roles: tuple[str, ...]) -> None:
    let(talk)
    client = client_of(make_person("cleo@example.org", roles=roles))
    for path in [*pages(talk), *figures(talk)]:
        assert client.get(path).status_code == 404, path
    assert figure(client, ALL[0])["table"]["total"] == 0
    assert ("Analysis" in said(client, "/memories/banks/")) is False


def test_other_doors_of_an_opened_bank_stay_shut(ben: User, talk: Conversation) -> None:
    let(talk)
    client = client_of(ben)
    with acting_as(talk.owner_id):
        recall, memory = Recall.objects.latest("at"), Memory.objects.filter(state="held").latest("written_seq")
    for path in (f"/chat/{talk.pk}/", f"/api/conversations/{talk.pk}/", f"/api/recalls/{recall.pk}/",
                 f"/memories/banks/{talk.bank_id}/", f"/api/banks/{talk.bank_id}/analysts/"):  # fmt: skip
        assert client.get(path).status_code == 404, path
    for verb in ("pin", "forget", "erase"):
        assert client.post(f"/api/memories/{memory.pk}/{verb}/").status_code == 404


def test_another_bank_of_the_same_owner_stays_shut(ana: User, ben: User, talk: Conversation) -> None:
    other = begin(ana, make_agent("Oracle"))
    take_turn(ana, other, "Oracle hears of the plum orchard.")
    let(talk)
    client = client_of(ben)
    for path in [*pages(other), *figures(other)]:
        assert client.get(path).status_code == 404, path
    assert "plum orchard" not in everything(client, talk)


def test_what_is_forgotten_in_an_opened_bank_is_not_shown(ben: User, talk: Conversation) -> None:
    let(talk)
    client = client_of(ben)
    with acting_as(talk.owner_id):
        gone = Memory.objects.get(text="I eat no walnuts but almonds.")
        memories.forget(gone.pk, now=datetime.now(UTC))
    assert "walnuts but almonds." not in everything(client, talk).replace("You said: I eat no walnuts but almonds.", "")
    shut, of_bank = pages(talk)[1:], figures(talk)[: len(OF_ONE)]
    with acting_as(talk.owner_id):
        forget_conversation(talk.pk, keep_memories=False, now=datetime.now(UTC))
    for path in shut:
        assert client.get(path).status_code == 404, path
    told = "".join(said(client, path) for path in of_bank)
    assert "walnut" not in told
    assert "Rent is due" not in told


def test_a_page_says_what_to_do_and_is_a_page_with_figures(ana: User, talk: Conversation) -> None:
    client = client_of(ana)
    response = client.get(pages(talk)[0])
    assert "'unsafe-inline'" in response["Content-Security-Policy"].split("style-src")[1].split(";")[0]
    told = response.content.decode()
    assert told.count('class="card figure-card"') == len(OF_ONE)
    assert "can change nothing" not in told
    assert f'/memories/banks/{talk.bank_id}/"' in told
    assert said(client, "/memories/banks/").count('class="card figure-card"') == len(OF_ALL)


def test_filters_choose_rows_and_say_where_they_do_not(ana: User, talk: Conversation) -> None:
    client, base = client_of(ana), f"/api/banks/{talk.bank_id}/life"
    all_, budget = (figure(client, f"{base}/leaving/", **query) for query in ({}, {"reason": "budget"}))
    assert 0 < budget["table"]["total"] <= all_["table"]["total"]
    assert figure(client, f"{base}/leaving/", reason="twin")["empty"]
    assert figure(client, f"{base}/composition/", kind="user")["table"]["total"] == 1
    assert "Not filtered by kind of memory" in figure(client, f"{base}/turnover/", kind="user")["note"]
    with acting_as(ana.pk):
        judges = Memory.objects.filter(bank=talk.bank_id)[0].adapter
    for name, view in OF_ONE:
        whole, its, others = (
            figure(client, f"{base}/{name}/", **query) for query in ({}, {"adapter": judges}, {"adapter": "none-1"})
        )
        assert its["table"] == whole["table"], name
        assert others["empty"] or name in ("beside", "never"), name
        assert (f"Only times in which {judges} judged count." in its["note"]) == view.timed
        assert "Not filtered by adapter" not in its["note"]
        past = figure(client, f"{base}/{name}/", until="2020-01-01")
        assert past["empty"] or name in ("never",), name
    assert client.get(f"{base}/work/", {"since": "yesterday"}).status_code == 400


def test_banks_are_filtered_by_agent(ana: User, talk: Conversation, scribe: Agent) -> None:
    oracle = make_agent("Oracle")
    take_turn(ana, begin(ana, oracle), "Oracle hears of the plum orchard.")
    client = client_of(ana)
    assert figure(client, ALL[0])["table"]["total"] == 2
    assert [row[0]["text"] for row in figure(client, ALL[0], agent=str(oracle.pk))["table"]["rows"]] == ["Oracle"]
    held = [figure(client, "/api/banks/life/composition/", **query)["sentence"] for query in
            ({}, {"agent": str(scribe.pk)}, {"agent": str(oracle.pk)})]  # fmt: skip
    assert len(set(held)) == 3
    assert figure(client, ALL[0], agent=str(uuid4()))["empty"]


def test_who_has_no_bank_is_told_why_there_is_nothing(ben: User) -> None:
    client = client_of(ben)
    for path in ALL:
        assert "There is no bank here yet" in figure(client, path)["empty"]
    page = said(client, "/memories/banks/")
    assert "Nobody has opened a bank to analysts" in page
    assert 'href="/memories/banks/" aria-current="page"' in page


def test_rows_lead_to_their_bank_and_exports_come_back_as_rows(ana: User, talk: Conversation) -> None:
    client = client_of(ana)
    (row,) = figure(client, ALL[0])["table"]["rows"]
    assert row[0] == {"text": "Scribe", "href": f"/memories/banks/{talk.bank_id}/life/"}
    base = f"/api/banks/{talk.bank_id}/life/leaving/"
    rows = list(read_csv(LeavingRow, exported(client, base, format="csv").splitlines(keepends=True)))
    assert len(rows) == figure(client, base)["table"]["total"]
    assert all(row.bank == talk.bank_id for row in rows)


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_two_thousand_turns_and_twice_as_many_memories_are_told_fast_and_in_few_bytes(ana: User) -> None:
    fresh = begin(ana, make_agent("Long"))
    with acting_as(ana.pk):
        talk = make_long_life(ana.pk, fresh.bank, 2_000, traced=8)
    refresh_table_statistics()  # as an import does
    client, sizes, seconds = client_of(ana), {}, {}
    figure(client, ALL[0])  # the process knows the ledger
    for path in [*figures(talk)[: len(OF_ONE)], *ALL]:
        began, used = time.monotonic(), time.process_time()
        sizes[path] = len(said(client, path))
        seconds[path] = (round(time.monotonic() - began, 2), round(time.process_time() - used, 2))
    print("\n", *(f"{path} {sizes[path]} bytes, {seconds[path]} s\n" for path in sizes))
    assert sum(sizes[path] for path in ALL) < 1_000_000
    assert sum(sizes[path] for path in sizes if path not in ALL) < 1_000_000
    assert sum(used for _wall, used in seconds.values()) < 6
    assert figure(client, ALL[0])["table"]["rows"][0][1] == 200


# --- opening and closing ------------------------------------------------------------------------------------------


def test_the_owner_opens_and_closes_on_the_banks_page_and_reads_what_it_means(ana: User, talk: Conversation) -> None:
    client, path = client_of(ana), f"/memories/banks/{talk.bank_id}/"
    before = said(client, path)
    assert "people of this site with the role analyst may look at what Scribe keeps of you" in before
    assert "You alone." in before
    for word, told, stands in (("open", "Open to analysts.", True), ("close", "no analyst sees it any more", False)):
        assert client.post(path, {"analysts": word})["Location"] == path
        page = said(client, path)
        assert told in page
        assert ("Close it to analysts" in page) is stands
        with acting_as(ana.pk):
            assert Bank.objects.get(pk=talk.bank_id).open_to_analysts is stands


def test_the_chat_is_told_of_an_opened_bank_before_and_in_a_conversation(ana: User, talk: Conversation) -> None:
    client = client_of(ana)

    def told() -> tuple[str, str]:
        (agent,) = client.get("/api/agents/").json()["agents"]
        return agent["analysts"], client.get(f"/api/conversations/{talk.pk}/").json()["conversation"]["analysts"]

    assert told() == ("", "")
    path = f"/api/banks/{talk.bank_id}/analysts/"
    assert client.put(path, {"open": True}, content_type="application/json").json() == {"open": True}
    assert client.get(path).json() == {"open": True}
    assert told() == (str(talk.bank_id), str(talk.bank_id))
    assert client.put(path, {}, content_type="application/json").status_code == 400
    assert client.put(path, {"open": False}, content_type="application/json").json() == {"open": False}
    assert told() == ("", "")


def test_nobody_else_opens_a_bank(ben: User, talk: Conversation) -> None:
    client = client_of(ben)
    path = f"/api/banks/{talk.bank_id}/analysts/"
    for body in ({"open": True}, {}):
        assert client.put(path, body, content_type="application/json").status_code == 404
    assert client.post(f"/memories/banks/{talk.bank_id}/", {"analysts": "open"}).status_code == 404
    with acting_as(talk.owner_id):
        assert not Bank.objects.get(pk=talk.bank_id).open_to_analysts


# --- the log of looks -----------------------------------------------------------------------------------------------


def looks(talk: Conversation) -> list[tuple[str, int, int]]:
    with acting_as(talk.owner_id):
        return [(str(look.analyst), look.pages, look.exports) for look in Look.objects.filter(bank=talk.bank_id)]


def test_the_owner_reads_on_the_banks_page_who_looked_when_and_how_much(
    ana: User, ben: User, talk: Conversation
) -> None:
    ana.time_zone = "Asia/Kolkata"
    ana.save()
    own, client, path = client_of(ana), client_of(ben), f"/memories/banks/{talk.bank_id}/"
    assert "Who has looked at it" not in said(own, path)
    let(talk)
    assert "No analyst has looked at it yet." in said(own, path)
    said(client, ALL[0])
    assert "figures alone" in said(own, path)
    for page in pages(talk):
        said(client, page)
    for address in (figures(talk)[0], figures(talk)[-1], ALL[0]):
        said(client, address)
        exported(client, address, format="csv")
    assert looks(talk) == [("Ben", 4, 3)]
    page = said(own, path)
    assert "ben@example.org" in page
    assert "4 pages, 3 exports" in page
    with acting_as(ana.pk):
        look = Look.objects.get()
    assert f"{look.day.day} {look.day:%b %Y}, {look.first.astimezone(ana.zone):%H:%M}" in page
    let(talk, False)
    assert "4 pages, 3 exports" in said(own, path), "what was looked at stays known when the bank is shut"
    with acting_as(ben.pk):
        ben.delete()
    page = said(own, path)
    assert "A former analyst" in page
    assert "ben@example.org" not in page


def test_every_way_through_the_door_leaves_a_line_and_nothing_else_does(
    ana: User, ben: User, talk: Conversation
) -> None:
    let(talk)
    for address in [*pages(talk), *figures(talk), "/memories/banks/", *ALL]:
        with acting_as(ana.pk):
            Look.objects.all().delete()
        said(client_of(ben), address)
        assert [name for name, _pages, _exports in looks(talk)] == ["Ben"], address
    with acting_as(ana.pk):
        Look.objects.all().delete()
    for address in [*pages(talk), figures(talk)[0], "/memories/banks/", ALL[0]]:
        said(client_of(ana), address)
    let(talk, False)
    for address in [*pages(talk), *figures(talk)]:
        assert client_of(ben).get(address).status_code == 404
    said(client_of(ben), "/memories/banks/")
    assert looks(talk) == []


def test_what_cannot_be_noted_is_not_shown(ben: User, talk: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    let(talk)

    def fails(*_asked: Any) -> None:
        raise DatabaseError("The log cannot be written.")

    monkeypatch.setattr(door, "note_look", fails)
    client = Client(raise_request_exception=False)
    client.force_login(ben)
    for address in (pages(talk)[0], pages(talk)[1], figures(talk)[0], figures(talk)[-1]):
        assert client.get(address).status_code == 500, address
    assert looks(talk) == []
