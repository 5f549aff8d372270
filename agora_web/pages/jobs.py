"""The operators' page of background jobs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Case, Count, IntegerField, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from memory.engine.types import BankError
from memory.models import Job, JobState
from memory.services.jobs import NEVER_CANCELLED, cancel, retry

SHOWN = 100  # a page
_FIRST = {JobState.RUNNING: 0, JobState.FAILED: 1, JobState.PENDING: 2, JobState.DONE: 3, JobState.CANCELLED: 4}
KINDS = {
    "agents.close_labelling": gettext_lazy("Closes an agent’s conversations to labelling after its setting changed"),
    "memory.check": gettext_lazy("Looks for outdated memories of one bank"),
    "memory.erase": gettext_lazy("Erases a memory that was forgotten"),
    "memory.erase_conversation": gettext_lazy("Erases a conversation that was deleted"),
    "memory.lab": gettext_lazy("Replays conversations under other policies, for the policy lab"),
    "memory.score_archive": gettext_lazy("Looks for what a cue would have recalled from the archive"),
    "memory.summarise": gettext_lazy("Sums up old sessions of one bank"),
    "memory.summarise_milestones": gettext_lazy("Sums up the sessions of one bank up to each milestone"),
    "schedule.run": gettext_lazy("Starts a scheduled task once, as asked"),
    "training.counterfactual": gettext_lazy("Weighs a reply without each of its memories"),
    "training.fall_back": gettext_lazy("Sees that nothing serves that had learned from what was erased"),
    "training.fill_queue": gettext_lazy("Fills the labelling queue from one bank"),
    "training.forget": gettext_lazy("Takes what was erased out of what training keeps"),
    "training.hindsight": gettext_lazy("Judges what later turns of a conversation used"),
    "training.model_rating": gettext_lazy("Asks an agent’s model how important new memories are"),
    "training.own_head": gettext_lazy("Learns an agent’s own head from its person’s words"),
    "training.promotion": gettext_lazy("Takes the banks that follow to another adapter, or back"),
    "training.regret": gettext_lazy("Judges what was missed after it had left"),
    "training.rescore": gettext_lazy("Scores one bank anew after a promotion"),
    "training.run": gettext_lazy("Trains an adapter and compares it with the one that serves"),
    "training.settle": gettext_lazy("Makes labels of complete reviews"),
}


@login_required
@permission_required("memory.view_job", raise_exception=True)
@require_http_methods(["GET", "HEAD", "POST"])
def jobs(request: HttpRequest) -> HttpResponse:
    """GET lists what runs, failed, waits and is done, the newest first in each; POST retries one or cancels it."""
    if request.method == "POST":
        _change(request)
        return redirect(f"{reverse('jobs')}?{_query(request)}" if _query(request) else "jobs")
    state, kind = request.GET.get("state", ""), request.GET.get("kind", "")
    page = Paginator(_found(state, kind), SHOWN).get_page(request.GET.get("page"))
    for job in page:
        job.words, job.cancellable = KINDS.get(job.kind, ""), job.kind not in NEVER_CANCELLED  # type: ignore[attr-defined]
    counts = dict(Job.objects.values_list("state").annotate(n=Count("pk")))
    context: dict[str, Any] = {
        "jobs": page, "state": state, "kind": kind, "query": _query(request),
        "states": [(value, label, counts.get(value, 0)) for value, label in JobState.choices],
        "kinds": Job.objects.order_by("kind").values_list("kind", flat=True).distinct(),
        "may_change": request.user.has_perm("memory.change_job"),
    }  # fmt: skip
    return render(request, "agora_web/jobs.html", context)


def _found(state: str, kind: str) -> QuerySet[Job]:
    order = Case(
        *(When(state=one, then=Value(place)) for one, place in _FIRST.items()), output_field=IntegerField()
    )  # fmt: skip
    found = Job.objects.annotate(order=order).order_by("order", "-created_at", "pk")
    if state in JobState.values:
        found = found.filter(state=state)
    return found.filter(kind=kind) if kind else found


def _query(request: HttpRequest) -> str:
    """The filters of this page, to be kept in its links."""
    told = {name: request.GET[name] for name in ("state", "kind") if request.GET.get(name)}
    return urlencode(told)


def _change(request: HttpRequest) -> None:
    if not request.user.has_perm("memory.change_job"):
        raise PermissionDenied
    verb, said = (retry, _("It is tried again.")) if "retry" in request.POST else (cancel, _("It is cancelled."))
    try:
        verb(UUID(request.POST.get("retry") or request.POST.get("cancel") or ""), now=timezone.now())
    except ValueError:
        messages.error(request, _("There is no such job any more."))
    except BankError as error:
        messages.error(request, error.sentence)
    else:
        messages.success(request, said)
