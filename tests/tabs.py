"""Browser tabs without a browser: websockets to the real ASGI application, signed in by a real session cookie."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

from asgiref.testing import ApplicationCommunicator
from channels.layers import get_channel_layer
from django.test import Client

from agents import streams, turns
from agora_web.accounts.models import User
from agora_web.asgi import application

ENDED = {"done", "stopped", "failed", "interrupted"}
Frame = dict[str, Any]


def session_of(person: User) -> str:
    """Sign a person in and return the session's cookie."""
    client = Client()
    client.force_login(person)
    return client.cookies["sessionid"].value


@asynccontextmanager
async def watching(session: str | None, path: str) -> AsyncIterator[ApplicationCommunicator]:
    """A socket that only listens, accepted."""
    headers = [(b"origin", b"http://localhost"), *([(b"cookie", f"sessionid={session}".encode())] if session else [])]
    scope = {"type": "websocket", "path": path, "query_string": b"", "headers": headers, "subprotocols": []}
    socket = ApplicationCommunicator(application, scope)
    await socket.send_input({"type": "websocket.connect"})
    assert (await socket.receive_output(10))["type"] == "websocket.accept"
    yield socket
    await socket.send_input({"type": "websocket.disconnect", "code": 1001})
    await socket.wait(1)


class Tab:
    """One socket. `frames` are all that came, in order."""

    def __init__(self, session: str | None, conversation: UUID, origin: str) -> None:
        headers = [(b"origin", origin.encode())]
        if session:
            headers.append((b"cookie", f"sessionid={session}".encode()))
        path = f"/ws/conversations/{conversation}/"
        scope = {"type": "websocket", "path": path, "query_string": b"", "headers": headers, "subprotocols": []}
        self._socket = ApplicationCommunicator(application, scope)
        self.frames: list[Frame] = []
        self.closed: int | None = None

    async def connect(self) -> None:
        """Shake hands; sets `closed` when the server will not."""
        await self._socket.send_input({"type": "websocket.connect"})
        came = await self._socket.receive_output(10)
        if came["type"] != "websocket.accept":
            self.closed = came.get("code", 1000)

    async def say(self, kind: str, **fields: Any) -> None:
        """Send one frame."""
        await self.say_raw(json.dumps({"type": kind, **fields}, default=str))

    async def say_raw(self, text: str | None = None, data: bytes | None = None) -> None:
        """Send what may be no frame at all."""
        await self._socket.send_input({"type": "websocket.receive", "text": text, "bytes": data})

    async def next(self, within: float = 10) -> Frame:
        """The next frame; sets `closed` and returns {} when the server closed the socket."""
        came = await self._socket.receive_output(within)
        if came["type"] == "websocket.close":
            self.closed = came.get("code", 1000)
            return {}
        frame: Frame = json.loads(came["text"])
        self.frames.append(frame)
        return frame

    async def until(self, wanted: Callable[[Frame], bool], within: float = 10) -> Frame:
        """Read up to the first frame that is wanted, and return it."""
        async with asyncio.timeout(within):
            while True:
                frame = await self.next(within)
                if wanted(frame):
                    return frame
                assert self.closed is None, f"the socket was closed with {self.closed}"

    async def error(self) -> Frame:
        """Read up to the next error frame."""
        return await self.until(lambda frame: frame["type"] == "error")

    async def running(self, turn: str | None = None) -> Frame:
        """Read up to a turn (this one, if named) that runs, and return it."""
        return (await self.until(lambda frame: _is_turn(frame, turn, {"running"})))["turn"]

    async def ended(self, turn: str | None = None) -> Frame:
        """Read up to the end of a turn (of this one, if named), and return it."""
        return (await self.until(lambda frame: _is_turn(frame, turn, ENDED)))["turn"]

    async def settled(self, turns: Collection[str]) -> None:
        """Read until each of these turns has been seen at its end."""
        while left := set(turns) - {f["turn"]["id"] for f in self.frames if _is_turn(f, None, ENDED)}:
            await self.until(lambda frame: any(_is_turn(frame, turn, ENDED) for turn in left))

    async def tell(self, text: str, **fields: Any) -> Frame:
        """Send a message and wait for its turn's end."""
        client = fields.pop("client", None) or str(uuid4())
        await self.say("send", text=text, client=client, **fields)
        return await self.ended(await self.opened(client))

    async def opened(self, client: str) -> str:
        """Read up to the answer to the message that was sent with this `client`, and return its turn's id."""
        answer = await self.until(lambda frame: frame.get("client") == client)
        assert answer["type"] == "turn", answer
        return str(answer["turn"]["id"])

    def streamed(self, turn: str) -> str:
        """The text of a turn as a page joins it: a sequence number that came twice counts once."""
        pieces = {f["seq"]: f["text"] for f in self.frames if f["type"] == "delta" and f["turn"] == turn}
        return "".join(pieces.values())

    async def close(self) -> None:
        """Close the tab; turns go on without it."""
        await self._socket.send_input({"type": "websocket.disconnect", "code": 1001})
        await self._socket.wait(1)  # a layer that just began to listen can miss that it is cancelled


def _is_turn(frame: Frame, turn: str | None, states: set[str]) -> bool:
    if frame["type"] != "turn" or frame["turn"]["state"] not in states or turn not in (None, frame["turn"]["id"]):
        return False
    # A turn's reply is done a moment before it is remembered; a turn that was stopped in the queue never recalls.
    shown = frame["turn"]
    return states is not ENDED or shown["recall"] is None or "remember" in shown["timings_ms"]


@asynccontextmanager
async def browser() -> AsyncIterator[Callable[..., Awaitable[Tab]]]:
    """Yields `open_tab(session, conversation)`; at the end closes the tabs and waits for turns still running."""
    opened: list[Tab] = []

    async def open_tab(session: str | None, conversation: UUID, *, origin: str = "http://testserver") -> Tab:
        tab = Tab(session, conversation, origin)
        opened.append(tab)
        await tab.connect()
        return tab

    try:
        yield open_tab
    finally:
        for tab in opened:
            await tab.close()
        await asyncio.gather(*(running.task for running in turns._running.values()), return_exceptions=True)
        await streams.close()
        layer: Any = get_channel_layer()
        await layer.close_pools()
