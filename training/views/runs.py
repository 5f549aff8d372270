"""The pages of training runs: parse, call a service or a selector, answer."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memory.figure_page import figure_page
from memory.services.turns import NotFound
from training import charts, run_figures, selectors
from training.models import Rules, TrainingRun
from training.services import runs as service
from training.services.runs import RunRefused, Settings

VIEW, ADD, CHANGE = "training.view_trainingrun", "training.add_trainingrun", "training.change_trainingrun"


class RunForm(forms.Form):
    """What a run is asked for with."""

    from_scratch = forms.BooleanField(
        label=gettext_lazy("Start from the untrained weights"), required=False,
        help_text=gettext_lazy("Else it starts from the adapter that serves, and moves as far as the labels go."),
    )  # fmt: skip
    seed = forms.IntegerField(
        label=gettext_lazy("Seed"), min_value=1, max_value=2**31 - 1, initial=1,
        help_text=gettext_lazy("Decides which conversations are held out. The same seed gives the same weights."),
    )  # fmt: skip


@login_required
@permission_required(VIEW, raise_exception=True)
@require_http_methods(["GET", "POST"])
def runs(request: HttpRequest) -> HttpResponse:
    """All runs, what the next one lacks, and the button that starts one."""
    form = RunForm(request.POST or None, initial={"seed": 1})
    if request.method == "POST":
        if not request.user.has_perm(ADD):
            return HttpResponse(status=403)
        if form.is_valid():
            return _asked(request, form)
    ready = selectors.readiness()
    found = selectors.runs()
    for one in found:
        one.state, one.error, _silent = selectors.truth(one, service.job_of(one.pk), timezone.now())
    shown = {
        "form": form, "runs": found, "ready": ready, "missing": selectors.missing_now(ready),
        "rules": Rules.in_force(), "may_ask": request.user.has_perm(ADD),
    }  # fmt: skip
    return render(request, "training/runs.html", shown, status=400 if form.is_bound else 200)


def _asked(request: HttpRequest, form: RunForm) -> HttpResponse:
    now = timezone.now()
    settings = Settings(form.cleaned_data["seed"], form.cleaned_data["from_scratch"])
    try:
        run = service.ask(settings, by=request.user.pk, now=now)
    except RunRefused as error:
        messages.error(request, error.sentence)
        return redirect("training_runs")
    if run.created_at != now:
        messages.info(request, _("A run waits already: this is it."))
    return redirect("training_run", run.pk)


@login_required
@permission_required(VIEW, raise_exception=True)
@require_GET
@figure_page
def run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """One run: how it goes, its curves, and at the end champion beside challenger."""
    one = _run(run_id)
    shown = {
        "run": one, "figures": run_figures.cards(one), "now": selectors.run_json(one),
        "may_cancel": request.user.has_perm(CHANGE),
        "report": charts.report_rows(one.report) if one.report else None,
    }  # fmt: skip
    return render(request, "training/run.html", shown)


class RunState(APIView):
    """The run as JSON, for pages whose socket is away."""

    def get(self, request: Request, run_id: UUID) -> Response:
        if not request.user.has_perm(VIEW):
            raise PermissionDenied
        return Response(selectors.run_json(selectors.run(run_id)))


@login_required
@permission_required(CHANGE, raise_exception=True)
@require_POST
def cancel(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Cancel a run that waits or runs."""
    one = _run(run_id)
    try:
        service.cancel(one.pk, now=timezone.now())
    except RunRefused as error:
        messages.error(request, error.sentence)
    else:
        messages.success(request, _("The run is being cancelled. What serves stays as it is."))
    return redirect("training_run", one.pk)


def _run(run_id: UUID) -> TrainingRun:
    try:
        return selectors.run(run_id)
    except NotFound as error:
        raise Http404(error.sentence) from error
