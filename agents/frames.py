"""The frames of the chat's websocket: what a client may send, checked before anything is done with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from agents.streams import valid_sequence


class FrameRefused(Exception):
    """The frame fits no schema; the sentence says what is wrong. The socket stays open."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True)
class Send:
    text: str
    client: UUID | None
    replaces: UUID | None = None


@dataclass(frozen=True)
class Stop:
    turn: UUID


@dataclass(frozen=True)
class Retry:
    turn: UUID


@dataclass(frozen=True)
class Follow:
    turn: UUID
    last_seq: str


Frame = Send | Stop | Retry | Follow


def read_frame(text: str | None) -> Frame:
    """Parse one text frame. Raises `FrameRefused`."""
    try:
        found = json.loads(text or "")
    except (ValueError, RecursionError) as error:
        raise FrameRefused(_("The frame is not JSON.")) from error
    if not isinstance(found, dict):
        raise FrameRefused(_("The frame is not a JSON object."))
    match found.get("type"):
        case "send":
            return Send(_text(found), _uuid(found, "client") if found.get("client") else None)
        case "edit":
            return Send(_text(found), None, replaces=_uuid(found, "turn"))
        case "stop":
            return Stop(_uuid(found, "turn"))
        case "retry":
            return Retry(_uuid(found, "turn"))
        case "follow":
            last = found.get("last_seq", "")
            if not isinstance(last, str) or not valid_sequence(last):
                raise FrameRefused(_("“last_seq” is not a sequence number that this socket gave out."))
            return Follow(_uuid(found, "turn"), last)
        case _:
            raise FrameRefused(_("The frame's “type” must be send, edit, stop, retry or follow."))


def _text(found: dict[str, Any]) -> str:
    if not isinstance(found.get("text"), str):
        raise FrameRefused(_("The frame needs a “text”."))
    return str(found["text"])


def _uuid(found: dict[str, Any], name: str) -> UUID:
    try:
        return UUID(found[name])
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise FrameRefused(_("“%(name)s” must be an id.") % {"name": name}) from error
