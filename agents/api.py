"""The JSON that the chat and memories pages fetch: parse, call a service or selector, answer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents import selectors, services
from memory import selectors as memory
from memory.engine.text import clean_text
from memory.engine.types import State
from memory.services import conversations


def _person(request: Request) -> UUID:
    """The acting person, from the session alone; the permission class let nobody else in."""
    assert request.user.pk is not None
    return request.user.pk


class Agents(APIView):
    """Agents that take new conversations."""

    def get(self, request: Request) -> Response:
        opened = selectors.opened_banks()
        return Response({"agents": [selectors.agent_json(agent, opened) for agent in selectors.agents_offered()]})


class Conversations(APIView):
    """The person's conversations; a new one with an agent."""

    class Beginning(serializers.Serializer[Any]):
        agent = serializers.UUIDField()

    def get(self, request: Request) -> Response:
        query = clean_text(request.query_params.get("q", "")).strip()[:200]
        return Response({"conversations": selectors.conversation_rows(query)})

    def post(self, request: Request) -> Response:
        asked = self.Beginning(data=request.data)
        asked.is_valid(raise_exception=True)
        begun = services.start_chat(asked.validated_data["agent"], _person(request), now=timezone.now())
        return Response(selectors.conversation_json(begun), status=201)


class OneConversation(APIView):
    """A conversation with its last turns, or with some before them; another title."""

    class Title(serializers.Serializer[Any]):
        title = serializers.CharField(max_length=400)

    class Part(serializers.Serializer[Any]):
        before = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)  # an ordinal
        around = serializers.UUIDField(required=False)  # a turn

    def get(self, request: Request, conversation_id: UUID) -> Response:
        asked = self.Part(data=request.query_params)
        asked.is_valid(raise_exception=True)
        return Response(selectors.conversation_page(conversation_id, **asked.validated_data))

    def patch(self, request: Request, conversation_id: UUID) -> Response:
        asked = self.Title(data=request.data)
        asked.is_valid(raise_exception=True)
        renamed = conversations.rename_conversation(conversation_id, asked.validated_data["title"])
        return Response(selectors.conversation_json(renamed))


class ForgetConversation(APIView):
    """Hide a conversation now, erase it when the undo window closes."""

    class Wish(serializers.Serializer[Any]):
        keep_memories = serializers.BooleanField(default=False)

    def post(self, request: Request, conversation_id: UUID) -> Response:
        wish = self.Wish(data=request.data)
        wish.is_valid(raise_exception=True)
        until = conversations.forget_conversation(
            conversation_id, keep_memories=wish.validated_data["keep_memories"], now=timezone.now()
        )
        return Response({"undo_until": memory.instant(until)})


class UnforgetConversation(APIView):
    """Undo."""

    def post(self, request: Request, conversation_id: UUID) -> Response:
        conversations.unforget_conversation(conversation_id, now=timezone.now())
        return Response({})


class OneTurn(APIView):
    """One turn as it is now."""

    def get(self, request: Request, turn_id: UUID) -> Response:
        return Response(selectors.turn_json(turn_id))


class OneRecall(APIView):
    """A whole trace."""

    def get(self, request: Request, recall_id: UUID) -> Response:
        return Response(selectors.recall_json(memory.recall(recall_id)))


class Memories(APIView):
    """What an agent knows about the person: one page of a bank."""

    class Asked(serializers.Serializer[Any]):
        agent = serializers.UUIDField()
        state = serializers.ChoiceField(choices=[State.HELD, State.ARCHIVED, State.FORGOTTEN], default=State.HELD)
        q = serializers.CharField(default="", allow_blank=True, max_length=200)
        page = serializers.IntegerField(default=1, min_value=1, max_value=10_000)

    def get(self, request: Request) -> Response:
        asked = self.Asked(data=request.query_params)
        asked.is_valid(raise_exception=True)
        wanted = asked.validated_data
        seat = selectors.seat_of(wanted["agent"])
        if seat is None:
            return Response({"bank": None, "memories": [], "next": None})
        rows, more = memory.bank_memories(
            seat.bank, state=State(wanted["state"]), query=clean_text(wanted["q"]), page=wanted["page"]
        )
        return Response(
            {
                "bank": memory.bank_json(seat.bank),
                "memories": [memory.memory_json(row) for row in rows],
                "next": wanted["page"] + 1 if more else None,
            }
        )
