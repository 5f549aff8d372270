"""The page of one conversation's memory over time. Its figures are in `life_figures`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Max
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import ensure_csrf_cookie

from agora_web.pages.door import Door, reading
from agora_web.pages.life_words import GROUPS, REASONS
from memory import selectors
from memory.figure_page import figure_page
from memory.models import Conversation, Memory, Turn
from memory.services.turns import NotFound


@login_required
@ensure_csrf_cookie
@figure_page
def life(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Importance, weights, evictions and the bank at any moment, of one conversation."""
    try:
        with reading(conversation_id) as door:
            context = _context(selectors.conversation(conversation_id), door)
    except NotFound as error:
        raise Http404(error.sentence) from error
    return render(request, "memory/life.html", context)


def _context(conversation: Conversation, door: Door) -> dict[str, Any]:
    turns = Turn.objects.filter(conversation=conversation, replaced_at=None).aggregate(last=Max("ordinal"))["last"]
    scored = Memory.objects.filter(conversation=conversation).values_list("adapter", flat=True).distinct()
    return {
        "conversation": conversation, "title": door.shown(conversation.title), "opened": door.masked,
        "turns": turns or 0, "figures": _figures(conversation.pk), "groups": GROUPS.items(),
        "reasons": REASONS.items(), "adapters": sorted(scored),
    }  # fmt: skip


def _figures(conversation_id: UUID) -> list[dict[str, Any]]:
    """Name, title, and what the template adds, in the order of the page."""
    time = "turns"  # figures of this group share their time axis
    figures: list[dict[str, Any]] = [
        {"name": "importance", "title": _("How important each memory is"), "group": time},
        {"name": "calibration", "title": _("Importance beside judgements")},
        {"name": "budget", "title": _("How full the bank was"), "group": time, "low": True},
        {"name": "evictions", "title": _("What stayed, what left, and why"), "group": time},
        {"name": "weights", "title": _("What was recalled when"), "group": time,
         "controls": "memory/life_order.html"},
        {"name": "moment", "title": _("The bank at any moment"), "controls": "memory/life_moment.html"},
    ]  # fmt: skip
    for one in figures:
        one["address"] = reverse(f"api_life_{one['name']}", args=[conversation_id])
    return figures
