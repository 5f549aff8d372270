"""A row of work that a page watches: sent as it is, and again whenever the worker says that it has changed."""

from __future__ import annotations

import json
from typing import Any, ClassVar
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils import translation
from redis.exceptions import RedisError

from memory.services.live import group_name
from memory.services.turns import NotFound
from memory.tenancy import acting_as

SIGNED_OUT, NOT_FOUND = 4401, 4404


class RowConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels is untyped
    """Frames out: the row under the name `what`, and degraded. Whatever comes in, the answer is how the row stands."""

    what: ClassVar[str]  # as `live.tell` names it, and the frame
    row_id: UUID

    def read(self) -> dict[str, Any]:
        """The row as the page reads it, as the acting person. Raises `NotFound`."""
        raise NotImplementedError

    async def connect(self) -> None:
        self.user = self.scope["user"]
        (self.row_id,) = self.scope["url_route"]["kwargs"].values()
        self.group = group_name(self.what, self.row_id)
        await self.accept()
        if not self.user.is_authenticated:
            await self.close(code=SIGNED_OUT)
            return
        translation.activate(self.user.language)
        try:
            await self.channel_layer.group_add(self.group, self.channel_name)
        except (RedisError, OSError):
            await self._frame({"type": "degraded"})  # the page asks again by itself
        await self._show()

    async def disconnect(self, code: int) -> None:
        try:
            await self.channel_layer.group_discard(self.group, self.channel_name)
        except (RedisError, OSError):
            return  # the group forgets a channel that is gone by itself

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self._show()

    async def row_changed(self, message: dict[str, Any]) -> None:
        """From the row's group."""
        await self._show()

    async def _show(self) -> None:
        shown = await database_sync_to_async(self._read)()
        if shown is None:
            await self.close(code=NOT_FOUND)
            return
        await self._frame({"type": self.what, self.what: shown})

    def _read(self) -> dict[str, Any] | None:
        with acting_as(self.user.pk):
            try:
                return self.read()
            except NotFound:
                return None

    async def _frame(self, frame: dict[str, Any]) -> None:
        await self.send(text_data=json.dumps(frame))
