"""A turn whose words come over HTTP: what goes wrong there never loses the message, the text so far, or the bank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from agents import backends
from agents.models import Agent
from agents.runtime.llm import LlmSettings
from agents.threads import as_person
from agora_web.accounts.models import User
from memory.engine.bank import replay
from memory.engine.hot import check
from memory.engine.types import State
from memory.hot_banks import hot_banks, read_events
from memory.models import Bank, Job, Memory, MemorySource, Recall, Turn
from memory.services.ledger import BankMissing
from tests.scenes import begin, make_agent, make_person
from tests.scripted_llm import Script, ScriptedLlm
from tests.tabs import Tab, browser, session_of

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedLlm]:
    with ScriptedLlm() as llm:
        yield llm


@pytest.fixture
def llm(server: ScriptedLlm, monkeypatch: pytest.MonkeyPatch) -> ScriptedLlm:
    """The server with no script queued; agents wait for it only a moment."""
    monkeypatch.setattr(backends, "LlmSettings", partial(LlmSettings, first_pause_s=0.01, read_s=0.5))
    server.reset()
    return server


@dataclass
class Chat:
    """Ana, signed in, with a conversation with an agent whose model is the scripted server."""

    person: User
    session: str
    conversation: UUID
    bank: UUID

    async def ask(self, work: Callable[..., Any], *args: Any) -> Any:
        """Run something on the database as Ana."""
        return await as_person(self.person.pk, work, *args)

    async def turn(self, shown: dict[str, Any]) -> Turn:
        return await self.ask(lambda: Turn.objects.get(pk=shown["id"]))

    async def memories(self, side: str) -> list[str]:
        """What the bank holds of one side."""
        found = Memory.objects.filter(side=side, state="held").order_by("written_seq")
        return await self.ask(lambda: list(found.values_list("text", flat=True)))

    async def agrees_with_its_ledger(self) -> None:
        """Raise unless the hot bank, the ledger replayed and the tables say the same."""
        await self.ask(self._agree)

    def _agree(self) -> None:
        bank = Bank.objects.select_related("space").get(pk=self.bank)
        hot = hot_banks.open(bank)
        check(hot)
        state = replay(read_events(bank))
        assert state == hot.state
        assert state.seq == bank.last_seq
        assert {m for m, mark in state.marks.items() if mark.state is State.HELD} == set(
            Memory.objects.filter(bank=bank, state="held").values_list("pk", flat=True)
        )
        assert not MemorySource.objects.exclude(memory__in=state.marks).exists()


@pytest.fixture
def chat(llm: ScriptedLlm) -> Chat:
    ana = make_person()
    talk = begin(ana, make_agent("Model", backend="openai", base_url=llm.base_url, persona="You are brief."))
    return Chat(ana, session_of(ana), talk.pk, talk.bank_id)


async def again(tab: Tab, turn: dict[str, Any]) -> dict[str, Any]:
    """Press “try again”."""
    await tab.say("retry", turn=turn["id"])
    await tab.running(turn["id"])
    return await tab.ended(turn["id"])


async def test_a_reply_streams_and_the_prompt_holds_persona_history_and_message(chat: Chat, llm: ScriptedLlm) -> None:
    llm.queue(Script(text="Lisbon has steep streets."), Script(text="She lives in Lisbon."))
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        first = await tab.tell("My sister Vera lives in Lisbon.")
        second = await tab.tell("Where does Vera live?")
    assert (first["state"], first["action"]["text"]) == ("done", "Lisbon has steep streets.")
    assert second["action"]["text"] == tab.streamed(second["id"]) == "She lives in Lisbon."
    sent = llm.chats[1].body["messages"]
    assert sent[0]["role"] == "system"
    assert "You are brief." in sent[0]["content"]
    assert [message["role"] for message in sent[1:]] == ["user", "assistant", "user"]
    assert sent[-1]["content"].endswith("Where does Vera live?")
    await chat.agrees_with_its_ledger()


async def test_a_recall_that_cannot_be_written_down_asks_no_model_and_keeps_the_message(
    chat: Chat, llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise BankMissing("There is no such memory bank.")

    with monkeypatch.context() as patched:
        patched.setattr("memory.services.recalls.record_recall", broken)
        async with browser() as open_tab:
            turn = await (await open_tab(chat.session, chat.conversation)).tell("My sister Vera lives in Lisbon.")
    kept = await chat.turn(turn)
    assert (kept.observation, kept.state, kept.error_code) == ("My sister Vera lives in Lisbon.", "failed", "internal")
    assert llm.chats == []
    assert not await chat.ask(Recall.objects.exists)
    assert await chat.memories("observation") == []
    assert "broke off" in caplog.text
    await chat.agrees_with_its_ledger()


@pytest.mark.parametrize("wanted", [True, False])
async def test_an_agent_whose_model_is_to_rate_memories_asks_it_later_not_in_the_turn(
    chat: Chat, llm: ScriptedLlm, wanted: bool
) -> None:
    root = await sync_to_async(User.objects.get)(email="root@example.org")
    await as_person(root.pk, lambda: Agent.objects.update(rates_memories=wanted))
    async with browser() as open_tab:
        turn = await (await open_tab(chat.session, chat.conversation)).tell("My sister Vera lives in Lisbon.")
    jobs = await chat.ask(lambda: list(Job.objects.filter(kind="training.model_rating").values_list("key", flat=True)))
    assert jobs == ([turn["id"]] if wanted else [])
    assert len(llm.chats) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 413, 429])
async def test_a_refusal_is_said_once_and_never_asked_again(chat: Chat, llm: ScriptedLlm, status: int) -> None:
    llm.queue(Script("status", status=status))
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        turn = await tab.tell("The secret harbour lies south.")
        assert turn["state"] == "failed"
        assert len(llm.chats) == 1
        assert turn["error"]["code"] == f"llm_http_{status}"
        assert turn["error"]["sentence"].endswith(f"(HTTP {status}).")
        assert "harbour" not in turn["error"]["sentence"], "what the server wrote is never shown"
        assert await chat.memories("observation") == ["The secret harbour lies south."]
        await chat.agrees_with_its_ledger()


async def test_a_server_error_is_asked_again_and_the_person_sees_nothing_of_it(chat: Chat, llm: ScriptedLlm) -> None:
    llm.queue(Script("status", status=500), Script("status", status=503), Script(text="Here I am."))
    async with browser() as open_tab:
        turn = await (await open_tab(chat.session, chat.conversation)).tell("Are you there?")
    assert (turn["state"], turn["error"], turn["action"]["text"]) == ("done", None, "Here I am.")
    assert len(llm.chats) == 3


async def test_a_server_that_goes_on_failing_fails_the_turn_and_trying_again_works(
    chat: Chat, llm: ScriptedLlm
) -> None:
    llm.queue(*[Script("status", status=502)] * 3)
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        failed = await tab.tell("My passport lies in the drawer.")
        assert (failed["state"], failed["action"]["text"]) == ("failed", "")
        assert failed["error"] == {
            "code": "llm_http_502",
            "sentence": "The language model's server failed (HTTP 502). Try again; if it goes on, whoever runs "
            "the server finds the cause in its log.",
            "retry": True,
        }
        assert len(llm.chats) == 3
        assert await chat.memories("observation") == ["My passport lies in the drawer."]

        llm.queue(Script(text="I will remember the drawer."))
        done = await again(tab, failed)
        assert (done["state"], done["error"]) == ("done", None)
        assert done["action"]["text"] == "I will remember the drawer."
        assert await chat.memories("observation") == ["My passport lies in the drawer."], "remembered twice, or lost"
        assert await chat.memories("action") == ["I will remember the drawer."]
        assert await chat.ask(Turn.objects.count) == 1
        await chat.agrees_with_its_ledger()


async def test_silence_is_a_time_out_with_a_sentence(chat: Chat, llm: ScriptedLlm) -> None:
    llm.queue(Script("hang"))
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        turn = await tab.tell("Say something.")
        assert (turn["state"], turn["error"]["code"], turn["error"]["retry"]) == ("failed", "llm_timeout", True)
        assert turn["error"]["sentence"].startswith("The language model took too long to answer.")
        assert len(llm.chats) == 1, "a server that is slow is not asked for more"
        assert (await again(tab, turn))["state"] == "done"


@pytest.mark.parametrize(("script", "code"), [
    (Script("broken", text="one two three four five six", after=3), "llm_broken"),
    (Script("cut", text="one two three four five six", after=3), "llm_broken"),
    (Script("error", text="one two three four five six", after=3), "llm_broken"),
    (Script("silent", text="one two three four five six", after=3), "llm_timeout"),
])  # fmt: skip
async def test_a_stream_that_breaks_off_keeps_the_partial_reply(
    chat: Chat, llm: ScriptedLlm, script: Script, code: str
) -> None:
    llm.queue(script)
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        failed = await tab.tell("Count for me, with the number of the locker.")
        assert (failed["state"], failed["error"]["code"], failed["error"]["retry"]) == ("failed", code, True)
        assert failed["action"]["text"].split() == ["one", "two", "three"]
        assert failed["action"]["html"].startswith("<p>one two three")
        assert tab.streamed(failed["id"]) == failed["action"]["text"]
        assert (await chat.turn(failed)).action == failed["action"]["text"]
        assert len(llm.chats) == 1, "once text has come, the server is not asked again"
        assert await chat.memories("observation") == ["Count for me, with the number of the locker."]

        llm.queue(Script(text="one two three four five six"))
        done = await again(tab, failed)
        assert (done["state"], done["action"]["text"]) == ("done", "one two three four five six")
        assert await chat.memories("observation") == ["Count for me, with the number of the locker."]
        assert await chat.memories("action") == ["one two three four five six"], "what counts is the reply that stands"
        await chat.agrees_with_its_ledger()


async def test_an_agent_whose_server_is_nowhere_says_so_and_keeps_the_message(chat: Chat) -> None:
    root = await as_person(None, lambda: User.objects.get(email="root@example.org"))
    await as_person(root.pk, lambda: Agent.objects.update(base_url="http://127.0.0.1:9/v1"))
    async with browser() as open_tab:
        turn = await (await open_tab(chat.session, chat.conversation)).tell("Remember the blue door.")
    assert (turn["state"], turn["error"]["code"]) == ("failed", "llm_unreachable")
    assert "AGORA_LLM_BASE_URL" in turn["error"]["sentence"]
    assert await chat.memories("observation") == ["Remember the blue door."]


async def test_stopping_ends_the_servers_work_and_keeps_the_text(chat: Chat, llm: ScriptedLlm) -> None:
    llm.queue(Script(text=" ".join(f"word{n}" for n in range(200)), delay_s=0.02))
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        await tab.say("send", text="Go on for ever.")
        turn = (await tab.running())["id"]
        await tab.until(lambda frame: frame["type"] == "delta")
        await tab.say("stop", turn=turn)
        stopped = await tab.ended(turn)
        assert stopped["state"] == "stopped"
        assert stopped["action"]["text"].startswith("word0")
        assert "word199" not in stopped["action"]["text"]
        assert tab.streamed(turn) == stopped["action"]["text"]
        llm.queue(Script(text="Short this time."))
        assert (await again(tab, stopped))["action"]["text"] == "Short this time."
        await chat.agrees_with_its_ledger()
    assert llm.chats[0].disconnected


async def test_what_a_server_sends_is_cleaned_before_it_is_stored(chat: Chat, llm: ScriptedLlm) -> None:
    llm.queue(Script("odd", text="well then"))
    async with browser() as open_tab:
        turn = await (await open_tab(chat.session, chat.conversation)).tell("Send me odd things.")
    assert turn["state"] == "done"
    assert "\x00" not in turn["action"]["text"]
    assert "nul and \U0001f600 and  lone" in turn["action"]["text"]
    assert (await chat.turn(turn)).action == turn["action"]["text"]
