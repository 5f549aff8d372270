"""A replay's websocket: how it stands, at once and whenever the worker says that it changed; for its person alone."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.testing import ApplicationCommunicator

from agora_web.accounts.models import User
from memory.models import LabReplay
from memory.services import live
from memory.tenancy import acting_as
from tests.scenes import make_person
from tests.tabs import session_of, watching

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


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


async def test_others_the_signed_out_and_what_is_not_there_are_told_nothing(ana: User, replay: LabReplay) -> None:
    stranger = await asyncio.to_thread(make_person, "ben@example.org", roles=["operator", "analyst"])
    session, own = [await asyncio.to_thread(session_of, person) for person in (stranger, ana)]
    for key, asked, code in ((session, replay.pk, 4404), (None, replay.pk, 4401), (own, uuid4(), 4404)):
        async with watching(key, socket_of(asked)) as socket:
            came = await socket.receive_output(10)
            assert (came["type"], came["code"]) == ("websocket.close", code)
