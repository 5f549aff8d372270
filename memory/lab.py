"""Reads of the policy lab: its replays, and their numbers as curves. Whoever acts sees what they may."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from memory import selectors
from memory.adapters import available_adapters
from memory.models import AdapterVersion, Bank, Conversation, LabReplay, LabResult
from memory.selectors import instant
from memory.services.turns import NotFound

OFFERED = 200  # conversations to choose from, the newest
SHARED, OWN = "shared", "own"
BANKS = "-"  # in place of a version: whatever serves the bank


def replays() -> QuerySet[LabReplay]:
    """The person's replays, newest first, each with how many results it has."""
    return LabReplay.objects.annotate(n=Count("results"))


def replay(replay_id: UUID) -> LabReplay:
    """One replay. Raises `NotFound`."""
    found = replays().filter(pk=replay_id).first()
    if found is None:
        raise NotFound(_("There is no such replay."))
    return found


def replay_json(one: LabReplay) -> dict[str, Any]:
    """A replay as its page reads it, again and again while it goes on. `n` is as `replays` counts it."""
    return {
        "id": str(one.pk), "state": one.state, "state_name": str(one.get_state_display()), "over": one.over,
        "progress": round(one.progress, 4), "error": one.error, "results": getattr(one, "n", 0),
        "cancel_requested": one.cancel_requested, "started_at": instant(one.started_at),
        "finished_at": instant(one.finished_at),
    }  # fmt: skip


def conversations_at_hand() -> list[Conversation]:
    """What can be replayed: conversations with turns, newest first; each has its `turn_count`."""
    found: Any = selectors.conversations()
    return list(found.filter(turn_count__gt=0)[:OFFERED])


def adapters_at_hand() -> dict[str, str]:
    """Versions that a replay can be asked for with, and what each is: "shipped" comes with the code, "shared" was
    trained here for all, "own" for a bank of the acting user; first comes `BANKS`."""
    learned = AdapterVersion.objects.filter(weights__isnull=False, replaced_by=None).order_by("-created_at")
    banks = set(map(str, Bank.objects.values_list("pk", flat=True)))
    found = {BANKS: "", **dict.fromkeys(available_adapters(), "shipped")}
    for version, kind, bank in learned.values_list("version", "manifest__kind", "manifest__bank"):
        if kind != OWN or bank in banks:
            found.setdefault(version, OWN if kind == OWN else SHARED)
    return found


@dataclass(frozen=True)
class CurveRow:
    """One point of a curve: a policy and an adapter with one budget, over all conversations that were asked for."""

    policy: str
    adapter: str
    budget: str
    share: float  # of all that the conversations tell, that there is room for
    memories: int
    told: int
    recalled: int
    kept: int  # of the recalled
    evidence: float | None  # share that was kept, None where nothing was recalled
    evidence_weight: float | None  # the same by weight
    regretted: int
    regret: float  # memories that left and were missed later, as a share of all told
    held: int
    evicted: int
    merged: int
    conversations: int
    # versions by which it was found what was needed, one a bank that was replayed; "" is the row's own adapter, as
    # replays had it before there was one for all
    references: str


def curve_rows(replay_id: UUID, conversation: UUID | None = None) -> list[CurveRow]:
    """The curves in order of policy, adapter and budget, over all conversations or of one."""
    found = LabResult.objects.filter(replay=replay_id).defer("misses").order_by("policy", "adapter", "budget", "pk")
    if conversation is not None:
        found = found.filter(conversation=conversation)
    rows = [_point(list(results)) for _of, results in groupby(found, key=_curve)]
    return sorted(rows, key=lambda row: (row.policy, row.adapter, row.share, row.budget))


def _curve(one: LabResult) -> tuple[str, str, str]:
    return one.policy, one.adapter, one.budget


def _point(results: Sequence[LabResult]) -> CurveRow:
    def total(name: str) -> Any:
        return sum(getattr(one, name) for one in results)

    told, recalled, wanted, regretted = total("told"), total("recalled"), total("wanted"), total("regretted")
    kept = recalled - total("missed")
    return CurveRow(
        *_curve(results[0]), share=round(total("memories") / told, 4), memories=total("memories"), told=told,
        recalled=recalled, kept=kept, evidence=round(kept / recalled, 4) if recalled else None,
        evidence_weight=round(1 - total("missed_weight") / wanted, 4) if wanted else None,
        regretted=regretted, regret=round(regretted / told, 4), held=total("held"), evicted=total("evicted"),
        merged=total("merged"), conversations=len(results),
        references=", ".join(sorted({one.reference for one in results})),
    )  # fmt: skip


@dataclass(frozen=True)
class MissedRow:
    """A memory that left a private bank and that later turns would have recalled."""

    conversation: UUID
    memory: UUID
    policy: str
    adapter: str
    budget: str
    told: int | None  # turn that told it; turns are numbers within their conversation
    left: int
    missed: int  # the first turn that missed it
    times: int
    weight: float  # that it had, over all these turns
    text: str = ""  # by `memory.life.with_words`


def missed_rows(replay_id: UUID, **asked: Any) -> list[MissedRow]:
    """What was missed, the heaviest first; `asked` narrows by conversation, policy, adapter or budget."""
    found = LabResult.objects.filter(replay=replay_id, **asked)
    rows = [
        MissedRow(one.conversation_id, UUID(memory), one.policy, one.adapter, one.budget, *numbers)
        for one in found
        for memory, *numbers in one.misses
    ]
    return sorted(rows, key=lambda row: (-row.weight, row.policy, row.adapter, row.budget, row.missed, row.memory.hex))


def has_results(replay_id: UUID, **asked: Any) -> bool:
    """Whether anything was replayed of what is asked for."""
    return LabResult.objects.filter(replay=replay_id, **asked).exists()


def titles(ids: Iterable[UUID]) -> dict[UUID, str]:
    """Titles of conversations that are there."""
    return dict(Conversation.objects.filter(pk__in=set(ids), forgotten_until=None).values_list("pk", "title"))
