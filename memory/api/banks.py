"""Whether analysts may look at one's bank; one's word on it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memory import selectors
from memory.services.banks import open_to_analysts


class AnalystsOfBank(APIView):
    """GET says how it stands; PUT opens or closes, at once."""

    class Wish(serializers.Serializer[Any]):
        open = serializers.BooleanField()

    def get(self, request: Request, bank_id: UUID) -> Response:
        return Response({"open": selectors.bank(bank_id).open_to_analysts})

    def put(self, request: Request, bank_id: UUID) -> Response:
        selectors.bank(bank_id)  # another's is not found, whatever is said
        wish = self.Wish(data=request.data)
        wish.is_valid(raise_exception=True)
        open_to_analysts(bank_id, wish.validated_data["open"])
        return Response({"open": wish.validated_data["open"]})
