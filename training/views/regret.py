"""The report of regret: what left for room and was missed later, by policy and adapter; and which sources said what."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from training import selectors

PERIODS = (7, 30, 90)  # days


@login_required
@permission_required("training.view_label", raise_exception=True)
def regret(request: HttpRequest) -> HttpResponse:
    """Counts over all banks for the last week, month or quarter."""
    wanted = request.GET.get("days", "")
    days = int(wanted) if wanted in map(str, PERIODS) else PERIODS[1]
    since = timezone.now() - timedelta(days=days)
    asked, unreadable = selectors.unreadable(since)
    found = {
        "rows": selectors.regrets(since), "given": selectors.given(since), "asked": asked, "unreadable": unreadable,
        "days": days, "periods": PERIODS,
    }  # fmt: skip
    return render(request, "training/regret.html", found)
