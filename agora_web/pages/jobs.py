"""The operators' page of background jobs."""

from django.contrib.auth.decorators import login_required, permission_required
from django.db.models import Case, IntegerField, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memory.models import Job, JobState

SHOWN = 200
_FIRST = {JobState.RUNNING: 0, JobState.FAILED: 1, JobState.PENDING: 2, JobState.DONE: 3}


@login_required
@permission_required("memory.view_job", raise_exception=True)
def jobs(request: HttpRequest) -> HttpResponse:
    """What runs, what failed, what waits, what is done; the newest first in each."""
    order = Case(
        *(When(state=state, then=Value(place)) for state, place in _FIRST.items()), output_field=IntegerField()
    )
    found = Job.objects.annotate(order=order).order_by("order", "-created_at")[:SHOWN]
    return render(request, "agora_web/jobs.html", {"jobs": found})
