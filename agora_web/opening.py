"""Until the database can serve, every request gets a sentence: the web server is started beside the database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.utils.translation import gettext as _

from agora_web.database import Stage, stage

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

ASK_AGAIN_S = 0.2  # many tabs that come back at once ask the database once
TRY_AGAIN_LATER = 1013  # of a websocket that is closed


class Opening:
    """Lets requests through to `application` once `look` has said READY; from then on it costs one comparison."""

    def __init__(self, application: Application, look: Callable[[], Stage] = lambda: stage("default")) -> None:
        self.application = application
        self._look = look
        self._open = False
        self._asked_at = -ASK_AGAIN_S
        self._asking = asyncio.Lock()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if self._open or scope["type"] not in ("http", "websocket") or await self._opens():
            await self.application(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()  # the client's wish to connect
            await send({"type": "websocket.close", "code": TRY_AGAIN_LATER})
        else:
            await answer_starting(send)

    async def _opens(self) -> bool:
        async with self._asking:
            if not self._open and time.monotonic() - self._asked_at >= ASK_AGAIN_S:
                self._open = await asyncio.to_thread(self._look) is Stage.READY
                self._asked_at = time.monotonic()
        return self._open


async def answer_starting(send: Send) -> None:
    """503 with a plain sentence; a browser asks again by itself."""
    sentence = _("AGORA is starting: its database is not ready yet. This page comes back by itself in a moment.")
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"cache-control", b"no-store"),
        (b"retry-after", b"1"),
        (b"refresh", b"1"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": f"{sentence}\n".encode()})
