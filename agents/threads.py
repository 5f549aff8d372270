"""Where asynchronous code runs memory code: a bounded pool of threads, each piece one transaction as one person."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import ParamSpec, TypeVar
from uuid import UUID

from django.db import connections

from memory.tenancy import acting_as

P = ParamSpec("P")
R = TypeVar("R")

# Few: each holds a database connection while it works, and memory code is short.
_pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="memory")


async def as_person(user_id: UUID | None, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run `work` in the pool inside `acting_as(user_id)`; the connection goes back to its pool afterwards."""
    call = functools.partial(copy_context().run, _one_piece, user_id, functools.partial(work, *args, **kwargs))
    return await asyncio.get_running_loop().run_in_executor(_pool, call)


def _one_piece(user_id: UUID | None, work: Callable[[], R]) -> R:
    try:
        with acting_as(user_id):
            return work()
    finally:
        connections.close_all()
