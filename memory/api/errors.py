"""Errors as the pages read them: `{"error": {"code", "sentence"}}`."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from memory.engine.types import BankError
from memory.services.ledger import BankMissing
from memory.services.turns import MessageRefused, NotFound


def answer_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn a named error into an answer; what is not ours goes on to Django (a page of 500, the log has the rest)."""
    if isinstance(error, NotFound | BankMissing):
        return _answer("not_found", error.sentence, 404)
    if isinstance(error, MessageRefused):
        return _answer(error.code, error.sentence, 400)
    if isinstance(error, BankError):
        return _answer("refused", error.sentence, 409)
    response = exception_handler(error, context)
    if response is not None and isinstance(error, exceptions.APIException):
        code = "csrf" if _is_csrf(error) else error.default_code
        response.data = {"error": {"code": code, "sentence": _sentence(error)}}
    return response


def _answer(code: str, sentence: str, status: int) -> Response:
    return Response({"error": {"code": code, "sentence": sentence}}, status=status)


def _is_csrf(error: exceptions.APIException) -> bool:
    """Whether the form token did not fit; the framework says so in a text alone."""
    return isinstance(error, exceptions.PermissionDenied) and str(error.detail).startswith("CSRF Failed")


def _sentence(error: exceptions.APIException) -> str:
    if _is_csrf(error):
        return _("This page is out of date: you signed in anew since it was opened. Reload it and try again.")
    if isinstance(error, exceptions.NotAuthenticated):
        return _("You are signed out. Sign in and try again.")
    if isinstance(error, exceptions.ValidationError) and isinstance(error.detail, dict):
        return " ".join(f"{name}: {' '.join(map(str, texts))}" for name, texts in error.detail.items())
    return str(error.detail)
