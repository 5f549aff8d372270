"""The JSON of the labelling queue: parse, call a service or selector, answer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework import serializers
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memory import selectors as memory
from memory.models import LABELLING_OPEN, Conversation
from training import labelling
from training.services import queue, reviews

MOST_HELD = 20


def _person(request: Request) -> UUID:
    """The acting person, from the session alone; the permission class let nobody else in."""
    assert request.user.pk is not None
    return request.user.pk


class MayLabel(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        return bool(request.user and request.user.has_perm("training.add_review"))


class MaySettle(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        return bool(request.user and request.user.has_perm("training.change_reviewitem"))


class Held(serializers.Serializer[Any]):
    """What a page holds already and need not be told again."""

    but = serializers.ListField(child=serializers.UUIDField(), max_length=MOST_HELD, default=list)


class _Queue(APIView):
    """What both lists have in common: the next items, and how far the person is."""

    permission_classes = [IsAuthenticated, MayLabel]

    def ahead(self, request: Request, but: list[UUID]) -> Response:
        person = _person(request)
        items = labelling.items_json(labelling.waiting_for(person), but)
        return Response({"items": items, "progress": labelling.progress_json(person)})


class _Disputes(_Queue):
    permission_classes = [IsAuthenticated, MaySettle]

    def ahead(self, request: Request, but: list[UUID]) -> Response:
        person = _person(request)
        items = labelling.items_json(labelling.disputed_for(person), but, answers=True)
        return Response({"items": items, "progress": labelling.progress_json(person)})


class Waiting(_Queue):
    """The next items to answer."""

    def get(self, request: Request) -> Response:
        return self.ahead(request, [])


class Disputed(_Disputes):
    """The next items to settle."""

    def get(self, request: Request) -> Response:
        return self.ahead(request, [])


class OneItem(_Queue):
    """An answer to an item, or a skip; taken back."""

    class Answer(Held):
        value = serializers.IntegerField(allow_null=True, min_value=0, max_value=4)

    def post(self, request: Request, item_id: UUID) -> Response:
        labelling.shown_item(item_id)  # what is closed is not found, whatever is said
        given = self.Answer(data=request.data)
        given.is_valid(raise_exception=True)
        reviews.answer(item_id, given.validated_data["value"], by=_person(request), now=timezone.now())
        return self.ahead(request, given.validated_data["but"])

    def delete(self, request: Request, item_id: UUID) -> Response:
        reviews.take_back(item_id, by=_person(request))
        return Response({"progress": labelling.progress_json(_person(request))})


class OneDispute(_Disputes):
    """The word that settles an item; taken back."""

    class Word(Held):
        value = serializers.IntegerField(min_value=0, max_value=4)

    def post(self, request: Request, item_id: UUID) -> Response:
        labelling.shown_item(item_id)
        given = self.Word(data=request.data)
        given.is_valid(raise_exception=True)
        reviews.resolve(item_id, given.validated_data["value"], by=_person(request), now=timezone.now())
        return self.ahead(request, given.validated_data["but"])

    def delete(self, request: Request, item_id: UUID) -> Response:
        reviews.take_back(item_id, by=_person(request))
        return Response({"progress": labelling.progress_json(_person(request))})


class LabellingOfConversation(APIView):
    """Whether labellers may be shown one's conversation; one's word on it."""

    class Wish(serializers.Serializer[Any]):
        open = serializers.BooleanField()

    def get(self, request: Request, conversation_id: UUID) -> Response:
        return Response(_labelling_json(memory.conversation(conversation_id)))

    def put(self, request: Request, conversation_id: UUID) -> Response:
        memory.conversation(conversation_id)  # another's is not found, whatever is said
        wish = self.Wish(data=request.data)
        wish.is_valid(raise_exception=True)
        return Response(_labelling_json(queue.open_to_labelling(conversation_id, wish.validated_data["open"])))


def _labelling_json(conversation: Conversation) -> dict[str, Any]:
    return {"labelling": conversation.labelling, "open": conversation.labelling in LABELLING_OPEN}
