"""The page of one memory: its words in context, its scores, every recall it took part in, and what happened to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import ensure_csrf_cookie

from agora_web.pages import life_words, recall_words
from agora_web.pages.door import Door, reading
from memory import selectors
from memory.figure_page import figure_page
from memory.kin import kin
from memory.models import Recall
from memory.services.turns import NotFound
from memory.story import Story, Telling, score_rows, story_of, tellings
from training.models import Label


@login_required
@ensure_csrf_cookie
@figure_page
def memory(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """All that is known of one memory, and what its person can do with it."""
    try:
        with reading(memory_id) as door:
            context = _context(story_of(memory_id), door)
    except NotFound as error:
        raise Http404(error.sentence) from error
    return render(request, "memory/memory.html", context)


def _context(story: Story, door: Door) -> dict[str, Any]:
    shown, memory_id = door.shown, story.memory.pk
    row = selectors.memory_json(story.memory)
    adapters = Recall.objects.filter(bank=story.bank).values_list("adapter", flat=True)
    scored = {one.adapter for one in score_rows(story)}
    return {
        "opened": door.masked, "memory": story.memory, "row": {**row, "text": shown(row["text"])},
        "kind": life_words.group(story.memory.kind if story.memory.kind != "side" else story.memory.role),
        "reason": recall_words.reason(story.memory.archive_reason), "state": life_words.state(story.memory.state),
        "tellings": [(one, life_words.word(recall_words.TOLD_HOW, one.how)) for one in _tellings(story, door)],
        "kin": [(one, life_words.word(recall_words.KIN, one.how)) for one in kin(story, shown=shown)],
        "labels": _labels(story), "whats": life_words.WHAT.items(),
        "adapters": sorted({*adapters.distinct(), *scored}),
        "figures": [_figure("scores", _("How important it is, by adapter"), memory_id),
                    _figure("recalls", _("Every recall that weighed it"), memory_id),
                    _figure("happened", _("What happened to it"), memory_id)],
    }  # fmt: skip


def _tellings(story: Story, door: Door) -> list[Telling]:
    """Where the memory comes from; behind the door nobody is named, and what was said around it stays its person's:
    it may be the words of a memory that they had forgotten."""
    found = tellings(story, shown=door.shown)
    if not door.masked:
        return found
    return [
        replace(one, title=door.shown(one.title), sides=door.rows([side for side in one.sides if side.itself]))
        for one in found
    ]


def _figure(name: str, title: str, memory_id: UUID) -> dict[str, str]:
    return {"name": name, "title": title, "address": reverse(f"api_memory_{name}", args=[memory_id])}


def _labels(story: Story) -> Sequence[dict[str, Any]]:
    """What was judged of the memory, newest first; nothing while it is being forgotten."""
    labels = Label.objects.filter(memory=story.memory.pk).order_by("-at").values("about", "value", "weight", "source",
                                                                                 "reason", "at", "recall")  # fmt: skip
    return [{**one, "source": life_words.word(recall_words.SOURCES, one["source"])} for one in labels]
