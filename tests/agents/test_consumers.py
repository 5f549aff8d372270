"""The chat's websocket, from the handshake to the last frame: real application, real database, Valkey, and Scribe."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings

from agents import backends, selectors
from agents.models import Agent
from agents.threads import as_person
from agora_web.accounts.models import User
from memory.models import Event, Memory, Turn
from tests.scenes import begin, make_agent, make_person, take_turn
from tests.tabs import Tab, browser, session_of

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

LONG = " ".join(f"The caravan's stop number {n} lies near oasis {n}." for n in range(1, 13))


@dataclass
class Chat:
    """Ana, signed in, with one conversation with Scribe."""

    person: User
    session: str
    conversation: UUID

    async def ask(self, work: Callable[..., Any], *args: Any) -> Any:
        """Run something on the database as Ana."""
        return await as_person(self.person.pk, work, *args)

    async def turn(self, turn: str) -> Turn:
        return await self.ask(lambda: Turn.objects.get(pk=turn))


@pytest.fixture
def chat() -> Chat:
    ana = make_person()
    return Chat(ana, session_of(ana), begin(ana, make_agent(recall_archive=True)).pk)


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scribe takes its time, so that there is a reply to interrupt."""
    monkeypatch.setattr(backends, "QUOTE_PAUSE_S", 0.015)


async def under_way(tab: Tab) -> str:
    """Tell a long story, ask for it, and return the id of the turn once its reply streams."""
    await tab.tell(LONG)
    await tab.say("send", text="Which oasis does the caravan stop at?")
    turn = (await tab.running())["id"]
    for _ in range(3):
        await tab.until(lambda frame: frame["type"] == "delta" and frame["turn"] == turn)
    return turn


async def test_a_message_comes_back_as_turn_stages_deltas_and_the_final_turn(chat: Chat) -> None:
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        client = str(uuid4())
        ended = await tab.tell("My sister Vera lives in Lisbon.", client=client)
        first, last = tab.frames[0], tab.frames[-1]
        assert (first["type"], first["client"]) == ("turn", client)
        assert first["turn"]["state"] in ("queued", "running")
        assert first["turn"]["observation"]["text"] == "My sister Vera lives in Lisbon."
        assert first["turn"]["action"] == {"text": "", "html": "", "speaker": "Scribe", "role": "assistant", "at": None}
        assert last["turn"]["state"] == "done"
        stages = [frame["stage"] for frame in tab.frames if frame["type"] == "stage"]
        assert stages == ["recalling", "answering", "remembering"]
        kinds = [frame["type"] for frame in tab.frames]
        assert kinds.index("stage") < kinds.index("delta") < len(kinds) - 1
        assert tab.streamed(ended["id"]) == ended["action"]["text"] != ""
        assert ended["action"]["html"].startswith("<p>")
        assert [row["text"] for row in ended["remembered"] if row["side"] == "observation"] == [
            "My sister Vera lives in Lisbon."
        ]
        stored = await chat.turn(ended["id"])
        assert (stored.observation, stored.action, stored.owner_id) == (
            "My sister Vera lives in Lisbon.", ended["action"]["text"], chat.person.pk
        )  # fmt: skip


BAD_FRAMES: list[str | None] = [
    "", "{", "nonsense", "[]", "[1, 2]", "7", "null", '"send"', "{}", '{"type": null}', '{"type": ["send"]}',
    '{"type": "sing"}', '{"type": "send"}', '{"type": "send", "text": 7}', '{"type": "send", "text": null}',
    '{"type": "send", "text": {"a": 1}}', '{"type": "send", "text": "x", "client": "not an id"}',
    '{"type": "send", "text": "x", "client": 7}', '{"type": "stop"}', '{"type": "stop", "turn": null}',
    '{"type": "stop", "turn": ["a"]}', '{"type": "retry", "turn": "x"}', '{"type": "edit", "text": "x"}',
    '{"type": "edit", "turn": "\\ud800", "text": "x"}', '{"type": "follow", "turn": {}}',
    "[" * 100_000, '{"type": ' * 50_000, '{"type": "send", "text": ' + "9" * 5_000 + "}",
]  # fmt: skip
BAD_SEQUENCES: list[Any] = [
    "x",
    "1",
    "-",
    "1-1-1",
    "1-x",
    "٣-٣",
    "$",
    "0-0\x00",
    7,
    None,
    [],
    "9" * 30 + "-" + "9" * 30,
]


