"""Through which door somebody looks at memory: what a view does to the words that it shows."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from rest_framework.request import Request

from memory.why import as_is


def shown_to(request: HttpRequest | Request) -> Callable[[str], str]:
    """What to do to a text before this request shows it. Owners, the only ones so far, see theirs as they are."""
    return as_is
