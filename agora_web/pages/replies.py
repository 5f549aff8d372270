"""The reply to a past turn, side by side: with what the recall handed on, and with what it would have otherwise.

A websocket, since a model takes its time: no transaction and no thread waits for it. Nothing is saved.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils import translation
from django.utils.translation import gettext as _

from agents.backends import backend_for
from agents.past_prompts import PastTask, past_task, prompt_for
from agents.runtime.llm.port import LlmError
from agents.runtime.prompt import Prompt
from agents.runtime.recalled import RecalledMemory
from agents.threads import as_person
from memory.engine.types import BankError
from memory.rereading import CannotReread, reread
from memory.services.turns import NotFound
from memory.why import why_of

SIGNED_OUT, NOT_FOUND = 4401, 4404
PATIENCE_S = 120.0  # for one reply: the demo model needs about ten on a busy laptop
BEAT_S = 0.1  # between two looks at what was said so far
_answering: set[UUID] = set()  # who is being answered in this process: one at a time each


@dataclass(frozen=True)
class Asked:
    """Both prompts of one question."""

    past: PastTask
    reader: str
    asking: bool
    sides: tuple[tuple[str, Prompt, list[RecalledMemory]], ...]


class RepliesConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels is untyped
    """Frames in: {without, with}. Frames out: reply (which, text, done), error (sentence), end."""

    async def connect(self) -> None:
        self.user = self.scope["user"]
        self.recall_id: UUID = self.scope["url_route"]["kwargs"]["recall_id"]
        self.work: asyncio.Task[None] | None = None
        await self.accept()
        if not self.user.is_authenticated:
            await self._error(_("You are signed out. Sign in and try again."))
            await self.close(code=SIGNED_OUT)
            return
        translation.activate(self.user.language)
        try:
            await as_person(self.user.pk, why_of, self.recall_id)
        except NotFound as error:
            await self._error(error.sentence)
            await self.close(code=NOT_FOUND)

    async def disconnect(self, code: int) -> None:
        if self.work is not None:
            self.work.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            without, back = _ids(text_data)
        except ValueError:
            await self._error(_("This page sent something that is no question. Reload it."))
            return
        if self.user.pk in _answering:
            await self._error(_("A reply of yours is being made already. Wait until it has ended."))
            return
        _answering.add(self.user.pk)
        self.work = asyncio.create_task(self._answer(without, back))

    async def _answer(self, without: UUID | None, back: UUID | None) -> None:
        try:
            asked = await as_person(self.user.pk, _asked, self.recall_id, without, back)
            for which, prompt, recalled in asked.sides:
                await self._say(asked, which, prompt, recalled)
        except (LlmError, BankError) as error:
            await self._error(error.sentence)
        except TimeoutError:
            await self._error(_("The model took too long. Try again later."))
        finally:
            _answering.discard(self.user.pk)
        await self._frame({"type": "end"})

    async def _say(self, asked: Asked, which: str, prompt: Prompt, recalled: list[RecalledMemory]) -> None:
        task = asked.past.task
        backend = backend_for(asked.past.agent, zone=task.zone, reader=asked.reader)
        text, told = "", asyncio.get_running_loop().time()
        stream = backend.stream(
            prompt.messages, recalled=recalled, asking=asked.asking, max_tokens=task.limits.reply_tokens
        )
        async with asyncio.timeout(PATIENCE_S), aclosing(stream) as pieces:
            async for piece in pieces:
                text += piece
                if (now := asyncio.get_running_loop().time()) - told >= BEAT_S:
                    told = now
                    await self._frame({"type": "reply", "which": which, "text": text, "done": False})
        await self._frame({"type": "reply", "which": which, "text": text, "done": True})

    async def _error(self, sentence: str) -> None:
        await self._frame({"type": "error", "sentence": sentence})

    async def _frame(self, frame: dict[str, Any]) -> None:
        with suppress(RuntimeError):  # the tab was closed meanwhile
            await self.send(text_data=json.dumps(frame))


def _ids(text: str | None) -> tuple[UUID | None, UUID | None]:
    """What a frame asks for. Raises `ValueError`."""
    frame = json.loads(text or "")
    if not isinstance(frame, dict):
        raise ValueError("no object")
    found = [frame.get(name) for name in ("without", "with")]
    if not all(one is None or isinstance(one, str) for one in found):
        raise ValueError("no ids")
    return (UUID(found[0]) if found[0] else None, UUID(found[1]) if found[1] else None)


def _asked(recall_id: UUID, without: UUID | None, back: UUID | None) -> Asked:
    """Both prompts, made as the acting person. Raises `BankError`."""
    why = why_of(recall_id)
    past = past_task(why)
    if past is None:
        raise CannotReread(_("The agent of this bank is gone: nobody can answer."))
    found = reread(why, without=without, back=back, excluded=past.excluded)
    if found.after is None:
        raise CannotReread(_("Choose a memory to leave out or to bring back first."))
    sides = (("before", *prompt_for(past, found.before)), ("after", *prompt_for(past, found.after)))
    return Asked(past, why.turn.observation_speaker, why.trace.asking, sides)