async def test_a_frame_that_fits_no_schema_gets_an_error_and_the_socket_stays_usable(chat: Chat) -> None:
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        for text in BAD_FRAMES:
            await tab.say_raw(text)
            said = await tab.next()
            assert (said["type"], said["code"], said["client"]) == ("error", "bad_frame", None), text
            assert said["sentence"].endswith(".")
        for sequence in BAD_SEQUENCES:
            await tab.say("follow", turn=uuid4(), last_seq=sequence)
            assert (await tab.next())["code"] == "bad_frame", sequence
        await tab.say_raw(None, b"\x00\xff{}")
        assert (await tab.next())["code"] == "bad_frame"
        for kind in ("stop", "retry", "follow", "edit"):
            await tab.say(kind, turn=uuid4(), text="x")
            assert (await tab.next())["code"] == "not_found", kind
        assert (await tab.tell("Still here?"))["state"] == "done"
        assert await chat.ask(Turn.objects.count) == 1


async def test_a_message_that_cannot_be_taken_is_refused_with_a_sentence(chat: Chat) -> None:
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        for text in ("", "   ", "\n\t", "\x00", "\x00 \ud800"):
            client = str(uuid4())
            await tab.say("send", text=text, client=client)
            said = await tab.next()
            assert (said["type"], said["code"], said["client"]) == ("error", "empty", client)
            assert said["sentence"] == "The message is empty. Write something first."
        client = str(uuid4())
        await tab.say("send", text="x" * 2**20, client=client)
        said = await tab.next()
        assert (said["code"], said["client"]) == ("too_long", client)
        assert "1,048,576" in said["sentence"]
        assert f"{settings.MESSAGE_LIMIT:,}" in said["sentence"]
        assert await chat.ask(Turn.objects.count) == 0
        assert (await tab.tell("word " * (settings.MESSAGE_LIMIT // 5)))["state"] == "done"


async def test_a_message_sent_twice_is_stored_once(chat: Chat) -> None:
    async with browser() as open_tab:
        tab, client = await open_tab(chat.session, chat.conversation), str(uuid4())
        await tab.say("send", text="I have two dogs.", client=client)
        await tab.say("send", text="I have two dogs.", client=client)
        first = await tab.ended()
        again = await open_tab(chat.session, chat.conversation)
        await again.say("send", text="I have two dogs.", client=client)
        second = await again.ended()
        assert second["id"] == first["id"]
        assert await chat.ask(Turn.objects.count) == 1
        assert await chat.ask(Memory.objects.filter(side="observation").count) == 1


async def test_two_tabs_that_send_at_once_get_one_turn_after_the_other(chat: Chat, slowly: None) -> None:
    async with browser() as open_tab:
        one, two = await open_tab(chat.session, chat.conversation), await open_tab(chat.session, chat.conversation)
        await one.tell(LONG)
        names = [str(uuid4()), str(uuid4())]
        await one.say("send", text="Which oasis does the caravan stop at?", client=names[0])
        await two.say("send", text="And thank you for that.", client=names[1])
        turns = [await one.opened(names[0]), await two.opened(names[1])]
        for tab in (one, two):
            await tab.settled(turns)
        rows = await chat.ask(lambda: list(Turn.objects.order_by("ordinal").prefetch_related("recalls")))
        assert [row.ordinal for row in rows] == [1, 2, 3]
        assert rows[2].recalls.all()[0].at >= rows[1].action_at, "the second began before the first had ended"
        for tab in (one, two):
            for row in rows[1:]:
                assert tab.streamed(str(row.pk)) == row.action


async def test_stop_keeps_the_text_that_was_there(chat: Chat, slowly: None) -> None:
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        turn = await under_way(tab)
        await tab.say("stop", turn=turn)
        ended = await tab.ended(turn)
        assert ended["state"] == "stopped"
        assert ended["error"] is None
        assert 0 < len(ended["action"]["text"]) < len(LONG)
        assert tab.streamed(turn) == ended["action"]["text"]
        assert (await chat.turn(turn)).action == ended["action"]["text"]
        assert (await tab.tell("Thanks."))["state"] == "done"


async def test_a_turn_that_still_waits_is_stopped_at_once(chat: Chat, slowly: None) -> None:
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        running = await under_way(tab)
        await tab.say("send", text="And another thing.")
        waiting = (await tab.until(lambda f: f["type"] == "turn" and f["turn"]["state"] == "queued"))["turn"]["id"]
        await tab.say("stop", turn=waiting)
        assert (await tab.ended(waiting))["state"] == "stopped"
        await tab.say("stop", turn=running)
        assert (await tab.ended(running))["state"] == "stopped"


async def test_a_reload_in_mid_stream_replays_no_text_twice_and_loses_none(chat: Chat, slowly: None) -> None:
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        turn = await under_way(tab)
        seen = [frame for frame in tab.frames if frame["type"] == "delta" and frame["turn"] == turn]
        await tab.close()

        again = await open_tab(chat.session, chat.conversation)
        await again.say("follow", turn=turn, last_seq=seen[-1]["seq"])
        ended = await again.ended(turn)
        fresh = [frame for frame in again.frames if frame["type"] == "delta"]
        assert {frame["seq"] for frame in fresh}.isdisjoint(frame["seq"] for frame in seen)
        assert "".join(frame["text"] for frame in [*seen, *fresh]) == ended["action"]["text"]
        assert len(fresh) > 1

        late = await open_tab(chat.session, chat.conversation)
        await late.say("follow", turn=turn, last_seq="")
        assert (await late.ended(turn))["action"]["text"] == late.streamed(turn) == ended["action"]["text"]
        await late.say("follow", turn=turn, last_seq=fresh[-1]["seq"])
        assert (await late.ended(turn))["state"] == "done"


async def test_an_edit_withdraws_what_the_old_turn_told_and_keeps_it_as_a_branch(chat: Chat) -> None:
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        old = await tab.tell("My bicycle is painted crimson.")
        later = await tab.tell("The gearbox has seven speeds.")
        await tab.say("edit", turn=old["id"], text="My bicycle is painted turquoise.")
        opened = (await tab.until(lambda f: f["type"] == "turn" and f["turn"]["parent"] == old["id"]))["turn"]
        new = await tab.ended(opened["id"])
        assert (new["ordinal"], new["branches"]) == (old["ordinal"], [old["id"]])

        def memories() -> dict[str, tuple[str, str]]:
            rows = Memory.objects.filter(side="observation")
            return {row.text: (row.state, row.archive_reason) for row in rows}

        assert await chat.ask(memories) == {
            "My bicycle is painted crimson.": ("archived", "withdrawn"),
            "The gearbox has seven speeds.": ("archived", "withdrawn"),
            "My bicycle is painted turquoise.": ("held", ""),
        }
        page = await chat.ask(selectors.conversation_page, chat.conversation)
        assert [turn["id"] for turn in page["turns"]] == [new["id"]]
        for branch in (old, later):
            kept = await chat.ask(selectors.turn_json, UUID(branch["id"]))
            assert kept["action"]["text"] == branch["action"]["text"]
            assert (await chat.turn(branch["id"])).replaced_at is not None
        reasons = await chat.ask(lambda: list(Event.objects.filter(kind="evicted").values_list("data", flat=True)))
        assert {data["reason"] for data in reasons} == {"withdrawn"}
        asked = await tab.tell("Which colour is my bicycle painted?")
        recalled = {row["text"] for row in asked["recall"]["injected"]}
        assert recalled & {old["observation"]["text"], later["observation"]["text"], new["observation"]["text"]} == {
            "My bicycle is painted turquoise."
        }
        await tab.say("edit", turn=old["id"], text="A branch cannot be edited again.")
        assert (await tab.error())["code"] == "not_found"


async def test_an_edit_while_a_reply_is_written_is_refused(chat: Chat, slowly: None) -> None:
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        turn = await under_way(tab)
        await tab.say("edit", turn=turn, text="Wait.")
        said = await tab.error()
        assert (said["code"], said["sentence"]) == ("busy", "A reply is still being written. Stop it first, then edit.")
        await tab.say("edit", turn=turn, text="")
        assert (await tab.error())["code"] == "empty"
        await tab.say("stop", turn=turn)
        assert (await tab.ended(turn))["state"] == "stopped"
        assert (await chat.turn(turn)).replaced_at is None


async def test_a_turn_that_has_its_reply_is_not_tried_again(chat: Chat) -> None:
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        turn = await tab.tell("Good to see you.")
        await tab.say("retry", turn=turn["id"])
        assert (await tab.error())["code"] == "not_retryable"
        assert (await chat.turn(turn["id"])).state == "done"


async def test_an_interrupted_turn_is_tried_again(chat: Chat) -> None:
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        turn = await tab.tell("The ferry leaves at nine.")
        await chat.ask(lambda: Turn.objects.update(state="interrupted", error_code="interrupted", action="Part of"))
        await tab.say("retry", turn=turn["id"])
        await tab.running(turn["id"])
        again = await tab.ended(turn["id"])
        assert (again["state"], again["error"]) == ("done", None)
        assert again["action"]["text"] == tab.streamed(turn["id"])[-len(again["action"]["text"]) :] != "Part of"
        assert await chat.ask(Memory.objects.filter(side="observation").count) == 1


# what is said, as JSON; what is kept of it; a keyword by which it is recalled in another conversation
SAID = [
    (r"NUL \u0000 in the middle of the zeppelin", "NUL  in the middle of the zeppelin", "zeppelin"),
    (r"Half \ud83d a pair \ude00 beside the gazebo", "Half  a pair  beside the gazebo", "gazebo"),
    (r"Escaped whole \ud83d\ude00 pair and marmalade", "Escaped whole 😀 pair and marmalade", "marmalade"),
    ("Family 👨‍👩‍👧‍👦 and flag 🏴󠁧󠁢󠁳󠁣󠁴󠁿 at the picnic", None, "picnic"),
    ("הכלב של דנה נקרא שוקו", None, "שוקו"),
    ("اسم قطتي مشمش وهي بيضاء", None, "مشمش"),
    ("Мою собаку зовут Барбос", None, "Барбос"),
    ("Η γιαγιά μου μένει στη Θεσσαλονίκη", None, "Θεσσαλονίκη"),
    ("我的猫叫做小花，住在杭州", None, "杭州"),
    ("제 고양이 이름은 나비입니다", None, "나비입니다"),
    ("แมวของฉันชื่อส้มโอ", None, "ส้มโอ"),
    ("मेरे कुत्ते का नाम शेरू है", None, "शेरू"),
    ("e\\u0301clair, fi\\u00e9 and <b>not bold</b> & co", "e\u0301clair, fi\u00e9 and <b>not bold</b> & co", "éclair"),
]


async def test_every_script_is_stored_shown_and_recalled_by_keyword(chat: Chat) -> None:
    async with browser() as open_tab:
        tab = await open_tab(chat.session, chat.conversation)
        for escaped, kept, _ in SAID:
            client = str(uuid4())
            await tab.say_raw(f'{{"type": "send", "client": "{client}", "text": "{escaped}"}}')
            ended = await tab.ended(await tab.opened(client))
            kept = kept or escaped
            assert ended["state"] == "done"
            assert ended["observation"]["text"] == kept
            assert (await chat.turn(ended["id"])).observation == kept
            told = [row["text"] for row in ended["remembered"] if row["side"] == "observation"]
            assert told == [kept]
            assert "<b>" not in ended["observation"]["html"]
            assert json.dumps(ended)  # nothing in it that JSON cannot carry
    for escaped, kept, word in SAID:
        found = await chat.ask(recalled_elsewhere, chat.person, f"{word}?")
        assert (kept or escaped) in found, f"{word} recalls {found}"


def recalled_elsewhere(person: User, question: str) -> list[str]:
    """What a new conversation recalls for its first message."""
    turn = take_turn(person, begin(person, Agent.objects.get()), question, "")
    return [row["text"] for row in selectors.turn_json(turn.pk)["recall"]["injected"]]
