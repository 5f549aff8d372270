"""The registry page: which adapters there are, what serves, what was promoted. Parse, call a service, answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods

from memory.adapters import AdapterMissing, adapter_named
from memory.engine.adapter_file import MANIFEST, WEIGHTS, AdapterUnreadable, packed
from memory.engine.text import clean_text
from memory.engine.types import BankError
from memory.figure_page import figure_page
from memory.models import AdapterVersion
from memory.thousands import counted
from training import adapter_figures, drift_figures, registry
from training.models import Promotion, PromotionMode, Rules, RunState, TrainingRun
from training.services import promotions, rescoring, shadows

VIEW, PROMOTE = "training.view_promotion", "training.add_promotion"
LONGEST_REASON = 1_000


@login_required
@permission_required(VIEW, raise_exception=True)
@require_http_methods(["GET", "HEAD", "POST"])
@figure_page
def adapters(request: HttpRequest) -> HttpResponse:
    """GET shows the registry; POST does one thing, named by `do`."""
    if request.method == "POST":
        return _do(request)
    shadow = promotions.shadowing()
    context = {
        "versions": registry.versions(), "changes": registry.changes(), "shadow": shadow,
        "agreement": shadows.agreement(shadow) if shadow else [], "rules": Rules.in_force(),
        "may_promote": request.user.has_perm(PROMOTE), "figures": adapter_figures.cards(),
        "drift": drift_figures.cards(), "drift_choices": drift_figures.choices(),
    }  # fmt: skip
    return render(request, "training/adapters.html", context)


def _do(request: HttpRequest) -> HttpResponse:
    verb = VERBS.get(request.POST.get("do", ""))
    if not request.user.has_perm(PROMOTE):
        return HttpResponse(status=403)
    if verb is None:
        return HttpResponse(status=400)
    try:
        messages.success(request, verb(request))
    except BankError as error:
        messages.error(request, error.sentence)
    return redirect("training_adapters")


def _promote(request: HttpRequest, mode: str = PromotionMode.SERVE) -> str:
    version = request.POST.get("version", "")
    runs = TrainingRun.objects.filter(challenger=version, state=RunState.DONE)
    reason = clean_text(request.POST.get("reason", "")).strip()[:LONGEST_REASON]
    made = promotions.promote(
        runs.order_by("-created_at").first() or version, by=request.user.pk, reason=reason, mode=mode,
        now=timezone.now(),
    )  # fmt: skip
    return _("%(version)s serves from now on. The banks follow one by one.") % {"version": made.adapter_id}


def _shadow(request: HttpRequest) -> str:
    _promote(request, PromotionMode.SHADOW)
    return _("It scores silently from now on. Nothing else changes.")


def _roll_back(request: HttpRequest) -> str:
    made = promotions.roll_back(_promotion(request), by=request.user.pk, now=timezone.now())
    if made.mode == PromotionMode.SHADOW:
        return _("It scores no more.")
    return _("%(version)s serves again. The banks go back one by one.") % {"version": made.former_id}


def _again(request: HttpRequest) -> str:
    made = promotions.promote_again(_promotion(request), by=request.user.pk, now=timezone.now())
    return _("%(version)s serves from now on. The banks follow one by one.") % {"version": made.adapter_id}


def _retry(request: HttpRequest) -> str:
    promotion = Promotion.objects.filter(pk=_promotion(request)).first()
    n = rescoring.ask_again(promotion, using="default") if promotion else 0
    return ngettext("%(n)s bank is tried again.", "%(n)s banks are tried again.", n) % counted({"n": n})


VERBS: dict[str, Callable[[HttpRequest], str]] = {
    "promote": _promote, "shadow": _shadow, "roll_back": _roll_back, "again": _again, "retry": _retry,
}  # fmt: skip


def _promotion(request: HttpRequest) -> UUID:
    """The id in the form; one that is none names no promotion."""
    try:
        return UUID(request.POST.get("promotion", ""))
    except ValueError:
        return UUID(int=0)


@login_required
@permission_required(PROMOTE, raise_exception=True)
@require_GET
def adapter_file(request: HttpRequest) -> HttpResponse:
    """One shared version as a file: the weights as safetensors beside their manifest. A head of a bank's own stays."""
    version = request.GET.get("version", "")
    row = AdapterVersion.objects.filter(version=version).first()
    if not version or (row is not None and row.manifest.get("kind") == "own"):
        raise Http404(_("There is no such adapter."))
    try:
        adapter = adapter_named(version)
    except (AdapterMissing, AdapterUnreadable) as error:
        raise Http404(error.sentence) from error
    if row is not None and row.weights:
        data, manifest = bytes(row.weights), row.manifest
    else:
        data, manifest = packed(adapter, {})
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr(WEIGHTS, data)
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    name = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in version)
    return HttpResponse(
        file.getvalue(), content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}.zip"'},
    )  # fmt: skip
