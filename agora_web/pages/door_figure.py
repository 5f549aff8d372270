"""A figure of one thing (a conversation, a recall, a memory), read through the door to it; and where its marks lead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import UUID

from django.http.response import HttpResponseBase
from django.urls import reverse
from rest_framework.request import Request

from agora_web.pages.door import Door, reading, visit_of
from memory.api.figures import FigureView


class DoorFigure(FigureView):
    """Owners read theirs as it is, analysts what was opened to them, masked: tables and exports too."""

    thing: ClassVar[str]  # the id in the address
    door: Door

    def get(self, request: Request, **ids: UUID) -> HttpResponseBase:
        with reading(ids[self.thing], visit_of(request)) as self.door:
            return super().get(request, **ids)

    def finished(self, rows: Sequence[Any]) -> Sequence[Any]:
        return self.door.rows(rows)


def memory_address(memory: UUID) -> str:
    """The page of one memory."""
    return reverse("memory_page", args=[memory])


def recall_address(recall: UUID) -> str:
    """The page of one recall."""
    return reverse("recall_page", args=[recall])
