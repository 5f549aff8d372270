"""The operators' pages of what is scheduled, and of the rules. Parse, call, answer."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from memory.engine.types import BankError
from training.models import Rules
from training.scheduling import cron
from training.scheduling.forms import RulesForm, TimesForm
from training.scheduling.rows import Row, row_of, rows, spoken
from training.services import schedule as services


@login_required
@permission_required("training.change_rules", raise_exception=True)
@require_http_methods(["GET", "HEAD", "POST"])
def schedule(request: HttpRequest) -> HttpResponse:
    """GET lists what is scheduled; POST switches one task on or off, runs it now, or takes that back."""
    if request.method != "POST":
        return render(request, "training/schedule.html", {"rows": rows(timezone.now())})
    try:
        _do(request)
    except BankError as error:
        messages.error(request, error.sentence)
    return redirect("training_schedule")


def _do(request: HttpRequest) -> None:
    asked, now = request.POST, timezone.now()
    if task := asked.get("run"):
        pause = services.run_now(task, now=now)
        if pause:
            said = _("It begins in %(time)s; until then it can be undone.") % {"time": spoken(pause)}
        else:
            said = _("It is handed to the workers. The page Jobs shows how it goes.")
        messages.success(request, said)
    elif task := asked.get("undo"):
        if services.undo_run(task, now=now):
            messages.success(request, _("It does not run."))
        else:
            messages.error(request, _("It has begun already."))
    elif task := asked.get("on") or asked.get("off"):
        services.switch(task, enabled="on" in asked)


@login_required
@permission_required("training.change_rules", raise_exception=True)
@require_http_methods(["GET", "HEAD", "POST"])
def times(request: HttpRequest) -> HttpResponse:
    """When one task (`?task=`) runs."""
    row = row_of(request.GET.get("task", ""), timezone.now())
    if row is None or row.about.house:
        raise Http404(_("There is no such task in the schedule."))
    zone = timezone.get_current_timezone_name()
    form = TimesForm(request.POST or None, row=row, zone=zone, initial=_initial(row, zone))
    if request.method != "POST" or not form.is_valid():
        return render(request, "training/times.html", {"row": row, "form": form}, status=400 if form.errors else 200)
    told = form.cleaned_data
    services.change(row.about.task, cron=told["cron"], zone=told["zone"], enabled=told["enabled"])
    messages.success(request, _("“%(title)s” is saved.") % {"title": row.about.title})
    return redirect("training_schedule")


def _initial(row: Row, zone: str) -> dict[str, object]:
    text = cron.text_of(row.task.crontab) if row.task.crontab else ""
    return {"cron": text, "zone": row.zone or zone, "enabled": row.enabled}


@login_required
@permission_required("training.change_rules", raise_exception=True)
@require_http_methods(["GET", "HEAD", "POST"])
def rules(request: HttpRequest) -> HttpResponse:
    """By which rules labels are collected, runs started and adapters promoted."""
    form = RulesForm(request.POST or None, instance=Rules.in_force())
    if request.method != "POST" or not form.is_valid():
        return render(request, "training/rules.html", {"form": form}, status=400 if form.errors else 200)
    services.save_rules(form.save(commit=False))
    messages.success(request, _("The rules hold."))
    return redirect("training_rules")
