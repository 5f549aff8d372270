"""A figure of one conversation's memory between two of its turns: what is asked of it, and where its rows lead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from rest_framework import serializers

from agora_web.pages import life_words as words
from agora_web.pages.door_figure import DoorFigure, memory_address, recall_address
from memory import life
from memory.api.figures import Drawn, FigureQuery

SHOWS = ("held", "pinned", "archived", "came", "left", "all")


class LifeQuery(FigureQuery):
    """A range of turns, and which memories."""

    kind = serializers.ChoiceField(list(words.GROUPS), required=False)
    reason = serializers.ChoiceField(list(words.REASONS), required=False)
    adapter = serializers.CharField(max_length=80, required=False, default="")
    order = serializers.ChoiceField(["time", "mass"], required=False, default="time")
    at = serializers.IntegerField(min_value=0, required=False)
    against = serializers.IntegerField(min_value=0, required=False)
    show = serializers.ChoiceField(SHOWS, required=False)

    def get_fields(self) -> Any:
        ends = {name: serializers.IntegerField(min_value=1, required=False) for name in ("from", "to")}
        return super().get_fields() | ends


class LifeFigure(DoorFigure):
    """A figure of one conversation, between two of its turns."""

    query, thing = LifeQuery, "conversation_id"

    def drawn(self, asked: dict[str, Any], **ids: UUID) -> Drawn:
        found = life.life_of(ids["conversation_id"])
        first, last = found.stretch(asked.get("from"), asked.get("to"))
        return self.between(found, first, last, asked)

    def between(self, found: life.Life, first: int, last: int, asked: dict[str, Any]) -> Drawn:
        raise NotImplementedError

    def finished(self, rows: Sequence[Any]) -> Sequence[Any]:
        return super().finished(life.with_words(rows))


def of_memory(row: Any) -> str:
    """The page of a row's memory."""
    return memory_address(row.memory)


def of_recall(row: Any) -> str:
    """The page of a row's recall."""
    return recall_address(row.recall)


def nothing_yet(found: life.Life) -> str:
    """Why a conversation has nothing to show, or ""."""
    if not found.turns:
        return _("This conversation has no turn yet.")
    return "" if found.written else _("Nothing of this conversation was remembered yet.")


def stretch(first: int, last: int) -> dict[str, int]:
    """A range of turns, for a sentence."""
    return {"first": first, "last": last}
