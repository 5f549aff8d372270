"""The policy lab as a job: asked for, carried out by the training worker, cancelled, deleted.

It reads a person's conversations and changes nothing but its own two tables. The results of one conversation under one
adapter are written at once, so that whatever ends the work, the next worker goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

import regex
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.adapters import AdapterMissing, adapter_named, adapter_of
from memory.engine.adapter import Adapter
from memory.engine.replay import Step
from memory.engine.retention import policy_named
from memory.engine.types import BankError, Budget
from memory.lab import BANKS, adapters_at_hand
from memory.models import Conversation, LabReplay, LabResult, LabState
from memory.services import live
from memory.services.jobs import current_job, enqueue, handles
from memory.services.lab_results import Counted, result_of
from memory.services.replays import Story, stored_conversation
from memory.services.turns import NotFound
from memory.tenancy import acting_as

JOB = "memory.lab"
WATCHED = "replay"  # as its pages watch it
OPEN = (LabState.PENDING, LabState.RUNNING)
MOST = {"conversations": 12, "policies": 12, "budgets": 10, "adapters": 4}
MOST_BANKS = 480  # conversations by policies by budgets by adapters: an hour of a slow processor
MOST_OPEN = 3  # replays of one person that wait or run
BEAT_S = 1.0  # between two signs of life, at least
READING, NEEDING = 0.3, 0.1  # shares of the work on a conversation, at a guess: the rest goes to the banks
_BUDGET = regex.compile(r"(\d{1,6})|(\d{1,3}(?:[.]\d)?) ?%")


class LabRefused(BankError):
    """A replay cannot be asked for, or cancelled; the sentence says why."""


class _Cancelled(Exception):
    """Its person has cancelled or deleted it."""


@dataclass(frozen=True)
class Asked:
    """What a replay is asked for with."""

    conversations: tuple[UUID, ...]
    policies: tuple[str, ...]
    budgets: tuple[str, ...]  # "25%" of what a conversation tells, or "200" memories
    adapters: tuple[str, ...] = (BANKS,)  # versions; `BANKS` is whatever serves the bank

    @property
    def banks(self) -> int:
        """How many private banks are told a conversation."""
        return len(self.conversations) * len(self.policies) * len(self.budgets) * len(self.adapters)


def asked_of(replay: LabReplay) -> Asked:
    """What a stored replay was asked for with."""
    told = {field.name: tuple(replay.asked[field.name]) for field in fields(Asked)}
    return Asked(**{**told, "conversations": tuple(map(UUID, told["conversations"]))})


def checked(asked: Asked) -> Asked:
    """The same with policies and budgets spelled in one way, each once. Raises `LabRefused` and `PolicyError`."""
    policies = dict.fromkeys(policy_named(one).name for one in asked.policies)
    budgets = dict.fromkeys(map(_spelled, asked.budgets))
    found = Asked(
        tuple(dict.fromkeys(asked.conversations)), tuple(policies), tuple(budgets), tuple(dict.fromkeys(asked.adapters))
    )
    for name, missing in (
        ("conversations", _("Choose at least one conversation.")),
        ("policies", _("Choose at least one policy.")),
        ("budgets", _("Name at least one budget, such as 25% or 200.")),
        ("adapters", _("Choose at least one adapter.")),
    ):
        if not getattr(found, name):
            raise LabRefused(missing)
    if any(len(getattr(found, name)) > most for name, most in MOST.items()) or found.banks > MOST_BANKS:
        raise LabRefused(
            _("That is too much for one replay: at most %(conversations)d conversations, %(policies)d policies, "
              "%(budgets)d budgets and %(adapters)d adapters, and %(banks)d banks in all.") % {**MOST,
                                                                                              "banks": MOST_BANKS}
        )  # fmt: skip
    return found


def _spelled(budget: str) -> str:
    """A budget in one spelling. Raises `LabRefused`."""
    found = _BUDGET.fullmatch(budget.strip())
    value = float(found[1] or found[2]) if found else 0.0
    if found is None or value <= 0 or (found[2] and value > 100):
        raise LabRefused(
            _("“%(budget)s” is no budget. Write a share such as 25%%, up to 100%%, or a number of memories, such as "
              "200.") % {"budget": budget.strip()[:40]}
        )  # fmt: skip
    return f"{value:g}%" if found[2] else str(int(value))


def memories_in(budget: str, told: int) -> int:
    """A budget in memories, of a conversation that tells so many."""
    return max(1, round(told * float(budget[:-1]) / 100)) if budget.endswith("%") else int(budget)


@transaction.atomic
def ask(asked: Asked, *, owner_id: UUID, now: datetime) -> LabReplay:
    """Ask for a replay, as its owner. Raises `LabRefused`, `PolicyError`, and `NotFound` for another's conversation."""
    asked = checked(asked)
    mine = Conversation.objects.filter(pk__in=asked.conversations, forgotten_until=None)
    if mine.count() < len(asked.conversations):
        raise NotFound(_("There is no such conversation."))
    if not set(asked.adapters) <= set(adapters_at_hand()):
        raise LabRefused(_("There is no such adapter here."))
    if LabReplay.objects.filter(state__in=OPEN).count() >= MOST_OPEN:
        raise LabRefused(
            _("%(n)d replays of yours wait or run already. Wait for one to end, or cancel one.") % {"n": MOST_OPEN}
        )
    told = {field.name: [str(one) for one in getattr(asked, field.name)] for field in fields(Asked)}
    replay = LabReplay.objects.create(owner_id=owner_id, asked=told, created_at=now)
    enqueue(JOB, str(replay.pk), owner_id=owner_id)
    return replay


