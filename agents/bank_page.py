"""The page of one's own bank: its settings, what others would do to it, and their undoing. Parse, call, answer."""

from __future__ import annotations

from copy import copy
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from agents import selectors, services
from agents.models import Seat
from memory import selectors as memory
from memory.engine.types import BankError
from memory.forms import BankForm
from memory.services.banks import BankConfiguration, open_to_analysts
from memory.services.rebudget import Applied, Preview, PreviewStale, Promise, preview_change
from memory.services.turns import NotFound
from memory.thousands import counted

SHOWN = 500  # of what would leave; the page says how many more there are
LOOKS_SHOWN = 30  # likewise
SALT = "change of a bank"
PROMISE_SECONDS = 3600
FIGURES = ("held", "archived", "tokens", "budget_memories", "budget_tokens")
UNDO = "undo_bank"  # in the session: what undoing the last change needs


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def bank(request: HttpRequest, bank_id: UUID) -> HttpResponse:
    """GET shows the settings; POST previews others, applies or takes back what was previewed, opens to analysts."""
    try:
        seat = selectors.seat_at(bank_id)
    except NotFound as error:
        raise Http404(error.sentence) from error
    if request.method != "POST":
        started = vars(services.configuration_of(seat.agent)) if "agent" in request.GET else None
        return _page(request, seat, BankForm(instance=seat.bank, initial=started))
    if "undo" in request.POST:
        return _undo(request, seat)
    if "analysts" in request.POST:
        return _analysts(request, seat, request.POST["analysts"] == "open")
    if "promise" in request.POST:
        return _apply(request, seat)
    form = BankForm(request.POST, instance=copy(seat.bank))  # a form writes into what it is given
    if not form.is_valid():
        return _page(request, seat, form, status=400)
    return _preview(request, seat, form, form.configuration())


def _preview(
    request: HttpRequest, seat: Seat, form: BankForm, wanted: BankConfiguration, *, status: int = 200
) -> HttpResponse:
    try:
        seen = preview_change(seat.bank_id, wanted, now=timezone.now())
    except BankError as error:
        if form.is_bound:
            form.add_error(None, error.sentence)
        else:
            messages.error(request, error.sentence)
        return _page(request, seat, form, status=409)
    return _page(request, seat, form, seen, status=status)


def _apply(request: HttpRequest, seat: Seat) -> HttpResponse:
    """Keep the promise of a preview; where it cannot be kept, show a new preview of the same settings."""
    try:
        promise = _promised(request.POST["promise"], seat)
    except signing.BadSignature:
        messages.error(request, _("This preview is too old. Preview the settings again."))
        return redirect("bank", seat.bank_id)
    try:
        applied = services.change_bank(seat, promise, now=timezone.now())
    except PreviewStale as error:
        messages.warning(request, error.sentence)
        form = BankForm(instance=seat.bank, initial=vars(promise.configuration))
        return _preview(request, seat, form, promise.configuration, status=409)
    except BankError as error:
        messages.error(request, error.sentence)
        return redirect("bank", seat.bank_id)
    request.session[UNDO] = _undo_note(seat, applied)
    left = ngettext("%(n)s memory has left for the archive.", "%(n)s memories have left for the archive.", applied.left)
    messages.success(
        request, _("The settings hold.") + (f" {left % counted({'n': applied.left})}" if applied.left else "")
    )
    return redirect("bank", seat.bank_id)


def _undo(request: HttpRequest, seat: Seat) -> HttpResponse:
    note = _undoable(request, seat)
    if note is None:
        messages.error(request, _("There is nothing to undo any more."))
        return redirect("bank", seat.bank_id)
    applied = Applied(BankConfiguration(**note["former"]), note["before"], note["after"], note["left"])
    try:
        back = services.undo_bank_change(seat, applied, own_settings=note["own"], now=timezone.now())
    except BankError as error:
        messages.error(request, error.sentence)
        return redirect("bank", seat.bank_id)
    del request.session[UNDO]
    came = ngettext("%(n)s memory is back.", "%(n)s memories are back.", back) % counted({"n": back})
    messages.success(request, _("The former settings hold again.") + (f" {came}" if back else ""))
    return redirect("bank", seat.bank_id)


def _analysts(request: HttpRequest, seat: Seat, open_: bool) -> HttpResponse:
    open_to_analysts(seat.bank_id, open_)
    opened, closed = _("Open to analysts."), _("Closed: no analyst sees it any more.")
    messages.success(request, opened if open_ else closed)
    return redirect("bank", seat.bank_id)


def _page(
    request: HttpRequest, seat: Seat, form: BankForm, seen: Preview | None = None, *, status: int = 200
) -> HttpResponse:
    fill = memory.bank_json(seat.bank)
    context: dict[str, Any] = {
        "seat": seat, "form": form, "undo": _undoable(request, seat),
        "fill": {name: figure(fill[name]) for name in FIGURES},
        "undo_minutes": settings.UNDO_MINUTES, "served": memory.served_by(seat.bank),
    }  # fmt: skip
    looks = memory.looks_at(seat.bank_id)
    context |= {"looks": looks[:LOOKS_SHOWN], "more_looks": max(0, looks.count() - LOOKS_SHOWN)}
    if seen is not None:
        plan = seen.plan
        context |= {
            "seen": seen, "plan": plan, "leaving": plan.leaving[:SHOWN], "more": max(0, len(plan.leaving) - SHOWN),
            "promise": _signed(seen.promise, seat), "stays": figure(plan.stays),
            "stays_tokens": figure(plan.stays_tokens), "freed_tokens": figure(plan.freed_tokens),
            "most": figure(seen.promise.configuration.budget_memories),
            "most_tokens": figure(seen.promise.configuration.budget_tokens),
        }  # fmt: skip
    return render(request, "memory/bank.html", context, status=status)


def figure(number: int) -> str:
    """A number as a person reads it, in the language of the page."""
    return number_format(number, force_grouping=True)


def _signed(promise: Promise, seat: Seat) -> str:
    """A promise as the page carries it: nobody can change it, or use it on another bank."""
    told = {
        "bank": str(seat.bank_id), "configuration": vars(promise.configuration), "seq": promise.seq,
        "at": promise.at.isoformat(), "digest": promise.digest,
    }  # fmt: skip
    return signing.dumps(told, salt=SALT)


def _promised(text: str, seat: Seat) -> Promise:
    """Raises `BadSignature` for what is forged, too old, or of another bank."""
    told = signing.loads(text, salt=SALT, max_age=PROMISE_SECONDS)
    if told["bank"] != str(seat.bank_id):
        raise signing.BadSignature("of another bank")
    at = datetime.fromisoformat(told["at"])
    return Promise(BankConfiguration(**told["configuration"]), told["seq"], at, told["digest"])


def _undo_note(seat: Seat, applied: Applied) -> dict[str, Any]:
    until = timezone.now() + timedelta(minutes=settings.UNDO_MINUTES)
    return {
        "bank": str(seat.bank_id), "former": vars(applied.former), "before": applied.before, "after": applied.after,
        "left": applied.left, "own": seat.own_settings, "until": until.isoformat(),
    }  # fmt: skip


def _undoable(request: HttpRequest, seat: Seat) -> dict[str, Any] | None:
    """The last change of this bank, while it can be taken back."""
    note: dict[str, Any] | None = request.session.get(UNDO)
    if note is None or note["bank"] != str(seat.bank_id):
        return None
    return note if datetime.fromisoformat(note["until"]) > timezone.now() else None
