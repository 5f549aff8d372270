"""The pages of one bank over time, and of all banks that somebody may look at. Their figures are in `banks_figures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import ensure_csrf_cookie

from agora_web.pages.door import Visit, passed
from agora_web.pages.life_words import GROUPS, REASONS
from agora_web.pages.reach import MOST_BANKS, Reach, adapters_of, all_banks, among_many, one_bank
from memory.figure_page import figure_page
from memory.services.turns import NotFound


@login_required
@ensure_csrf_cookie
@figure_page
def bank_life(request: HttpRequest, bank_id: UUID) -> HttpResponse:
    """One bank over time."""
    try:
        one = one_bank(bank_id)
        context = _context([one], bank_id)
    except NotFound as error:
        raise Http404(error.sentence) from error
    return render(request, "memory/bank_life.html", {"one": one, **context})


@login_required
@ensure_csrf_cookie
@figure_page
def banks(request: HttpRequest) -> HttpResponse:
    """All banks within reach, beside each other and together."""
    try:
        context = among_many(_all)
    except NotFound as error:
        raise Http404(error.sentence) from error
    return render(request, "memory/banks.html", context)


def _all() -> dict[str, Any]:
    found = all_banks()
    agents = sorted({(one.agent_name, one.agent) for one in found if one.agent})
    told = {"banks": found, "opened": sum(one.opened for one in found), "agents": agents, "most": MOST_BANKS}
    return told | _context(found[:MOST_BANKS], None)


def _context(reached: Sequence[Reach], bank_id: UUID | None) -> dict[str, Any]:
    """What a page of these banks says, noted for the owners of those that were opened."""
    adapters = adapters_of(reached)
    passed([one.door for one in reached], Visit.PAGE)
    return {
        "figures": _figures(bank_id), "groups": GROUPS.items(), "adapters": adapters,
        "reasons": [(value, label) for value, label in REASONS.items() if value != "held"],
    }  # fmt: skip


def _figures(bank_id: UUID | None) -> list[dict[str, Any]]:
    """Name, title and address of each figure, in the order of the page."""
    figures: list[dict[str, Any]] = [
        {"name": "composition", "title": _("What is in the bank") if bank_id else _("What is in the banks")},
        {"name": "fullness", "title": _("How full it was") if bank_id else _("How full they were")},
        {"name": "turnover", "title": _("What came and what left")},
        {"name": "leaving", "title": _("Why memories left")},
        {"name": "regret", "title": _("What was missed later")},
        {"name": "work", "title": _("Which memories do the work")},
        {"name": "never", "title": _("What is never recalled")},
        {"name": "again", "title": _("What was told again")},
        {"name": "doubts", "title": _("What contradicts what came later")},
    ]  # fmt: skip
    if bank_id:
        figures.insert(1, {"name": "conversations", "title": _("What is left of each conversation")})
    else:
        figures.insert(0, {"name": "beside", "title": _("The banks beside each other")})
    for one in figures:
        if bank_id:
            one["address"] = reverse(f"api_bank_{one['name']}", args=[bank_id])
        else:
            one["address"] = reverse(f"api_banks_{one['name']}")
    return figures
