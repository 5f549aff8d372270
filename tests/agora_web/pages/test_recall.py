"""The page of one recall, its figures, and the two replies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.test import Client

from agents import backends
from agents.past_prompts import block_sent
from agents.runtime.llm import LlmSettings
from agents.threads import as_person
from agora_web.accounts.models import User
from agora_web.asgi import application
from agora_web.pages import recall_words, replies
from memory.engine.signals import NAMES
from memory.figure_rows import read_csv
from memory.models import Event, Memory, Recall, Turn
from memory.tenancy import acting_as
from memory.why import CandidateRow, candidate_rows, why_of
from tests.agora_web.test_content_security import inline_of, policy_of
from tests.scenes import begin, make_agent, make_person, take_turn
from tests.scripted_llm import Script, ScriptedLlm
from tests.tabs import browser, session_of

SAID = ["My sister Vera lives in Porto.", "The red bike stands in the cellar.", "Rent is 900 euros.",
        "Green tea in the morning.", "Where does my sister Vera live?"]  # fmt: skip


@pytest.fixture
def ana() -> User:
    return make_person()


@pytest.fixture
def recall(ana: User) -> UUID:
    conversation = begin(ana, make_agent())
    for text in SAID:
        turn = take_turn(ana, conversation, text, "Porto." if text.endswith("?") else "I see.")
    with acting_as(ana.pk):
        return Recall.objects.get(turn=turn).pk


@pytest.fixture
def client(ana: User) -> Client:
    made = Client()
    made.force_login(ana)
    return made


def exported_by(client: Client, path: str) -> str:
    """The file behind an address."""

    async def whole(parts: Any) -> bytes:
        return b"".join([part async for part in parts])

    return async_to_sync(whole)(client.get(path).streaming_content).decode()  # type: ignore[attr-defined]


@pytest.mark.django_db
def test_the_page_tells_what_was_asked_and_its_counts(client: Client, recall: UUID, ana: User) -> None:
    response = client.get(f"/memories/recalls/{recall}/")
    assert response.status_code == 200
    text = response.content.decode()
    with acting_as(ana.pk):
        trace = Recall.objects.get(pk=recall)
    assert SAID[-1] in text
    assert trace.adapter in text
    assert dict(response.context["facts"])["Candidates"] == trace.candidates
    assert dict(response.context["facts"])["Handed on"] == len(trace.recalled) > 0
    assert inline_of(text) == []
    policy = policy_of(response["Content-Security-Policy"])
    assert "'unsafe-inline'" in policy["style-src"]
    assert policy["script-src"] == "'self'"


@pytest.mark.django_db
def test_figures_and_tables_say_the_same_and_the_csv_comes_back(client: Client, recall: UUID, ana: User) -> None:
    answer = client.get(f"/api/recalls/{recall}/contributions/?most=3").json()
    bars = [trace for trace in answer["figure"]["data"] if trace["type"] == "bar"]
    names = [column["name"] for column in answer["table"]["columns"]]
    for place, row in enumerate(answer["table"]["rows"][:3]):
        cells = dict(zip(names, row, strict=True))
        added = sum(value for name, value in cells.items() if name.startswith("contribution_"))
        assert added + cells["interplay"] == pytest.approx(cells["logit"], abs=1e-3)
        assert sum(bar["x"][place] for bar in bars) == pytest.approx(cells["logit"], abs=1e-3)
        assert cells["text"]["href"].startswith("/memories/")
    assert "The figure shows the first 3" in answer["note"]
    exported = exported_by(client, f"/api/recalls/{recall}/floor/?format=csv")
    with acting_as(ana.pk):
        assert list(read_csv(CandidateRow, StringIO(exported, newline=""))) == candidate_rows(why_of(recall))
    below = client.get(f"/api/recalls/{recall}/floor/?what=below").json()
    assert below["table"]["total"] == sum("below" in line for line in exported.splitlines()[1:]) or below["empty"]
    assert client.get(f"/api/recalls/{recall}/floor/?what=nothing").status_code == 400


@pytest.mark.django_db
def test_reading_it_again_shows_both_and_writes_nothing(client: Client, recall: UUID, ana: User) -> None:
    with acting_as(ana.pk):
        trace = Recall.objects.get(pk=recall)
        before = (Event.objects.count(), Recall.objects.count(), Memory.objects.count())
    gone = trace.recalled[0]
    page = client.get(f"/memories/recalls/{recall}/?without={gone}")
    assert "the first reading gives exactly what is stored" in page.content.decode()
    answer = client.get(f"/api/recalls/{recall}/reread/?without={gone}").json()
    names = [column["name"] for column in answer["table"]["columns"]]
    left = [dict(zip(names, row, strict=True)) for row in answer["table"]["rows"]]
    assert [row["change"] for row in left if row["text"]["href"] == f"/memories/{gone}/"] == ["left"]
    with acting_as(ana.pk):
        assert (Event.objects.count(), Recall.objects.count(), Memory.objects.count()) == before
    nothing = client.get(f"/api/recalls/{recall}/reread/").json()
    assert nothing["figure"] is None
    assert "Choose a memory" in nothing["empty"]
    refused = client.get(f"/memories/recalls/{recall}/?with={gone}").content.decode()
    assert "in the bank at that time already" in refused


@pytest.mark.django_db
def test_another_person_and_nobody_see_nothing(recall: UUID) -> None:
    other = Client()
    other.force_login(make_person("ben@example.org", name="Ben", roles=["analyst", "operator", "labeller"]))
    for path in (f"/memories/recalls/{recall}/", f"/api/recalls/{recall}/floor/", f"/api/recalls/{recall}/reread/"):
        assert other.get(path).status_code == 404
    assert Client().get(f"/memories/recalls/{recall}/").status_code == 302


def test_every_signal_has_words() -> None:
    assert set(NAMES) <= set(recall_words.SIGNALS)


# --- with a model ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedLlm]:
    with ScriptedLlm() as llm:
        yield llm


@pytest.fixture
def llm(server: ScriptedLlm, monkeypatch: pytest.MonkeyPatch) -> ScriptedLlm:
    monkeypatch.setattr(backends, "LlmSettings", partial(LlmSettings, first_pause_s=0.01, read_s=0.5))
    server.reset()
    return server


class Socket:
    """One socket of the replies."""

    def __init__(self, session: str | None, recall: UUID) -> None:
        headers = [(b"origin", b"http://testserver")]
        if session:
            headers.append((b"cookie", f"sessionid={session}".encode()))
        scope = {"type": "websocket", "path": f"/ws/recalls/{recall}/replies/", "query_string": b"",
                 "headers": headers, "subprotocols": []}  # fmt: skip
        self._socket = ApplicationCommunicator(application, scope)

    async def connect(self) -> None:
        await self._socket.send_input({"type": "websocket.connect"})
        assert (await self._socket.receive_output(10))["type"] == "websocket.accept"

    async def say(self, text: str) -> None:
        await self._socket.send_input({"type": "websocket.receive", "text": text})

    async def next(self) -> dict[str, Any]:
        came = await self._socket.receive_output(10)
        if came["type"] == "websocket.close":
            return {"type": "closed", "code": came["code"]}
        frame: dict[str, Any] = json.loads(came["text"])
        return frame

    async def to_the_end(self) -> list[dict[str, Any]]:
        frames = [await self.next()]
        while frames[-1]["type"] != "end":
            frames.append(await self.next())
        return frames

    async def close(self) -> None:
        await self._socket.send_input({"type": "websocket.disconnect", "code": 1001})
        await self._socket.wait(1)


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
@pytest.mark.parametrize("small", [False, True])
async def test_the_block_is_what_the_model_was_sent_and_both_replies_are_asked_for(
    llm: ScriptedLlm, ana: User, small: bool
) -> None:
    agent = await sync_to_async(make_agent)("Model", backend="openai", base_url=llm.base_url, small_model=small)
    talk = await sync_to_async(begin)(ana, agent)
    session = await sync_to_async(session_of)(ana)
    async with browser() as open_tab:
        tab = await open_tab(session, talk.pk)
        for text in SAID[:-1]:
            llm.queue(Script(text="I see."))
            await tab.tell(text)
        for text in ["The cat is grey.", "Today it rains.", "I like chess."]:
            llm.queue(Script(text="All right."))
            await tab.tell(text)
        llm.queue(Script(text="In Porto."))
        turn = await tab.tell("Where does my sister Vera live?")
    sent = "\n".join(message["content"] for message in llm.chats[-1].body["messages"])

    def look() -> tuple[UUID, Any, UUID]:
        trace = Recall.objects.get(turn=turn["id"])
        return trace.pk, block_sent(why_of(trace.pk)), trace.injected[0]

    recall, block, first = await as_person(ana.pk, look)
    assert block.memories > 0
    assert block.text.startswith("<recalled_memories>")
    assert block.text in sent

    asked = len(llm.chats)
    before = await as_person(ana.pk, counted)
    llm.queue(Script(text="In Porto, as you said."), Script(text="I do not know."))
    socket = Socket(session, recall)
    await socket.connect()
    await socket.say(json.dumps({"without": str(first), "with": None}))
    frames = await socket.to_the_end()
    await socket.close()
    said = {frame["which"]: frame["text"] for frame in frames if frame["type"] == "reply" and frame["done"]}
    assert said == {"before": "In Porto, as you said.", "after": "I do not know."}
    prompts = ["\n".join(message["content"] for message in chat.body["messages"]) for chat in llm.chats[asked:]]
    assert prompts[0] == sent
    assert "Vera lives in Porto" in prompts[0]
    assert block.text not in prompts[1]
    assert await as_person(ana.pk, counted) == before
    assert not replies._answering


def counted() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Event, Recall, Memory, Turn))


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
async def test_the_socket_of_the_replies_is_its_owners_alone_and_refuses_nonsense(ana: User) -> None:
    agent = await sync_to_async(make_agent)()
    talk = await sync_to_async(begin)(ana, agent)
    turn = await sync_to_async(take_turn)(ana, talk, SAID[0])
    recall = await as_person(ana.pk, lambda: Recall.objects.get(turn=turn).pk)
    ben = await sync_to_async(make_person)("ben@example.org", name="Ben")
    for session, code in ((None, 4401), (await sync_to_async(session_of)(ben), 4404)):
        socket = Socket(session, recall)
        await socket.connect()
        assert (await socket.next())["type"] == "error"
        assert await socket.next() == {"type": "closed", "code": code}
    socket = Socket(await sync_to_async(session_of)(ana), recall)
    await socket.connect()
    for nonsense in ("", "[]", '{"without": 3}', '{"without": "no id"}'):
        await socket.say(nonsense)
        assert "no question" in (await socket.next())["sentence"]
    await socket.say("{}")
    assert "Choose a memory" in (await socket.next())["sentence"]
    assert (await socket.next())["type"] == "end"
    await socket.close()