@transaction.atomic
def cancel(replay_id: UUID, *, now: datetime) -> None:
    """Cancel a replay: at once while it waits, else at its next step; what is there stays. Raises `LabRefused`."""
    mine = LabReplay.objects.filter(pk=replay_id)
    if mine.filter(state=LabState.PENDING).update(state=LabState.CANCELLED, cancel_requested=True, finished_at=now):
        return
    if not mine.filter(state=LabState.RUNNING).update(cancel_requested=True):
        raise LabRefused(_("This replay is over; there is nothing to cancel."))


@transaction.atomic
def delete(replay_id: UUID) -> None:
    """Delete a replay with its results; one that runs ends at its next step. Raises `NotFound`."""
    if not LabReplay.objects.filter(pk=replay_id).delete()[0]:
        raise NotFound(_("There is no such replay."))


def given_up(key: str, sentence: str) -> None:
    """The replay's job has failed for good: so has the replay."""
    _ended(UUID(key), OPEN, state=LabState.FAILED, error=sentence)


@handles(JOB, long=True, heavy=True, given_up=given_up)
def carry_out(key: str) -> None:
    """Do a replay from where it stands to its end; a second delivery, or one after its end, changes nothing."""
    replay_id = UUID(key)
    _changed(replay_id, (LabState.PENDING,), state=LabState.RUNNING, started_at=timezone.now())
    replay = LabReplay.objects.using("worker").filter(pk=replay_id, state=LabState.RUNNING).first()
    if replay is None:
        return
    try:
        _Carrying(replay).out()
    except _Cancelled:
        _ended(replay_id, (LabState.RUNNING,), state=LabState.CANCELLED)
    else:
        _ended(replay_id, (LabState.RUNNING,), state=LabState.DONE, progress=1.0)


def _ended(replay_id: UUID, before: Sequence[str], **told: Any) -> None:
    _changed(replay_id, before, finished_at=timezone.now(), **told)


def _changed(replay_id: UUID, before: Sequence[str], **told: Any) -> None:
    """Write on a replay, if it is there and in one of these states, as its owner, and tell its pages."""
    owner = LabReplay.objects.using("worker").filter(pk=replay_id).values_list("owner", flat=True).first()
    if owner is None:
        return
    with acting_as(owner):
        LabReplay.objects.filter(pk=replay_id, state__in=before).update(**told)
    live.tell(WATCHED, replay_id)


