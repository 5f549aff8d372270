"""A run's websocket: how the run stands, at once and whenever the worker says that it changed; staff alone."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.testing import ApplicationCommunicator

from agora_web.accounts.models import User
from memory.services import live
from memory.tenancy import acting_as
from tests.scenes import make_person
from tests.tabs import session_of, watching
from training.models import RunState, TrainingRun

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture
def operator() -> User:
    return make_person("operator@example.org", roles=["operator"])


@pytest.fixture
def run(operator: User) -> TrainingRun:
    with acting_as(operator.pk):
        return TrainingRun.objects.create(state=RunState.RUNNING, stage="train", progress=0.25)


def socket_of(run: UUID) -> str:
    return f"/ws/training/runs/{run}/"


async def told(socket: ApplicationCommunicator) -> dict[str, Any]:
    came = await socket.receive_output(10)
    assert came["type"] == "websocket.send", came
    return dict(json.loads(came["text"])["run"])


async def test_a_watcher_is_told_how_the_run_stands_and_every_change(operator: User, run: TrainingRun) -> None:
    session = await asyncio.to_thread(session_of, operator)
    async with watching(session, socket_of(run.pk)) as socket:
        first = await told(socket)
        assert (first["state"], first["stage"], first["progress"]) == ("running", "train", 0.25)

        def go_on() -> None:
            with acting_as(operator.pk):
                TrainingRun.objects.filter(pk=run.pk).update(progress=0.5, curves={"loss.two_people": [0.7, 0.4]})
            live.tell("run", run.pk)

        await asyncio.to_thread(go_on)
        then = await told(socket)
        assert (then["progress"], then["curves"]) == (0.5, {"loss.two_people": [0.7, 0.4]})


async def test_others_and_the_signed_out_are_told_nothing(run: TrainingRun) -> None:
    stranger = await asyncio.to_thread(make_person, "stranger@example.org", roles=["labeller"])
    session = await asyncio.to_thread(session_of, stranger)
    for key, code in ((session, 4404), (None, 4401)):
        async with watching(key, socket_of(run.pk)) as socket:
            came = await socket.receive_output(10)
            assert (came["type"], came["code"]) == ("websocket.close", code)


async def test_a_run_that_is_not_there_closes_the_socket(operator: User) -> None:
    session = await asyncio.to_thread(session_of, operator)
    async with watching(session, socket_of(uuid4())) as socket:
        assert (await socket.receive_output(10))["code"] == 4404
