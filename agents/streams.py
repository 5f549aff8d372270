"""The tokens of running turns, in Valkey streams: written by whoever runs the turn, read by every tab that follows.

A stream is a comfort, not the truth: the turn's row has the text. When Valkey is away, turns go on without it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from django.conf import settings
from redis.asyncio import Redis
from redis.exceptions import RedisError

KEEP_ENTRIES = 20_000
KEEP_SECONDS = 3600
BLOCK_MS = 2000
log = logging.getLogger(__name__)

_SEQUENCE = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Redis] = WeakKeyDictionary()


def _client() -> Redis:
    """One client an event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = Redis.from_url(settings.STREAMS_URL, decode_responses=True)
    return _clients[loop]


async def close() -> None:
    """Close this loop's client; commands that end their loop call it."""
    client = _clients.pop(asyncio.get_running_loop(), None)
    if client is not None:
        await client.aclose()


def _key(turn_id: UUID) -> str:
    return f"agora:turn:{turn_id}"


async def publish(turn_id: UUID, kind: str, **data: Any) -> None:
    """Append one entry (`stage`, `delta` or `end`). A Valkey that is away is logged; the row has the text."""
    try:
        async with _client().pipeline(transaction=False) as pipe:
            pipe.xadd(_key(turn_id), {"kind": kind, "data": json.dumps(data)}, maxlen=KEEP_ENTRIES, approximate=True)
            pipe.expire(_key(turn_id), KEEP_SECONDS)
            await pipe.execute()
    except (RedisError, OSError) as error:
        log.warning("turn %s: the stream cannot be written (%s)", turn_id, type(error).__name__)


async def restart(turn_id: UUID) -> None:
    """Begin the stream of a turn anew: it is tried again."""
    try:
        await _client().delete(_key(turn_id))
    except (RedisError, OSError) as error:
        log.warning("turn %s: the stream cannot be cleared (%s)", turn_id, type(error).__name__)


async def follow(turn_id: UUID, after: str) -> AsyncIterator[tuple[str, str, dict[str, Any]] | None]:
    """Yield (sequence, kind, data) after `after` ("" for all), until the end; None whenever nothing came for 2 s.

    When Valkey is away it yields None once a pause, so that the caller can look at the row instead.
    """
    last = after or "0"
    while True:
        try:
            answer = await _client().xread({_key(turn_id): last}, block=BLOCK_MS, count=500)
        except (RedisError, OSError):
            await asyncio.sleep(1)
            answer = None
        if not answer:
            yield None
            continue
        entries: list[tuple[str, dict[str, str]]] = answer[0][1]  # type: ignore[index, assignment]  # one stream, RESP2
        for last, fields in entries:
            yield last, fields["kind"], json.loads(fields["data"])
            if fields["kind"] == "end":
                return


def valid_sequence(text: str) -> bool:
    """Whether `text` is a sequence number that `follow` can go on from."""
    return text == "" or (_SEQUENCE.fullmatch(text) is not None and max(map(int, text.split("-"))) < 2**64)
