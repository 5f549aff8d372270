"""What does not run as it should, for the pages of those who can mend it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.utils import timezone

from training.scheduling.rows import alarm

register = template.Library()


@register.simple_tag(takes_context=True)
def alarms(context: dict[str, Any]) -> Sequence[str]:
    """Sentences, the gravest first; looked up once a request."""
    request = context["request"]
    if not hasattr(request, "alarms"):
        request.alarms = alarm(timezone.now()).sentences
    found: Sequence[str] = request.alarms
    return found