def _reference(story: Story, before: str) -> Adapter:
    """What says which memories a turn needs: whatever serves the conversation's bank, for every adapter of a replay.

    A replay that goes on keeps to the one that it began with (version `before`), though another may serve by now.
    """
    serving = adapter_of(story.bank)
    if before in ("", serving.version):
        return serving
    try:
        return adapter_named(before).in_space(story.bank.space.revision)
    except AdapterMissing:
        return serving


class _Carrying:
    """One replay being carried out, conversation by conversation and adapter by adapter."""

    def __init__(self, replay: LabReplay) -> None:
        self.replay, self.asked, self.beaten = replay, asked_of(replay), 0.0
        self.policies = [policy_named(name) for name in self.asked.policies]

    def out(self) -> None:
        """All of it that is not there yet."""
        for number, conversation in enumerate(self.asked.conversations):
            missing, before = self._missing(conversation)
            story = self._read(conversation, self._within(number, 0.0, READING)) if missing else None
            if story is None:
                continue
            reference = _reference(story, before)
            needs = story.needs(reference, self._within(number, READING, NEEDING))
            width = (1 - READING - NEEDING) / len(missing)
            for place, name in enumerate(missing):
                step = self._within(number, READING + NEEDING + place * width, width)
                self._replay(Counted(story, conversation, reference, needs), name, step)

    def _missing(self, conversation: UUID) -> tuple[list[str], str]:
        """The adapters under which this conversation was not replayed yet, and the version that found the needs that
        the others were counted against, if there are any."""
        with acting_as(self.replay.owner_id):
            found = LabResult.objects.filter(replay=self.replay.pk, conversation=conversation)
            there = dict(found.values_list("adapter", "reference"))
        return [name for name in self.asked.adapters if name not in there], next(iter(there.values()), "")

    def _read(self, conversation: UUID, step: Step) -> Story | None:
        """The conversation; None where it is gone, or tells nothing. What is slow of it holds no transaction open."""
        try:
            with acting_as(self.replay.owner_id):
                stored = stored_conversation(conversation)
        except NotFound:
            return None
        story = stored.story(step)
        return story if story.told else None

    def _replay(self, counted: Counted, name: str, step: Step) -> None:
        story = counted.story
        own = name == BANKS
        adapter = adapter_of(story.bank) if own else adapter_named(name).in_space(story.bank.space.revision)
        asked = [
            (policy, budget, Budget(memories_in(budget, story.told), story.bank.budget_tokens))
            for policy in self.policies for budget in self.asked.budgets
        ]  # fmt: skip
        reports = story.replayed(counted.needs, [(policy, most) for policy, _name, most in asked], adapter, step)
        results = [
            result_of(self.replay, counted, (name, adapter), told, report)
            for told, report in zip(asked, reports, strict=True)
        ]
        with acting_as(self.replay.owner_id):
            there = LabReplay.objects.filter(pk=self.replay.pk, state=LabState.RUNNING).select_for_update().exists()
            if not there:
                raise _Cancelled
            if Conversation.objects.filter(pk=counted.conversation, forgotten_until=None).exists():
                LabResult.objects.bulk_create(results, ignore_conflicts=True)
        live.tell(WATCHED, self.replay.pk)

    def _within(self, number: int, start: float, width: float) -> Step:
        """Steps of a part of the work on one conversation as steps of the whole."""
        return lambda share: self._step((number + start + width * share) / len(self.asked.conversations))

    def _step(self, progress: float) -> None:
        """A sign of life, now and then: the lease is renewed, the page told. Raises `_Cancelled` and `LeaseLost`.

        Inside a transaction progress is not written: its row would be locked against whoever wants to cancel.
        """
        if time.monotonic() - self.beaten < BEAT_S:
            return
        self.beaten = time.monotonic()
        job = current_job()
        if job is not None:
            job.heartbeat(progress, "replay")
        mine = LabReplay.objects.using("worker").filter(pk=self.replay.pk, state=LabState.RUNNING)
        if not mine.filter(cancel_requested=False).exists():
            raise _Cancelled
        if not transaction.get_connection().in_atomic_block:
            _changed(self.replay.pk, (LabState.RUNNING,), progress=progress)
