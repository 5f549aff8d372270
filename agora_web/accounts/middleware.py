"""Per request: who acts (for row-level security), in which time zone and language."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

from memory.tenancy import acting_as


class PersonMiddleware:
    """Run the view as the signed-in person: one transaction, with the database told who asks.

    A signed-out request gets no user, and so no rows. An answer of 500 or more rolls back.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = request.user
        if not user.is_authenticated:
            return self.get_response(request)
        with timezone.override(user.zone), translation.override(user.language), acting_as(user.pk):
            response = self.get_response(request)
            if response.status_code >= 500:
                transaction.set_rollback(True)
            return response
