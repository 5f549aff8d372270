"""A replay's websocket: the row as it is, sent again whenever the worker says that it has changed."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils import translation
from redis.exceptions import RedisError

from memory import lab
from memory.services.live import group_name
from memory.services.turns import NotFound
from memory.tenancy import acting_as

SIGNED_OUT, NOT_FOUND = 4401, 4404


class LabConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels is untyped
    """Frames out: replay, degraded. It takes no frames: whatever is said, the answer is how the replay stands."""

    async def connect(self) -> None:
        self.user = self.scope["user"]
        self.replay_id: UUID = self.scope["url_route"]["kwargs"]["replay_id"]
        self.group = group_name(self.replay_id)
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

    async def replay_changed(self, message: dict[str, Any]) -> None:
        """From the replay's group."""
        await self._show()

    async def _show(self) -> None:
        shown = await database_sync_to_async(self._read)()
        if shown is None:
            await self.close(code=NOT_FOUND)
            return
        await self._frame({"type": "replay", "replay": shown})

    def _read(self) -> dict[str, Any] | None:
        with acting_as(self.user.pk):
            try:
                return lab.replay_json(lab.replay(self.replay_id))
            except NotFound:
                return None

    async def _frame(self, frame: dict[str, Any]) -> None:
        await self.send(text_data=json.dumps(frame))
