"""The door before the database: a sentence while it is closed, nothing once it is open."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from agora_web import opening
from agora_web.database import Stage
from agora_web.opening import Opening

HTTP = {"type": "http", "method": "GET", "path": "/", "headers": []}
SOCKET = {"type": "websocket", "path": "/ws/", "headers": []}


async def inner(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"the page"})


async def asked(door: Opening, scope: dict[str, Any], first: dict[str, Any]) -> list[dict[str, Any]]:
    """What the application sends to one request."""
    talk = ApplicationCommunicator(door, scope)
    await talk.send_input(first)
    said = [await talk.receive_output(5)]
    while not await talk.receive_nothing(0.05):
        said.append(await talk.receive_output(5))
    return said


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> deque[Stage]:
    monkeypatch.setattr(opening, "ASK_AGAIN_S", 0.0)
    return deque([Stage.AWAY, Stage.BEHIND, Stage.EMPTY, Stage.READY])


async def test_a_request_before_the_database_is_up_gets_a_sentence_and_later_the_page(looks: deque[Stage]) -> None:
    door = Opening(inner, looks.popleft)
    for _ in range(3):
        start, body = await asked(door, HTTP, {"type": "http.request"})
        assert start["status"] == 503
        assert (b"retry-after", b"1") in start["headers"]
        assert body["body"].startswith(b"AGORA is starting: its database is not ready yet.")
    for _ in range(2):  # open for good: nobody looks again
        start, body = await asked(door, HTTP, {"type": "http.request"})
        assert (start["status"], body["body"]) == (200, b"the page")
    assert not looks


async def test_a_websocket_before_the_database_is_up_is_asked_to_come_again(looks: deque[Stage]) -> None:
    said = await asked(Opening(inner, looks.popleft), SOCKET, {"type": "websocket.connect"})
    assert said == [{"type": "websocket.close", "code": 1013}]


async def test_many_requests_at_once_look_once() -> None:
    count = 0

    def look() -> Stage:
        nonlocal count
        count += 1
        return Stage.AWAY

    door = Opening(inner, look)
    all_said = await asyncio.gather(*(asked(door, HTTP, {"type": "http.request"}) for _ in range(20)))
    assert {said[0]["status"] for said in all_said} == {503}
    assert count == 1
