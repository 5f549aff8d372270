"""The pages of the policy lab: ask for a replay, watch it, cancel it, delete it. Its figures are in `lab_figures`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_http_methods
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agora_web.pages.lab_figures import FIGURES, adapter_name
from memory import lab as selectors
from memory.engine.retention import POLICIES
from memory.engine.types import BankError
from memory.figure_page import figure_page
from memory.models import LabReplay
from memory.services import lab as service
from memory.services.lab import Asked, asked_of
from memory.services.turns import NotFound
from memory.thousands import counted

USUAL_POLICIES, USUAL_BUDGETS = ["importance", "fifo", "random"], "10%, 25%, 50%, 75%"
SHOWN = 100
KINDS = {
    "": gettext_lazy("whatever serves each bank"), "shipped": gettext_lazy("comes with AGORA"),
    selectors.SHARED: gettext_lazy("trained here"), selectors.OWN: gettext_lazy("an own head of one of your banks"),
}  # fmt: skip


class LabForm(forms.Form):
    """What a replay is asked for with."""

    conversations = forms.MultipleChoiceField(
        label=gettext_lazy("Conversations"), widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("The more and the longer, the longer it takes: it runs in the background."),
    )  # fmt: skip
    policies = forms.MultipleChoiceField(
        label=gettext_lazy("Policies"), widget=forms.CheckboxSelectMultiple, required=False,
        choices=[(name, name) for name in POLICIES],
    )  # fmt: skip
    composed = forms.CharField(
        label=gettext_lazy("and composed ones"), required=False, max_length=1000,
        widget=forms.TextInput(attrs={"placeholder": "chains+floor(recent=6)+importance; merge+lru"}),
        help_text=gettext_lazy("Names as a bank’s configuration takes them, with “;” between two."),
    )  # fmt: skip
    budgets = forms.CharField(
        label=gettext_lazy("Budgets"), max_length=200,
        help_text=gettext_lazy(
            "Shares of what a conversation tells such as 25%, or numbers of memories, such as 200, with commas between."
        ),
    )  # fmt: skip
    adapters = forms.MultipleChoiceField(label=gettext_lazy("Adapters"), widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["conversations"].choices = [  # type: ignore[attr-defined]
            (str(one.pk), _titled(one)) for one in selectors.conversations_at_hand()
        ]
        self.fields["adapters"].choices = [  # type: ignore[attr-defined]
            (version, f"{adapter_name(version)} ({KINDS[kind]})")
            for version, kind in selectors.adapters_at_hand().items()
        ]

    def asked(self) -> Asked:
        """What the valid form says."""
        told = self.cleaned_data
        composed = [part.strip() for part in told["composed"].split(";") if part.strip()]
        budgets = [part.strip() for part in told["budgets"].split(",") if part.strip()]
        conversations = tuple(map(UUID, told["conversations"]))
        return Asked(conversations, (*told["policies"], *composed), tuple(budgets), tuple(told["adapters"]))


def _titled(one: Any) -> str:
    title = one.title or _("New conversation")
    return ngettext("%(title)s · %(n)s turn", "%(title)s · %(n)s turns", one.turn_count) % counted({
        "title": title, "n": one.turn_count,
    })  # fmt: skip


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def lab(request: HttpRequest) -> HttpResponse:
    """The person's replays, and the form that asks for another."""
    first = {"policies": USUAL_POLICIES, "budgets": USUAL_BUDGETS, "adapters": [selectors.BANKS],
             "conversations": request.GET.getlist("conversation")}  # fmt: skip
    form = LabForm(request.POST if request.method == "POST" else None, initial=first)
    if form.is_bound and form.is_valid():
        try:
            made = service.ask(form.asked(), owner_id=request.user.pk, now=timezone.now())  # type: ignore[arg-type]
        except BankError as error:
            form.add_error(None, error.sentence)
        else:
            return redirect("lab_replay", made.pk)
    replays = [_summed(one) for one in selectors.replays()[:SHOWN]]
    context = {"form": form, "replays": replays, "choices": bool(form.fields["conversations"].choices)}  # type: ignore[attr-defined]
    return render(request, "memory/lab.html", context, status=400 if form.errors else 200)


def _summed(one: LabReplay) -> dict[str, Any]:
    """A replay with what it was asked for, as the pages show it."""
    asked = asked_of(one)
    return {
        "row": one, "policies": asked.policies, "budgets": asked.budgets, "conversations": len(asked.conversations),
        "adapters": [adapter_name(version) for version in asked.adapters], "banks": asked.banks,
    }  # fmt: skip


@login_required
@ensure_csrf_cookie
@require_http_methods(["GET", "HEAD", "POST"])
@figure_page
def replay(request: HttpRequest, replay_id: UUID) -> HttpResponse:
    """One replay: how it goes, and its figures. POST cancels or deletes it."""
    try:
        one = selectors.replay(replay_id)
    except NotFound as error:
        raise Http404(error.sentence) from error
    if request.method == "POST":
        return _change(request, one)
    asked, there = asked_of(one), selectors.titles(asked_of(one).conversations)
    context: dict[str, Any] = {
        **_summed(one), "now": selectors.replay_json(one), "figures": _figures(replay_id),
        "titles": [(key, there.get(key) or _("New conversation")) for key in asked.conversations if key in there],
        "gone": len(asked.conversations) - len(there),
        "versions": [(version, adapter_name(version)) for version in asked.adapters],
    }  # fmt: skip
    return render(request, "memory/lab_replay.html", context)


def _change(request: HttpRequest, one: LabReplay) -> HttpResponse:
    verb = request.POST.get("do")
    try:
        if verb == "cancel":
            service.cancel(one.pk, now=timezone.now())
            messages.success(request, _("The replay is being cancelled. What it has found so far stays."))
        elif verb == "delete":
            service.delete(one.pk)
            messages.success(request, _("The replay is deleted."))
            return redirect("lab")
        else:
            return HttpResponse(status=400)
    except BankError as error:
        messages.error(request, error.sentence)
    return redirect("lab_replay", one.pk)


def _figures(replay_id: UUID) -> list[dict[str, Any]]:
    figures: list[dict[str, Any]] = [
        {"name": "evidence", "title": _("Evidence kept")},
        {"name": "regret", "title": _("Regret")},
        {"name": "missed", "title": _("What was missed"), "controls": "memory/lab_missed.html"},
    ]
    addresses = {figure.name: reverse(f"api_lab_{figure.name}", args=[replay_id]) for figure in FIGURES}
    return [{**one, "address": addresses[one["name"]]} for one in figures]


class ReplayState(APIView):
    """The replay as JSON, for pages whose socket is away."""

    def get(self, request: Request, replay_id: UUID) -> Response:
        return Response(selectors.replay_json(selectors.replay(replay_id)))
