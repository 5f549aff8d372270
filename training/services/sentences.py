"""What people are told of runs: why one failed, what came out, what is missing for the next."""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.thousands import counted
from training.learner import failures
from training.learner.cue_training import RECALL
from training.learner.dataset import DatasetUnreadable
from training.learner.evaluate import Evaluation

KIND_NAMES: Mapping[str, Promise] = {
    "two_people": gettext_lazy("conversations of two people"),
    "user_assistant": gettext_lazy("chats with an assistant"),
    "tool_use": gettext_lazy("agents that use tools"),
}


MODE_NAMES: Mapping[str, Promise] = {
    "asking": gettext_lazy("cues that ask"),
    "telling": gettext_lazy("cues that tell"),
    "unread": gettext_lazy("cues in a script that the encoder cannot read"),
}
# Whatever a report speaks of: kinds of conversation, modes of cues, and recall as a whole.
NAMES: Mapping[str, Promise] = {
    **KIND_NAMES, **MODE_NAMES, RECALL: gettext_lazy("which memories fit a cue"),
}  # fmt: skip
# What a report measures of champion and challenger, and what may not be lost.
METRICS: Mapping[str, Promise] = {
    "ranking": gettext_lazy("pairs in the right order"),
    "kept": gettext_lazy("needed memories among the best fifth"),
    "pairs": gettext_lazy("comparisons in the right order"),
    "fitting": gettext_lazy("fitting memories ahead of others"),
    "attended": gettext_lazy("mean weight on what fitted"),
}
GUARDS: Mapping[str, Promise] = {
    "own": gettext_lazy("held-out conversations"),
    "public": gettext_lazy("public conversations"),
    "floor": gettext_lazy("what fitted and passes the floor"),
}


def missing_sentence(missing: Mapping[str, int]) -> str:
    """How many judgements each kind lacks."""
    parts = [
        ngettext("%(n)s of %(kind)s", "%(n)s of %(kind)s", n) % counted({"n": n, "kind": NAMES[kind]})
        for kind, n in sorted(missing.items(), key=lambda one: one[1])
    ]
    return _("Too few judgements to learn from. Missing are: %(parts)s; one kind is enough.") % {
        "parts": _(", or ").join(parts)
    }


def failure_sentence(error: BaseException) -> str:
    """Why a run ended, or was held up, in a sentence that says what to do."""
    match error:
        case failures.TooFewLabels():
            return missing_sentence(error.missing)
        case failures.TooFewConversations():
            return _(
                "The judgements come from %(have)s conversations; %(need)s are needed, so that some can be held out. "
                "Label memories of other conversations too."
            ) % counted({"have": error.have, "need": error.need})
        case failures.ClassMissing():
            which = _("high") if error.high else _("low")
            return _("All judgements of %(kind)s are %(which)s: judge some the other way too.") % {
                "kind": NAMES[error.kind], "which": which,
            }  # fmt: skip
        case failures.NotANumber():
            return _("The snapshot holds a value that is no number. Nothing was trained; ask for a new run.")
        case failures.Diverged():
            return _("The weights ran away instead of settling. Nothing was stored; try another seed.")
        case DatasetUnreadable():
            return _("The snapshot of this run is damaged. Ask for a new run.")
    if isinstance(error.__cause__, psycopg.errors.DiskFull):
        return _("The disk of the database is full. Make room: the run is tried again by itself.")
    return _("The database could not be reached or could not write. The run is tried again by itself.")


def outcome_sentence(found: Evaluation, verdict: str, confidence: float) -> str:
    """What came out of a run."""
    if not found.moved:
        return _("The judgements rank no better than what serves already, so there is no challenger.")
    sure = _("%(n)d percent") % {"n": found.better * 100}
    if found.better > 0.99:  # a bootstrap has an end: it cannot say more
        sure = _("more than 99 percent")
    values = {"sure": sure, "asked": _("%(n)d percent") % {"n": confidence * 100}}
    if verdict == "better":
        return _("The challenger ranks held-out conversations better, with a confidence of %(sure)s.") % values
    if verdict == "guarded":
        names = [str(NAMES[guard.kind]) for guard in found.guards if not guard.ok]
        return _(
            "The challenger ranks held-out conversations better (%(sure)s), but loses too much on %(kinds)s."
        ) % {**values, "kinds": _(", ").join(dict.fromkeys(names))}  # fmt: skip
    return _("That the challenger is better is only %(sure)s sure; %(asked)s are asked for.") % values
