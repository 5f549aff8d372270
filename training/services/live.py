"""Tells the pages that watch a run that it has changed: they read the row. A broker that is away stops no run."""

from __future__ import annotations

import logging
from uuid import UUID

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

log = logging.getLogger(__name__)


def group_name(run_id: UUID) -> str:
    """The group of everybody who watches a run."""
    return f"training-run-{run_id}"


def tell(run_id: UUID) -> None:
    """Say that the run's row has changed."""
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async_to_sync(layer.group_send)(group_name(run_id), {"type": "run.changed"})
    except (RedisError, OSError) as error:
        log.warning("run %s: nobody can be told (%s)", run_id, type(error).__name__)
