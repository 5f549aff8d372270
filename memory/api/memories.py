"""What a person does to one memory: one POST a verb."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memory import selectors
from memory.services import doubts, memories


class MemoryVerb(APIView):
    """Call the service and answer with the memory as it is then."""

    verb: ClassVar[Callable[..., Any]]

    def post(self, request: Request, memory_id: UUID) -> Response:
        until = type(self).verb(memory_id, now=timezone.now())
        row = selectors.memory(memory_id)
        shown = until if isinstance(until, datetime) else None
        return Response({"memory": selectors.memory_json(row), "undo_until": selectors.instant(shown)})


class Pin(MemoryVerb):
    verb = staticmethod(memories.pin)


class Unpin(MemoryVerb):
    verb = staticmethod(memories.unpin)


class Forget(MemoryVerb):
    verb = staticmethod(memories.forget)


class Unforget(MemoryVerb):
    verb = staticmethod(memories.unforget)


class Restore(MemoryVerb):
    verb = staticmethod(memories.restore)


class Settle(MemoryVerb):
    verb = staticmethod(doubts.settle)


class Erase(APIView):
    """Erase now: there is no undo, and nothing left to answer with."""

    def post(self, request: Request, memory_id: UUID) -> Response:
        selectors.memory(memory_id)  # another's is not found, as everywhere
        memories.erase(memory_id, now=timezone.now())
        return Response({"memory": None, "undo_until": None})
