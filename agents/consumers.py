"""The chat's websocket: one socket a tab and conversation. It reads and asks; turns belong to the server."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID

from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from agents import frames, selectors, streams, turns
from agents.threads import as_person
from memory import selectors as memory
from memory.engine.types import BankError
from memory.models.conversation import OPEN_STATES
from memory.services.turns import MessageRefused, NotFound, interrupt_silent, request_stop, requeue_turn

SIGNED_OUT, NOT_FOUND = 4401, 4404


class ChatConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels is untyped
    """Frames in: send, edit, stop, retry, follow. Frames out: turn, delta, stage, error."""

    async def connect(self) -> None:
        self.followed: dict[UUID, asyncio.Task[None]] = {}
        self.user = self.scope["user"]
        self.conversation_id: UUID = self.scope["url_route"]["kwargs"]["conversation_id"]
        self.group = turns.group_name(self.conversation_id)
        await self.accept()
        if not self.user.is_authenticated:
            await self._refuse("signed_out", _("You are signed out. Sign in and try again."))
            await self.close(code=SIGNED_OUT)
            return
        translation.activate(self.user.language)
        try:
            await self._mine(memory.conversation, self.conversation_id)
        except NotFound as error:
            await self._refuse("not_found", error.sentence)
            await self.close(code=NOT_FOUND)
            return
        await self._join()

    async def disconnect(self, code: int) -> None:
        for task in self.followed.values():
            task.cancel()
        try:
            await self.channel_layer.group_discard(self.group, self.channel_name)
        except (RedisError, OSError):
            return  # the group forgets a channel that is gone by itself

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            frame = frames.read_frame(text_data)
        except frames.FrameRefused as error:
            await self._refuse("bad_frame", error.sentence)
            return
        client = frame.client if isinstance(frame, frames.Send) else None
        try:
            await self._act(frame)
        except MessageRefused as error:
            await self._refuse(error.code, error.sentence, client)
        except BankError as error:
            await self._refuse("not_found", error.sentence, client)

    async def turn_changed(self, message: dict[str, Any]) -> None:
        """From the conversation's group: a turn is new or has changed."""
        turn_id = UUID(message["turn"])
        if await self._show(turn_id, message.get("client")) in OPEN_STATES:
            self._follow(turn_id, "")

    async def _act(self, frame: frames.Frame) -> None:
        now = timezone.now()
        match frame:
            case frames.Send():
                turn = await self._mine(
                    turns.open_and_withdraw, conversation_id=self.conversation_id, text=frame.text,
                    speaker=self.user.speaker, now=now, client=frame.client, replaces=frame.replaces,
                )  # fmt: skip
                await turns.announce(self.user.pk, turn.pk, str(frame.client) if frame.client else None)
                turns.start(turn.pk, self.user.pk)
            case frames.Stop(turn=turn_id):
                await self._mine(self._here, turn_id)
                await self._mine(request_stop, turn_id, now)
                turns.stop_here(turn_id)
                await turns.announce(self.user.pk, turn_id)
            case frames.Retry(turn=turn_id):
                await self._mine(self._here, turn_id)
                await self._mine(requeue_turn, turn_id, now)
                await streams.restart(turn_id)
                await turns.announce(self.user.pk, turn_id)
                turns.start(turn_id, self.user.pk)
            case frames.Follow(turn=turn_id):
                await self._mine(self._here, turn_id)
                self._follow(turn_id, frame.last_seq)

    def _here(self, turn_id: UUID) -> None:
        """Raise `NotFound` unless the turn is of this conversation."""
        if memory.turn(turn_id).conversation_id != self.conversation_id:
            raise NotFound(_("There is no such turn in this conversation."))

    def _follow(self, turn_id: UUID, last_seq: str) -> None:
        running = self.followed.get(turn_id)
        if running is not None and not running.done():
            if not last_seq:
                return
            running.cancel()
        self.followed[turn_id] = asyncio.create_task(self._pass_on(turn_id, last_seq))

    async def _pass_on(self, turn_id: UUID, last_seq: str) -> None:
        """Replay a turn's stream after `last_seq`, follow it, and end with the turn as it is then."""
        async for came in streams.follow(turn_id, last_seq):
            if came is None:  # silence: the turn may have ended without a word, or its server may be gone
                await self._mine(interrupt_silent, timezone.now(), conversation_id=self.conversation_id)
                if (await self._mine(memory.turn, turn_id)).state not in OPEN_STATES:
                    break
                continue
            seq, kind, data = came
            if kind != "end":
                await self._frame({"type": kind, "turn": str(turn_id), "seq": seq, **data})
        await self._show(turn_id)

    async def _show(self, turn_id: UUID, client: str | None = None) -> str | None:
        """Send a turn as it is now, and return its state; None when it is gone."""
        try:
            shown = await self._mine(selectors.turn_json, turn_id)
        except NotFound:
            return None
        await self._frame({"type": "turn", "turn": shown, "client": client})
        return str(shown["state"])

    async def _join(self) -> None:
        try:
            await self.channel_layer.group_add(self.group, self.channel_name)
        except (RedisError, OSError):
            await self._refuse("degraded", _("Live updates are away for the moment. Reload the page to see new turns."))

    async def _mine(self, work: Any, *args: Any, **kwargs: Any) -> Any:
        return await as_person(self.user.pk, work, *args, **kwargs)

    async def _refuse(self, code: str, sentence: str, client: UUID | None = None) -> None:
        await self._frame(
            {"type": "error", "code": code, "sentence": sentence, "client": str(client) if client else None}
        )

    async def _frame(self, frame: dict[str, Any]) -> None:
        await self.send(text_data=json.dumps(frame))
