"""Tells the pages that watch a replay of the lab that it has changed: they read the row. A broker that is away stops
nothing."""

from __future__ import annotations

import logging
from uuid import UUID

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

log = logging.getLogger(__name__)


def group_name(replay_id: UUID) -> str:
    """The group of everybody who watches a replay."""
    return f"lab-{replay_id}"


def tell(replay_id: UUID) -> None:
    """Say that the replay's row has changed."""
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async_to_sync(layer.group_send)(group_name(replay_id), {"type": "replay.changed"})
    except (RedisError, OSError) as error:
        log.warning("replay %s: nobody can be told (%s)", replay_id, type(error).__name__)
