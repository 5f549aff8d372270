"""What the pages of one recall and of one memory call signals, places and events."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from agora_web.pages.life_words import HOW, REASONS, word
from training.models import Source

SIGNALS: dict[str, str | Promise] = {
    "cosine": _("Same meaning"),
    "lexical": _("Same words"),
    "cosine_previous": _("Meaning just before it"),
    "cosine_next": _("Meaning just after it"),
    "lexical_previous": _("Words just before it"),
    "lexical_next": _("Words just after it"),
    "speaker_named": _("Its speaker is named"),
    "is_question": _("It is a question"),
    "assistant_said": _("The agent said it"),
    "tool_said": _("A tool said it"),
    "pinned": _("Pinned"),
    "formed": _("Made of others"),
    "recency": _("Recent"),
    "age": _("Age"),
    "date_agreement": _("Its date is meant"),
    "length": _("Length"),
    "numbers": _("It has numbers"),
    "dated": _("It has a date"),
    "when_dated": _("When is asked, it has a date"),
    "when_speaker": _("When is asked, its speaker is named"),
    "count_numbers": _("How many is asked, it has numbers"),
    "importance": _("Importance"),
    "recalled": _("Recalled often"),
    "similarity": _("Likeness in meaning"),
    "coverage": _("Share of the words asked in it"),
    "interplay": _("Signals together"),
    "others": _("Other signals"),
}
GROUPS: dict[str, str | Promise] = {
    "highly": _("highly relevant"),
    "maybe": _("maybe relevant"),
    "below": _("below the floor"),
}
STAGES: dict[str, str | Promise] = {
    "encode": _("encoding the cue"),
    "recall": _("reading the bank"),
    "llm": _("answering"),
    "remember": _("remembering"),
}
HAPPENED: dict[str, str | Promise] = {
    "written": _("written"),
    "told": _("told again"),
    "evicted": _("left the bank"),
    "restored": _("restored"),
    "pinned": _("pinned"),
    "unpinned": _("unpinned"),
    "forgotten": _("forgotten"),
    "unforgotten": _("no longer forgotten"),
    "rescored": _("scored anew"),
}
REASON: dict[str, str | Promise] = {
    **REASONS,
    "asked": HOW["restored.asked"],
    "retold": _("in the same words"),
    "undone": HOW["restored.undone"],
    "unmerged": HOW["restored.unmerged"],
}
TOLD_HOW: dict[str, str | Promise] = {
    "written": _("it was written here"),
    "retold": _("told again here"),
    "merged": _("told here in nearly the same words"),
    "formed": _("a part of it was told here"),
}
KIN: dict[str, str | Promise] = {
    "part": _("Part of this memory"),
    "whole": _("Holds this memory's words"),
    "older": _("This memory says otherwise than an older one"),
    "newer": _("A newer memory says otherwise"),
}
SCORED: dict[str, str | Promise] = {"written": _("when it was written"), "rescored": _("scored anew")}
OVER: dict[str, str | Promise] = {"memories": _("memories"), "tokens": _("tokens"), "": ""}
PLACES: dict[str, str | Promise] = {
    "system_after": _("It stood in a message of its own, before the conversation."),
    "user_turn": _("It stood above the question, with at most two memories."),
    "none": "",
}
SOURCES: dict[str, str | Promise] = {source.value: source.label for source in Source}


def signal(name: str) -> str:
    return word(SIGNALS, name)


def group(name: str) -> str:
    return word(GROUPS, name)


def happened(name: str) -> str:
    return word(HAPPENED, name)


def reason(name: str) -> str:
    return word(REASON, name)


def scored(name: str) -> str:
    return word(SCORED, name)


def over(name: str) -> str:
    return word(OVER, name)
