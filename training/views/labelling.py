"""Pages of the labelling queue: labelling, what is to be settled, how far it is."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from training import labelling as queue


@login_required
@permission_required("training.add_review", raise_exception=True)
def labelling(request: HttpRequest) -> HttpResponse:
    """The frame of the queue; its script fetches the items."""
    return render(request, "training/labelling.html", {"here": "label"})


@login_required
@permission_required("training.change_reviewitem", raise_exception=True)
def disputes(request: HttpRequest) -> HttpResponse:
    """The same for what labellers disagree about."""
    return render(request, "training/labelling.html", {"here": "resolve"})


@login_required
@permission_required("training.view_reviewitem", raise_exception=True)
def statistics(request: HttpRequest) -> HttpResponse:
    """How far it is, and how far people agree."""
    found = {"here": "statistics", "counts": queue.counts(), "agreements": queue.agreements(),
             "labellers": queue.labellers()}  # fmt: skip
    return render(request, "training/labelling_statistics.html", found)
