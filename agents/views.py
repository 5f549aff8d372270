"""Pages: the chat, what an agent knows about a person, and the administrator's agents."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import ensure_csrf_cookie

from agents.forms import AgentForm
from agents.labelling import close_soon
from agents.models import Agent, Seat
from memory import selectors as memory
from memory.receipts import receipts
from memory.services.turns import NotFound


@login_required
@ensure_csrf_cookie
def chat(request: HttpRequest, conversation_id: UUID | None = None) -> HttpResponse:
    """The frame of the chat; its script fetches the rest."""
    if conversation_id:
        try:
            memory.conversation(conversation_id)
        except NotFound as error:
            raise Http404(error.sentence) from error
    return render(request, "agents/chat.html", {"conversation_id": conversation_id})


@login_required
@ensure_csrf_cookie
def memories(request: HttpRequest) -> HttpResponse:
    """What does this agent know about me?"""
    return render(request, "memory/memories.html")


@login_required
def erased(request: HttpRequest) -> HttpResponse:
    """One's receipts: what was erased when, and what had learned from it."""
    agents = dict(Seat.objects.values_list("bank", "agent__name"))
    rows = [(one, agents.get(one.row.bank_id, "")) for one in receipts()]
    return render(request, "memory/erasures.html", {"receipts": rows})


@login_required
@permission_required("agents.view_agent", raise_exception=True)
def agents(request: HttpRequest) -> HttpResponse:
    return render(request, "agents/agents.html", {"agents": Agent.objects.all()})


@login_required
@permission_required("agents.change_agent", raise_exception=True)
def agent_form(request: HttpRequest, agent_id: UUID | None = None) -> HttpResponse:
    """Make or change an agent. Banks in use follow at their next turn."""
    agent = Agent.objects.filter(pk=agent_id).first() if agent_id else None
    if agent_id and agent is None:
        raise Http404
    form = AgentForm(request.POST or None, instance=agent)
    if request.method == "POST" and form.is_valid():
        saved = form.save()
        if "labelling" in form.changed_data and not saved.labelling:
            close_soon(saved)
        messages.success(request, _("%(name)s is saved.") % {"name": saved.name})
        return redirect("agents")
    return render(request, "agents/agent_form.html", {"form": form, "agent": agent}, status=400 if form.errors else 200)
