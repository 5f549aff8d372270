"""What is looked after regularly, over everybody's rows: found as the sweeping role, changed as each owner."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from memory.engine.types import State
from memory.models import Conversation, Job, JobState, Memory, Recall, Turn
from memory.models.conversation import OPEN_STATES
from memory.services import conversations, memories
from memory.services.jobs import enqueue, handles
from memory.services.recalls import regretted_by
from memory.services.turns import interrupt_silent
from memory.tenancy import acting_as

KEEP_DONE_JOBS = timedelta(days=7)


def interrupt_silent_turns(now: datetime) -> int:
    """End every turn whose server is gone. Returns how many."""
    silent = Turn.objects.using("worker").filter(
        state__in=OPEN_STATES, heartbeat_at__lt=now - timedelta(seconds=settings.HEARTBEAT_SECONDS)
    )
    ended = 0
    for owner in set(silent.values_list("owner_id", flat=True)):
        with acting_as(owner):
            ended += len(interrupt_silent(now))
    return ended


def catch_up_with_erasure(now: datetime) -> None:
    """See that what is to be erased has its job: a process can die between a commit and the next."""
    overdue = now - timedelta(minutes=1)
    memories_due = Memory.objects.using("worker").filter(state=State.FORGOTTEN, forgotten_until__lt=overdue)
    conversations_due = Conversation.objects.using("worker").filter(forgotten_until__lt=overdue)
    for kind, due in (("memory.erase", memories_due), ("memory.erase_conversation", conversations_due)):
        for key, owner in due.values_list("pk", "owner_id")[:500]:
            with acting_as(owner):
                enqueue(kind, str(key), owner_id=owner)


def forget_old_jobs(now: datetime) -> None:
    """Take away the rows of jobs done or cancelled a week ago; failed ones stay until somebody looked."""
    over = (JobState.DONE, JobState.CANCELLED)
    Job.objects.using("worker").filter(state__in=over, finished_at__lt=now - KEEP_DONE_JOBS).delete()


@handles("memory.erase")
def erase_forgotten(key: str) -> None:
    """The undo window of a forgotten memory is over: erase it, unless it was brought back or forgotten anew."""
    memory = Memory.objects.filter(pk=UUID(key), state=State.FORGOTTEN).only("forgotten_until").first()
    if memory is not None and memory.forgotten_until and memory.forgotten_until <= timezone.now():
        memories.erase(UUID(key), now=timezone.now())


@handles("memory.erase_conversation")
def erase_forgotten_conversation(key: str) -> None:
    """The same for a conversation."""
    conversations.erase_conversation(UUID(key), now=timezone.now())


@handles("memory.score_archive")
def score_archive(key: str) -> None:
    """Score the archive for one past cue: what it would have recalled, had it not been evicted (regret)."""
    trace = Recall.objects.select_related("turn", "bank__space").filter(pk=UUID(key)).first()
    if trace is not None:
        trace.regretted = regretted_by(trace)
        trace.save(update_fields=["regretted"])
