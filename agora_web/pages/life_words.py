"""What the pages of a conversation's memory call kinds, reasons and places."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

GROUPS: dict[str, str | Promise] = {
    "user": _("said by the person"),
    "assistant": _("said by the agent"),
    "tool": _("from a tool"),
    "other": _("said by others"),
    "summary": _("summary"),
    "merged": _("merged"),
}
REASONS: dict[str, str | Promise] = {
    "held": _("in the bank"),
    "budget": _("the bank was full"),
    "threshold": _("worth too little"),
    "merged": _("merged with others"),
    "withdrawn": _("its message was edited"),
    "twin": _("the same words are held"),
    "forgotten": _("forgotten"),
    "erased": _("erased"),
}
HOW: dict[str, str | Promise] = {
    "written": _("written"),
    "restored": _("restored"),
    "restored.asked": _("restored by its person"),
    "restored.retold": _("told again"),
    "restored.undone": _("a change was undone"),
    "restored.unmerged": _("taken out of a merge"),
    "unforgotten": _("no longer forgotten"),
}
WHAT: dict[str, str | Promise] = {
    "recalled": _("recalled"),
    "near": _("no room left"),
    "below": _("below the floor"),
}
STATES: dict[str, str | Promise] = {
    "held": _("in the bank"),
    "pinned": _("pinned"),
    "archived": _("in the archive"),
    "forgotten": _("forgotten"),
    "erased": _("erased"),
    "": _("not written yet"),
}
CHANGES: dict[str, str | Promise] = {"came": _("came"), "left": _("left"), "": ""}


def word(names: dict[str, str | Promise], name: str | None) -> str:
    """A name in words; one that is not known says itself."""
    return "" if name is None else str(names.get(name, name))


def group(name: str) -> str:
    return word(GROUPS, name)


def reason(name: str) -> str:
    return word(REASONS, name)


def how(name: str) -> str:
    return word(HOW, name)


def what(name: str) -> str:
    return word(WHAT, name)


def state(name: str) -> str:
    return word(STATES, name)


def change(name: str) -> str:
    return word(CHANGES, name)


def place(name: str) -> str:
    """Where a memory is: a reason of the archive, or a state."""
    if name in ("held", "pinned", "forgotten", "erased"):
        return word(STATES, name)
    return str(_("archived: %(reason)s") % {"reason": word(REASONS, name)})
