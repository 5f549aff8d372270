"""The JSON that the pages fetch: every endpoint, its shape, and its errors."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from agents import selectors as chat
from agents.models import Agent
from agora_web.accounts.models import User
from memory import selectors
from memory.adapters import serving_adapter
from memory.models import Conversation, Memory, Turn
from memory.tenancy import acting_as
from tests.scenes import Life, begin, live, make_agent, make_person, take_turn

pytestmark = pytest.mark.django_db

AGENT = {"id", "name", "description", "backend", "model", "notice", "labelling", "analysts"}
CONVERSATION = {"id", "title", "agent", "updated_at", "temporary", "labelling", "analysts"}
TURN = {"id", "ordinal", "parent", "state", "observation", "action", "error", "recall", "remembered", "evicted",
        "timings_ms", "branches"}  # fmt: skip
ROW = {"memory", "text", "role", "speaker", "side", "at", "turn", "conversation", "conversation_title", "ordinal",
       "weight", "logit", "injected", "cited", "state", "pinned", "group"}  # fmt: skip
MEMORY = {"id", "text", "role", "speaker", "side", "at", "kind", "importance", "tokens", "state", "archive_reason",
          "pinned", "sources", "adapter", "undo_until", "doubt"}  # fmt: skip


class Api:
    """A signed-in client that speaks JSON."""

    def __init__(self, person: User) -> None:
        self.person = person
        self.client = Client()
        self.client.force_login(person)

    def get(self, path: str, status: int = 200, **query: Any) -> Any:
        return self._read(self.client.get(f"/api/{path}", query), status)

    def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        return self._read(self.client.post(f"/api/{path}", body, content_type="application/json"), status)

    def patch(self, path: str, body: Any, status: int = 200) -> Any:
        return self._read(self.client.patch(f"/api/{path}", body, content_type="application/json"), status)

    def refused(self, status: int, answer: Any) -> str:
        """Check the shape of an error and return its code."""
        assert set(answer) == {"error"}
        assert set(answer["error"]) == {"code", "sentence"}
        assert answer["error"]["sentence"].strip().endswith((".", "”."))
        return str(answer["error"]["code"])

    @staticmethod
    def _read(response: HttpResponse, status: int) -> Any:
        assert response.status_code == status, response.content.decode()[:300]
        assert response["Content-Type"] == "application/json"
        return response.json()  # type: ignore[attr-defined]


@pytest.fixture
def scribe() -> Agent:
    return make_agent(description="Quotes.", budget_memories=5)


@pytest.fixture
def ana() -> User:
    return make_person()


@pytest.fixture
def api(ana: User) -> Api:
    return Api(ana)


@pytest.fixture
def life(ana: User, scribe: Agent) -> Life:
    return live(ana, scribe, "walnut")


def test_agents_that_take_new_conversations_are_listed(api: Api, scribe: Agent) -> None:
    make_agent("Retired", active=False)
    toy = make_agent("SmolLM", backend="openai")
    real = make_agent("Real", backend="openai", base_url="http://127.0.0.1:9/v1", model="m-1")
    (first, second, third) = api.get("agents/")["agents"]
    assert first == {"id": str(scribe.pk), "name": "Scribe", "description": "Quotes.", "backend": "quote", "model": "",
                     "notice": "", "labelling": False, "analysts": ""}  # fmt: skip
    assert (second["id"], third["id"], third["model"], third["notice"]) == (str(toy.pk), str(real.pk), "m-1", "")
    assert "135 million" in second["notice"]
    assert "AGORA_LLM_BASE_URL" in second["notice"]


def test_a_conversation_begins_is_read_and_renamed(api: Api, scribe: Agent) -> None:
    begun = api.post("conversations/", {"agent": str(scribe.pk)}, 201)
    assert set(begun) == CONVERSATION
    assert (begun["title"], begun["temporary"], set(begun["agent"])) == ("", False, AGENT)
    assert datetime.fromisoformat(begun["updated_at"]).utcoffset() == timedelta(0)
    page = api.get(f"conversations/{begun['id']}/")
    assert page == {"conversation": begun, "turns": []}
    renamed = api.patch(f"conversations/{begun['id']}/", {"title": "  The   harbour \x00"}, 400)
    assert api.refused(400, renamed) == "invalid"
    renamed = api.patch(f"conversations/{begun['id']}/", {"title": "  The   harbour "})
    assert renamed["title"] == "The harbour"
    assert len(api.patch(f"conversations/{begun['id']}/", {"title": "👨‍👩‍👧‍👦 " * 50})["title"]) <= 200


def test_a_long_conversation_comes_in_parts(
    api: Api, ana: User, scribe: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat, "TURNS", 3)
    monkeypatch.setattr(chat, "AFTER", 1)
    talk, other = begin(ana, scribe), begin(ana, scribe)
    turns = [take_turn(ana, talk, f"Boat {number} is green.") for number in range(1, 8)]
    elsewhere = take_turn(ana, other, "Elsewhere.")

    def shown(**part: Any) -> list[int]:
        return [turn["ordinal"] for turn in api.get(f"conversations/{talk.pk}/", **part)["turns"]]

    assert shown() == [5, 6, 7]
    assert shown(before=5) == [2, 3, 4]
    assert shown(before=2) == [1]
    assert shown(before=1) == []
    assert shown(around=str(turns[2].pk)) == [2, 3, 4]
    assert shown(around=str(turns[6].pk)) == [5, 6, 7]
    for part, status in (({"before": "0"}, 400), ({"before": "soon"}, 400), ({"around": "x"}, 400),
                         ({"around": str(elsewhere.pk)}, 404)):  # fmt: skip
        assert api.client.get(f"/api/conversations/{talk.pk}/", part).status_code == status


def test_conversations_are_listed_newest_first_and_searched_in_what_was_said(
    api: Api, ana: User, scribe: Agent
) -> None:
    one, two = begin(ana, scribe), begin(ana, scribe)
    take_turn(ana, two, "The lighthouse is white.")
    take_turn(ana, one, "The café by the pier opens at nine.", "Noted, the brasserie.")
    rows = api.get("conversations/")["conversations"]
    assert [row["id"] for row in rows] == [str(one.pk), str(two.pk)]
    assert set(rows[0]) == {"id", "title", "agent", "updated_at", "turns"}
    assert (rows[0]["agent"], rows[0]["turns"]) == ({"id": str(scribe.pk), "name": "Scribe"}, 1)
    assert rows[0]["title"] == "The café by the pier opens at nine."
    for query, found in (("LIGHTHOUSE", [two]), ("brasserie", [one]), ("café", [one]), ("nothing", []), ("%", []),
                         ("\x00", [one, two]), ("the", [one, two])):  # fmt: skip
        rows = api.get("conversations/", q=query)["conversations"]
        assert {row["id"] for row in rows} == {str(conversation.pk) for conversation in found}, query


def test_a_turn_tells_what_was_said_recalled_and_remembered(api: Api, life: Life) -> None:
    page = api.get(f"conversations/{life.conversation}/")
    assert [turn["ordinal"] for turn in page["turns"]] == [1, 2, 3]
    turn = api.get(f"turns/{life.turn}/")
    assert turn == page["turns"][-1]
    assert set(turn) == TURN
    assert set(turn["observation"]) == set(turn["action"]) >= {"text", "html", "speaker", "at"}
    assert (turn["observation"]["text"], turn["observation"]["speaker"]) == ("walnut concerns walnut bread.", "Ana")
    assert turn["action"]["html"] == "<p>walnut: walnut bread it is.</p>\n"
    assert (turn["state"], turn["parent"], turn["error"], turn["branches"]) == ("done", None, None, [])
    recall = turn["recall"]
    assert set(recall) >= {"id", "bypassed", "candidates", "below_floor", "injected", "near_misses"}
    rows = [*recall["injected"], *recall["near_misses"]]
    assert rows
    for row in rows:
        assert set(row) >= ROW
        assert 0 <= row["weight"] <= 1
        assert row["group"] in ("highly", "maybe", "below")
    told = [row for row in turn["remembered"] if row["side"] == "observation"]
    assert set(told[0]) >= {"memory", "text", "side", "role", "importance", "happened", "state", "pinned"}
    assert (told[0]["text"], told[0]["happened"]) == ("walnut concerns walnut bread.", "written")
    evicted = [row for turn in page["turns"] for row in turn["evicted"]]
    assert {row["reason"] for row in evicted} == {"budget"}
    assert set(evicted[0]) >= {"memory", "text", "reason"}


def test_a_whole_trace_explains_every_row(api: Api, life: Life) -> None:
    trace = api.get(f"recalls/{life.recall}/")
    assert trace["turn"] == str(life.turn)
    assert trace["candidates"] == len(trace["rows"]) > 0
    for row in trace["rows"]:
        assert set(row) >= ROW | {"signals", "contributions"}
        assert sum(row["contributions"].values()) == pytest.approx(row["logit"], abs=1e-3)
    assert sum(row["weight"] for row in trace["rows"]) == pytest.approx(1, abs=1e-3)


def test_a_bank_is_paged_searched_and_counted(api: Api, ana: User, scribe: Agent, life: Life) -> None:
    page = api.get("memories/", agent=scribe.pk)
    bank = page["bank"]
    budget = {"budget_memories", "budget_tokens", "policy", "evict_at"}
    assert set(bank) == {"id", "held", "archived", "tokens", "adapter", *budget}
    assert (bank["id"], bank["evict_at"], bank["adapter"]) == (str(life.bank), 1.0, serving_adapter().version)
    assert (bank["held"], bank["budget_memories"]) == (len(page["memories"]), 5)
    assert page["next"] is None
    assert all(set(memory) == MEMORY for memory in page["memories"])
    assert {memory["state"] for memory in page["memories"]} == {"held"}
    source = next(source for memory in page["memories"] for source in memory["sources"])  # a kept one may have none
    assert set(source) >= {"turn", "conversation", "conversation_title", "side", "at"}
    archived = api.get("memories/", agent=scribe.pk, state="archived")["memories"]
    assert (len(archived), {memory["archive_reason"] for memory in archived}) == (bank["archived"], {"budget"})
    assert api.get("memories/", agent=scribe.pk, state="archived", q="nothing like it")["memories"] == []
    assert api.get("memories/", agent=scribe.pk, page=2)["memories"] == []
    other = make_agent("Other")
    assert api.get("memories/", agent=other.pk) == {"bank": None, "memories": [], "next": None}


def test_many_memories_come_in_pages(api: Api, scribe: Agent, life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "PAGE", 3)
    first = api.get("memories/", agent=scribe.pk)
    second = api.get("memories/", agent=scribe.pk, page=first["next"])
    assert (len(first["memories"]), first["next"], second["next"]) == (3, 2, None)
    ids = {memory["id"] for memory in [*first["memories"], *second["memories"]]}
    assert len(ids) == first["bank"]["held"] == 4


def test_every_verb_of_a_memory_answers_with_the_memory_as_it_is_then(api: Api, life: Life) -> None:
    def does(verb: str, memory: Any = life.held) -> dict[str, Any]:
        answer = api.post(f"memories/{memory}/{verb}/")
        assert set(answer) == {"memory", "undo_until"}
        return answer  # type: ignore[no-any-return]

    assert does("pin")["memory"]["pinned"] is True
    assert does("unpin")["memory"]["pinned"] is False
    forgotten = does("forget")
    assert forgotten["memory"]["state"] == "forgotten"
    assert forgotten["memory"]["text"] == ""
    left = datetime.fromisoformat(forgotten["undo_until"]) - timezone.now()
    assert timedelta(minutes=9) < left <= timedelta(minutes=10)
    back = does("unforget")
    assert (back["memory"]["state"], back["undo_until"]) == ("held", None)
    assert does("restore", life.archived)["memory"]["state"] == "held"
    assert does("erase") == {"memory": None, "undo_until": None}
    assert api.refused(404, api.post(f"memories/{life.held}/pin/", status=404)) == "not_found"


def test_a_verb_that_does_not_fit_the_state_is_refused_with_a_sentence(api: Api, life: Life) -> None:
    for memory, verbs in (
        (life.held, ("unforget", "restore")),
        (life.archived, ("pin", "unpin", "unforget")),
        (life.forgotten, ("pin", "unpin", "forget", "restore")),
    ):
        for verb in verbs:
            answer = api.post(f"memories/{memory}/{verb}/", status=409)
            assert api.refused(409, answer) == "refused", f"{verb} {memory}"


def test_what_is_forgotten_shows_its_words_nowhere(api: Api, life: Life, scribe: Agent) -> None:
    held = api.get("memories/", agent=scribe.pk)["memories"]
    words = held[0]["text"]
    api.post(f"memories/{held[0]['id']}/forget/")
    for state in ("held", "archived", "forgotten"):
        assert words not in str(api.get("memories/", agent=scribe.pk, state=state))
    page = api.get(f"conversations/{life.conversation}/")
    for turn in page["turns"]:
        assert words not in [row["text"] for row in turn["remembered"]]
        trace = api.get(f"recalls/{turn['recall']['id']}/")
        assert words not in [row["text"] for row in trace["rows"]]


def test_a_forgotten_conversation_is_gone_at_once_and_comes_back_by_undo(api: Api, life: Life, scribe: Agent) -> None:
    until = api.post(f"conversations/{life.conversation}/forget/", {"keep_memories": True})["undo_until"]
    assert datetime.fromisoformat(until) > timezone.now()
    assert api.get("conversations/")["conversations"] == []
    assert api.get("conversations/", q="walnut")["conversations"] == []
    for path in (f"conversations/{life.conversation}/", f"turns/{life.turn}/", f"recalls/{life.recall}/"):
        assert api.refused(404, api.get(path, 404)) == "not_found", path
    assert api.refused(404, api.patch(f"conversations/{life.conversation}/", {"title": "x"}, 404)) == "not_found"
    assert api.refused(404, api.post(f"conversations/{life.conversation}/forget/", status=404)) == "not_found"
    kept = api.get("memories/", agent=scribe.pk)
    assert kept["memories"]
    assert "About walnut" not in str(kept), "the title of a hidden conversation"
    assert api.post(f"conversations/{life.conversation}/unforget/") == {}
    assert [row["id"] for row in api.get("conversations/")["conversations"]] == [str(life.conversation)]
    assert api.get(f"turns/{life.turn}/")["state"] == "done"


def test_a_kept_memory_does_not_show_where_a_hidden_conversation_was(
    api: Api, ana: User, scribe: Agent, life: Life
) -> None:
    other = begin(ana, scribe)
    later = take_turn(ana, other, "What concerns walnut?")
    assert "About walnut" in str(api.get(f"turns/{later.pk}/"))
    api.post(f"conversations/{life.conversation}/forget/", {"keep_memories": True})
    shown = api.get(f"turns/{later.pk}/")
    assert shown["recall"]["injected"]
    assert "About walnut" not in str(shown)
    assert str(life.conversation) not in str(shown)


def test_forgetting_with_its_memories_takes_them_along_and_undo_brings_them_back(
    api: Api, ana: User, scribe: Agent
) -> None:
    conversation = begin(ana, scribe)
    take_turn(ana, conversation, "The key hangs behind the clock.")
    api.post(f"conversations/{conversation.pk}/forget/", {})
    assert api.get("memories/", agent=scribe.pk)["memories"] == []
    api.post(f"conversations/{conversation.pk}/unforget/")
    assert "The key hangs behind the clock." in str(api.get("memories/", agent=scribe.pk)["memories"])


def test_after_the_undo_window_there_is_no_undo(api: Api, life: Life) -> None:
    with acting_as(life.person):
        Conversation.objects.filter(pk=life.forgotten_conversation).update(
            forgotten_until=timezone.now() - timedelta(seconds=1)
        )
    answer = api.post(f"conversations/{life.forgotten_conversation}/unforget/", status=404)
    assert api.refused(404, answer) == "not_found"


REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("post", "conversations/", {}, 400, "invalid"),
    ("post", "conversations/", {"agent": "x"}, 400, "invalid"),
    ("post", "conversations/", {"agent": None}, 400, "invalid"),
    ("post", "conversations/", [], 400, "invalid"),
    ("post", "conversations/", {"agent": str(uuid4())}, 404, "not_found"),
    ("patch", "conversations/{conversation}/", {}, 400, "invalid"),
    ("patch", "conversations/{conversation}/", {"title": ""}, 400, "invalid"),
    ("patch", "conversations/{conversation}/", {"title": "x" * 401}, 400, "invalid"),
    ("patch", "conversations/{conversation}/", {"title": {"a": 1}}, 400, "invalid"),
    ("post", "conversations/{conversation}/forget/", {"keep_memories": "perhaps"}, 400, "invalid"),
    ("get", "memories/", None, 400, "invalid"),
    ("get", "memories/?agent=x", None, 400, "invalid"),
    ("get", "memories/?agent={agent}&state=erased", None, 400, "invalid"),
    ("get", "memories/?agent={agent}&page=0", None, 400, "invalid"),
    ("get", "memories/?agent={agent}&page=x", None, 400, "invalid"),
    ("get", f"conversations/{uuid4()}/", None, 404, "not_found"),
    ("get", f"turns/{uuid4()}/", None, 404, "not_found"),
    ("get", f"recalls/{uuid4()}/", None, 404, "not_found"),
    ("post", f"memories/{uuid4()}/pin/", None, 404, "not_found"),
    ("post", f"memories/{uuid4()}/erase/", None, 404, "not_found"),
    ("post", f"conversations/{uuid4()}/forget/", {}, 404, "not_found"),
    ("post", f"conversations/{uuid4()}/unforget/", {}, 404, "not_found"),
    ("get", "memories/{memory}/pin/", None, 405, "method_not_allowed"),
    ("post", "agents/", {}, 405, "method_not_allowed"),
]


def test_what_cannot_be_done_is_an_error_of_one_shape(api: Api, life: Life, scribe: Agent) -> None:
    for method, path, body, status, code in REFUSED:
        path = path.format(conversation=life.conversation, agent=scribe.pk, memory=life.held)
        answer = api.get(path, status) if method == "get" else getattr(api, method)(path, body, status)
        assert api.refused(status, answer) == code, path


def test_a_body_that_is_no_json_is_an_error_of_the_same_shape(api: Api) -> None:
    for body, kind, status, code in (
        ("{", "application/json", 400, "parse_error"),
        ("\xff", "application/json", 400, "parse_error"),
        ("[" * 100_000, "application/json", 400, "parse_error"),
        ("agent=x", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
    ):
        response = api.client.post("/api/conversations/", body.encode("latin-1"), content_type=kind)
        assert api.refused(status, api._read(response, status)) == code


def test_without_the_form_token_nothing_is_changed(ana: User, scribe: Agent) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ana)
    response = client.post("/api/conversations/", {"agent": str(scribe.pk)}, content_type="application/json")
    assert response.status_code == 403
    assert response.json()["error"]["code"] == "csrf"
    assert "Reload it and try again." in response.json()["error"]["sentence"]
    token = client.get("/chat/").cookies["csrftoken"].value
    response = client.post("/api/conversations/", {"agent": str(scribe.pk)}, content_type="application/json",
                           headers={"X-CSRFToken": token})  # fmt: skip
    assert response.status_code == 201


def test_a_failed_turn_tells_its_error(api: Api, life: Life) -> None:
    with acting_as(life.person):
        Turn.objects.filter(pk=life.turn).update(
            state="failed", error_code="llm_http_500", error_sentence="It failed.", error_retry=True
        )
    assert api.get(f"turns/{life.turn}/")["error"] == {"code": "llm_http_500", "sentence": "It failed.", "retry": True}


def test_while_a_reply_is_written_its_html_is_empty(api: Api, life: Life) -> None:
    with acting_as(life.person):
        Turn.objects.filter(pk=life.turn).update(state="running", action="Half a **rep")
    assert api.get(f"turns/{life.turn}/")["action"]["text"] == "Half a **rep"
    assert api.get(f"turns/{life.turn}/")["action"]["html"] == ""


def test_pins_take_at_most_four_fifths_of_a_bank(api: Api, life: Life, scribe: Agent) -> None:
    with acting_as(life.person):
        held = list(Memory.objects.filter(state="held").values_list("pk", flat=True))
    answers = [api.client.post(f"/api/memories/{memory}/pin/") for memory in [*held, life.archived]]
    assert [answer.status_code for answer in answers].count(200) == 4
    assert answers[-1].status_code == 409
