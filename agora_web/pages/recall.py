"""The page of one recall: what was asked, what came up and why, what was sent, and what would have been otherwise."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import ensure_csrf_cookie

from agents.past_prompts import PastTask, block_of, block_sent, past_task
from agora_web.pages import life_words, recall_words
from agora_web.pages.door import Door, reading
from agora_web.pages.recall_figures import MOST
from memory.charts.parts import plain_line
from memory.engine.types import State
from memory.figure_page import figure_page
from memory.models import Memory
from memory.rereading import CannotReread, Rereading, reread
from memory.services.turns import NotFound
from memory.thousands import counted
from memory.why import Shown, Why, archived_then, candidate_rows, why_of

EXCERPT = 110  # characters of a memory in a list of choices


@login_required
@ensure_csrf_cookie
@figure_page
def recall(request: HttpRequest, recall_id: UUID) -> HttpResponse:
    """One recall, and where `without` or `with` is asked for, the same read again."""
    without, back = (_uuid(request.GET.get(name, "")) for name in ("without", "with"))
    try:
        with reading(recall_id) as door:
            context = _context(why_of(recall_id), door, without, back)
    except NotFound as error:
        raise Http404(error.sentence) from error
    return render(request, "memory/recall.html", context)


def _context(why: Why, door: Door, without: UUID | None, back: UUID | None) -> dict[str, Any]:
    shown, recall_id = door.shown, why.trace.pk
    said = shown if not door.masked or not _forgotten_in(why) else _unsaid
    past, sent = past_task(why), block_sent(why, shown=shown)
    context: dict[str, Any] = {
        "why": why, "trace": why.trace, "turn": why.turn, "conversation": why.turn.conversation,
        "title": shown(why.turn.conversation.title), "opened": door.masked,
        "agent": past.agent if past else None, "cue": said(why.turn.observation), "action": said(why.turn.action),
        "previous": said(why.previous.observation) if why.previous else "",
        "facts": _counts(why), "timings": _timings(why), "whats": life_words.WHAT.items(),
        "sent": sent, "place": life_words.word(recall_words.PLACES, sent.place), "most": MOST,
        "constants": [(recall_words.signal(name), *pair) for name, pair in sorted(why.trace.normalisation.items())],
        "figures": [_figure("contributions", _("What the signals add"), recall_id),
                    _figure("floor", _("What passed the floor"), recall_id)],
        **_choices(why, shown), "without": without, "with": back,
    }  # fmt: skip
    if without or back:
        context |= _again(why, past, without, back, shown)
        context["reread_figure"] = _figure("reread", _("Weights, as they were and read again"), recall_id)
    return context


def _forgotten_in(why: Why) -> bool:
    """Whether a memory of what was said in these turns is being forgotten, so that an analyst may not read them."""
    turns = [why.turn.pk, *([why.previous.pk] if why.previous else [])]
    return Memory.objects.filter(sources__turn__in=turns, state=State.FORGOTTEN).exists()


def _unsaid(_text: str) -> str:
    return _("(kept back: a memory of it is being forgotten)")


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _figure(name: str, title: str, recall_id: UUID) -> dict[str, str]:
    return {"name": name, "title": title, "address": reverse(f"api_recall_{name}", args=[recall_id])}


def _counts(why: Why) -> list[tuple[str, Any]]:
    trace = why.trace
    return [
        (_("Candidates"), trace.candidates), (_("Below the floor"), trace.below_floor),
        (_("Cut by the budget"), trace.over_budget), (_("Handed on"), len(trace.recalled)),
        (_("In the prompt"), len(trace.injected)), (_("Cited"), len(trace.cited)),
    ]  # fmt: skip


def _timings(why: Why) -> list[tuple[str, float]]:
    found = {**why.turn.timings_ms, **why.trace.timings_ms}
    return [(str(name), found[stage]) for stage, name in recall_words.STAGES.items() if stage in found]


def _choices(why: Why, shown: Shown) -> dict[str, Any]:
    """What the recall can be read again without, and with."""
    rows = candidate_rows(why, shown=shown)
    named = [(row.memory, plain_line(row.text, EXCERPT), row.what) for row in rows if row.text]
    regretted = {UUID(row["memory"]) for row in why.trace.regretted}
    archived = [(memory, plain_line(text, EXCERPT)) for memory, text in archived_then(why, shown=shown)]
    return {
        "recalled_choices": [one for one in named if one[2] == "recalled"],
        "other_choices": [one for one in named if one[2] != "recalled"],
        "regretted_choices": [one for one in archived if one[0] in regretted],
        "archived_choices": [one for one in archived if one[0] not in regretted],
    }  # fmt: skip


def _again(why: Why, past: PastTask | None, without: UUID | None, back: UUID | None, shown: Shown) -> dict[str, Any]:
    try:
        found = reread(why, without=without, back=back, excluded=past.excluded if past else (frozenset(),))
    except CannotReread as error:
        return {"refused": error.sentence}
    assert found.after is not None
    blocks = None
    if past is not None:
        blocks = block_of(past, found.before, shown=shown), block_of(past, found.after, shown=shown)
    return {"reread": found, "how": _how(found), "blocks": blocks}


def _how(found: Rereading) -> str:
    """What the second reading leans on, in one sentence."""
    if found.exact:
        return _("Read again from the bank as it stood then: the first reading gives exactly what is stored.")
    if not found.then:
        return _("The ledger does not reach to that moment any more: both readings are of the bank as it is now.")
    if not found.adapter:
        return _("The adapter of that time is gone: both readings are by the one that serves now.")
    if found.gone:
        return _("The bank as it stood then lacks %(n)s of its memories, which were erased since: the first reading "
                 "differs from what is stored.") % counted({"n": found.gone})  # fmt: skip
    return _("The bank as it stood then, with the settings of now: the first reading differs from what is stored.")
