"""The JSON of judgements given in passing: parse, call a service, answer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memory import selectors
from memory.models import Bank
from memory.services.turns import NotFound
from memory.thousands import counted
from training.services import labels, own_heads, thumbs

MOST = 500


def _person(request: Request) -> UUID:
    """The acting person, from the session alone; the permission class let nobody else in."""
    assert request.user.pk is not None
    return request.user.pk


class WordOnMemory(APIView):
    """One's word on a memory; another one in its place; none."""

    class Said(serializers.Serializer[Any]):
        word = serializers.ChoiceField(choices=list(labels.WORDS))
        recall = serializers.UUIDField(required=False, allow_null=True)

    def put(self, request: Request, memory_id: UUID) -> Response:
        selectors.memory(memory_id)  # another's is not found, whatever is said
        said = self.Said(data=request.data)
        said.is_valid(raise_exception=True)
        word, recall = said.validated_data["word"], said.validated_data.get("recall")
        labels.say(memory_id, word, by=_person(request), recall_id=recall, now=timezone.now())
        return Response({"word": word})

    def delete(self, request: Request, memory_id: UUID) -> Response:
        labels.unsay(memory_id, by=_person(request), now=timezone.now())
        return Response({"word": None})


class WordsOnMemories(APIView):
    """One's words on the memories of a page."""

    class Asked(serializers.Serializer[Any]):
        memories = serializers.ListField(child=serializers.UUIDField(), max_length=MOST)

    def post(self, request: Request) -> Response:
        asked = self.Asked(data=request.data)
        asked.is_valid(raise_exception=True)
        found = labels.words_on(asked.validated_data["memories"], _person(request))
        return Response({"words": {str(memory): word for memory, word in found.items()}})


class ThumbOnReply(APIView):
    """One's thumb on a reply; the other one in its place; none."""

    class Said(serializers.Serializer[Any]):
        thumb = serializers.ChoiceField(choices=list(thumbs.FITTED))

    def put(self, request: Request, turn_id: UUID) -> Response:
        selectors.turn(turn_id)  # another's is not found, whatever is said
        said = self.Said(data=request.data)
        said.is_valid(raise_exception=True)
        thumb = said.validated_data["thumb"]
        thumbs.raise_thumb(turn_id, thumb, by=_person(request), now=timezone.now())
        return Response({"thumb": thumb})

    def delete(self, request: Request, turn_id: UUID) -> Response:
        thumbs.lower_thumb(turn_id)
        return Response({"thumb": None})


class ThumbsOnReplies(APIView):
    """One's thumbs on the replies of a page."""

    class Asked(serializers.Serializer[Any]):
        turns = serializers.ListField(child=serializers.UUIDField(), max_length=MOST)

    def post(self, request: Request) -> Response:
        asked = self.Asked(data=request.data)
        asked.is_valid(raise_exception=True)
        found = thumbs.thumbs_on(asked.validated_data["turns"])
        return Response({"thumbs": {str(turn): thumb for turn, thumb in found.items()}})


class LearningOfBank(APIView):
    """How far one's bank is on its way to a head of its own, in a sentence."""

    def get(self, request: Request, bank_id: UUID) -> Response:
        bank = Bank.objects.filter(pk=bank_id).first()
        if bank is None:
            raise NotFound(_("There is no such memory bank."))
        found = own_heads.learning_of(bank)
        return Response({**vars(found), "sentence": _sentence(found)})


def _sentence(found: own_heads.Learning) -> str:
    """For the person whose bank it is."""
    if not found.labels:
        return _(
            "Say of %(n)s memories whether they are useful, outdated or wrong, and this agent begins to learn from it "
            "what you find worth keeping."
        ) % counted({"n": own_heads.LEAST})
    judged = ngettext("You have judged %(n)s memory.", "You have judged %(n)s memories.", found.labels)
    judged %= counted({"n": found.labels})
    if found.missing:
        more = ngettext(
            "After %(n)s more this agent begins to learn what you find worth keeping.",
            "After %(n)s more this agent begins to learn what you find worth keeping.",
            found.missing,
        )
        return f"{judged} {more % counted({'n': found.missing})}"
    if found.one_sided:
        more = _("All of them say the same: judge some the other way too, so that there is something to learn.")
    elif found.version:
        more = _("From them this agent has learned a head of its own, %(version)s.") % {"version": found.version}
    else:
        more = _("So far they do not rank memories better than the shared adapter does, so that one stays.")
    return f"{judged} {more}"
