"""Tells the pages that watch a row of work that it has changed: they read the row. A broker that is away stops no
work."""

from __future__ import annotations

import logging
from uuid import UUID

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

log = logging.getLogger(__name__)


def group_name(what: str, row: UUID) -> str:
    """The channel group of everybody who watches a row of this sort."""
    return f"{what}-{row}"


def tell(what: str, row: UUID) -> None:
    """Say that a row has changed."""
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async_to_sync(layer.group_send)(group_name(what, row), {"type": "row.changed"})
    except (RedisError, OSError) as error:
        log.warning("%s %s: nobody can be told (%s)", what, row, type(error).__name__)
