"""What can be scheduled: for each task of beat its name, what it does, and how late it may be before somebody is told.

A row of beat's table whose task stands in no place here is nobody's to edit in the page, but is watched all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

GRACE = timedelta(minutes=15)
PAUSE = timedelta(minutes=1)  # between "Run now" and the work, where it moves memories: until then it can be undone


@dataclass(frozen=True)
class Scheduled:
    """One task that beat starts."""

    task: str
    title: Promise
    does: Promise
    grace: timedelta = GRACE
    house: bool = False  # keeps everything else going: always on, at a fixed pace
    moves: Promise | None = None  # what it may take out of banks; then "Run now" waits a minute


SCHEDULED: dict[str, Scheduled] = {
    one.task: one
    for one in (
        Scheduled(
            "training.retrain", _("Retraining"),
            _("Learns a new adapter from all labels, if there are new ones, and compares it with the one that serves."),
        ),
        Scheduled(
            "training.sweep", _("Hindsight"),
            _("Judges the sides of conversations that have come to rest by what their later turns used."),
        ),
        Scheduled(
            "training.score_silently", _("Shadow scoring"),
            _("Lets an adapter on trial score silently what was written and recalled, beside the one that serves."),
        ),
        Scheduled(
            "training.rescore_banks", _("Re-scoring"),
            _("Takes up the banks that a promotion has not reached yet, or that failed on the way."),
            moves=_("What then ranks lowest in a bank leaves for its archive."),
        ),
        Scheduled(
            "training.look_back_at_regrets", _("Regret report"),
            _("Counts what was evicted and missed later, for each policy and adapter, and what was then said again."),
        ),
        Scheduled(
            "training.choose_counterfactuals", _("Counterfactuals"),
            _("Picks replies to be scored again without one of their memories, as many a day as the rules allow."),
        ),
        Scheduled(
            "training.tend_queue", _("Labelling queue"),
            _("Keeps the queue filled in the shares that the rules set, and makes labels of complete reviews."),
        ),
        Scheduled(
            "memory.summaries", _("Summaries"),
            _("Makes one short memory of each old session that left a bank, in its own sentences, with its sources."),
            moves=_("A summary takes its place in the bank; what then ranks lowest leaves for the archive."),
        ),
        Scheduled(
            "memory.milestones", _("Summaries of milestones"),
            _("The same for all sessions up to a turn whose outcome is known, or for five where no outcome is."),
            moves=_("A summary takes its place in the bank; what then ranks lowest leaves for the archive."),
        ),
        Scheduled(
            "memory.check", _("Outdated memories"),
            _("Looks for memories that a newer one contradicts, and marks them for their person. Nothing is evicted."),
        ),
        Scheduled(
            "training.retrain_after", _("New labels"),
            _("Starts a training as soon as as many labels are new as the rules ask for."),
            grace=timedelta(minutes=20), house=True,
        ),
        Scheduled(
            "memory.run_due_jobs", _("Jobs that are due"),
            _("Wakes the workers for jobs whose time has come, and for those whose worker fell silent."),
            grace=timedelta(minutes=5), house=True,
        ),
        Scheduled(
            "memory.sweep", _("Caretaking"),
            _("Ends turns whose server is gone, sees that what was forgotten is erased, and clears away old jobs."),
            grace=timedelta(minutes=2), house=True,
        ),
    )
}  # fmt: skip
