"""A replay's websocket: how it stands, at once and whenever the worker says that it changed; for its person alone."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.testing import ApplicationCommunicator
from django.test import Client

from agora_web.accounts.models import User
from memory.models import Conversation, LabReplay
from memory.services import lab, live
from memory.tenancy import acting_as
from tests.scenes import make_person
from tests.tabs import session_of, watching

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner", "worker"])


@pytest.fixture
def replay(ana: User) -> LabReplay:
    with acting_as(ana.pk):
        return LabReplay.objects.create(owner=ana, state="running", progress=0.25, asked={})


def socket_of(replay: UUID) -> str:
    return f"/ws/lab/{replay}/"


async def told(socket: ApplicationCommunicator) -> dict[str, Any]:
    came = await socket.receive_output(10)
    assert came["type"] == "websocket.send", came
    return dict(json.loads(came["text"])["replay"])


async def test_its_person_is_told_how_the_replay_stands_and_every_change(ana: User, replay: LabReplay) -> None:
    session = await asyncio.to_thread(session_of, ana)
    async with watching(session, socket_of(replay.pk)) as socket:
        first = await told(socket)
        assert (first["state"], first["progress"], first["over"]) == ("running", 0.25, False)

        def go_on() -> None:
            with acting_as(ana.pk):
                LabReplay.objects.filter(pk=replay.pk).update(progress=1.0, state="done")
            live.tell("replay", replay.pk)

        await asyncio.to_thread(go_on)
        then = await told(socket)
        assert (then["state"], then["progress"], then["over"]) == ("done", 1.0, True)


async def test_who_watches_a_replay_from_its_beginning_knows_in_the_end_what_a_fresh_page_knows(
    ana: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "BEAT_S", 0.0)

    def begin() -> LabReplay:
        with acting_as(ana.pk):
            asked = lab.Asked((conversation.pk,), ("fifo", "importance"), ("50%",))
            return lab.ask(asked, owner_id=ana.pk, now=datetime.now(UTC))

    replay = await asyncio.to_thread(begin)
    session = await asyncio.to_thread(session_of, ana)
    frames: list[dict[str, Any]] = []
    async with watching(session, socket_of(replay.pk)) as socket:
        frames.append(await told(socket))
        assert (frames[0]["state"], frames[0]["results"]) == ("pending", 0)
        await asyncio.to_thread(lab.carry_out, str(replay.pk))
        while not frames[-1]["over"]:
            frames.append(await told(socket))

    def afresh() -> Any:
        client = Client()
        client.force_login(ana)
        page = client.get(f"/lab/{replay.pk}/").content.decode()
        shown = re.search(r'<script id="replay-now"[^>]*>(.*?)</script>', page)
        assert shown
        return json.loads(shown[1]), client.get(f"/api/lab/{replay.pk}/").json()

    assert await asyncio.to_thread(afresh) == (frames[-1], frames[-1])
    assert (frames[-1]["state"], frames[-1]["results"], frames[-1]["progress"]) == ("done", 2, 1.0)
    assert [one["progress"] for one in frames] == sorted(one["progress"] for one in frames)


async def test_others_the_signed_out_and_what_is_not_there_are_told_nothing(ana: User, replay: LabReplay) -> None:
    stranger = await asyncio.to_thread(make_person, "ben@example.org", roles=["operator", "analyst"])
    session, own = [await asyncio.to_thread(session_of, person) for person in (stranger, ana)]
    for key, asked, code in ((session, replay.pk, 4404), (None, replay.pk, 4401), (own, uuid4(), 4404)):
        async with watching(key, socket_of(asked)) as socket:
            came = await socket.receive_output(10)
            assert (came["type"], came["code"]) == ("websocket.close", code)
