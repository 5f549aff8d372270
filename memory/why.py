"""Reads of one recall: what it was asked with, and every stored candidate with all that explains its rank.

No request and no user here: whoever acts sees what they may. Words go through `shown`, which leaves an owner's as
they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db.models import Count, Prefetch, Q

from memory import selectors
from memory.engine.bank import Kind
from memory.engine.lexical import terms
from memory.engine.signals import NAMES
from memory.engine.types import State
from memory.life_recalls import BELOW, NEAR, RECALLED
from memory.models import Bank, Event, Memory, Posting, Recall, Turn

Shown = Callable[[str], str]
INTERPLAY = "interplay"  # what a trained network adds to the sum of the contributions
OFFERED = 20  # archived memories to read the recall again with
_LEAST = 5e-4  # a difference between logit and contributions that is no more than rounding


def as_is(text: str) -> str:
    """Words as an owner sees them."""
    return text


@dataclass(frozen=True)
class Why:
    """One recall with its turn and bank."""

    trace: Recall
    turn: Turn
    previous: Turn | None  # the turn before, where the cue took its words along
    bank: Bank
    erased: tuple[UUID, ...]  # handed on then, and erased since

    @property
    def cue(self) -> str:
        """What the bank was asked with."""
        return f"{self.previous.observation}\n{self.turn.observation}" if self.previous else self.turn.observation


def why_of(recall_id: UUID) -> Why:
    """One recall. Raises `NotFound`."""
    trace = selectors.recall(recall_id)
    of_owner = Prefetch("owner", get_user_model().objects.only("time_zone"))  # an analyst may read no more of people
    turn = Turn.objects.select_related("conversation__bank__space").prefetch_related(of_owner).get(pk=trace.turn_id)
    previous = turns_before(turn, trace, 1)[-1:] if trace.with_previous else []
    there = set(trace.recalled)
    erased = tuple(memory for memory in _handed_on(trace) if memory not in there)
    return Why(trace, turn, previous[0] if previous else None, turn.conversation.bank, erased)


def turns_before(turn: Turn, trace: Recall, most: int) -> list[Turn]:
    """The up to `most` turns before this one as they stood when it recalled, oldest first: edits since do not count."""
    before = Turn.objects.filter(
        Q(replaced_at=None) | Q(replaced_at__gt=trace.at),
        conversation=turn.conversation_id, ordinal__lt=turn.ordinal, created_at__lte=turn.created_at,
    )  # fmt: skip
    return list(before.order_by("-ordinal", "-created_at")[:most])[::-1]


def _handed_on(trace: Recall) -> list[UUID]:
    """What the ledger says was handed on; it keeps the ids of what is erased."""
    event = Event.objects.filter(bank=trace.bank_id, seq=trace.seq + 1, kind=Kind.RECALLED).first()
    if event is None or event.data.get("recall") != str(trace.pk):
        return []
    return [UUID(memory) for memory in event.data["memories"]]


@dataclass(frozen=True)
class Candidate:
    """One stored row of a recall. `CandidateRow` adds a signal and a contribution for each name."""

    rank: int  # from 1
    memory: UUID
    what: str  # "recalled", "near" (passed the floor without room) or "below"
    weight: float  # share of all candidates' softmax
    fit: float
    floor: float  # of this recall, for the fit
    highly: float  # from this fit on a memory is highly relevant
    group: str  # "highly", "maybe" or "below"
    logit: float
    recalled: bool
    injected: bool
    cited: bool
    archived: bool  # it came from the archive
    state: str  # now; "erased" is never among the stored rows
    interplay: float  # the logit less the contributions
    role: str = ""
    speaker: str = ""
    text: str = ""


CandidateRow: Any = make_dataclass(
    "CandidateRow",
    [
        *((f"contribution_{name}", float, field(default=0.0)) for name in NAMES),
        *((f"signal_{name}", float, field(default=0.0)) for name in NAMES),
    ],
    bases=(Candidate,), frozen=True,
)  # fmt: skip


def candidate_rows(why: Why, *, what: Collection[str] = (), shown: Shown = as_is) -> list[Any]:
    """The stored rows (`CandidateRow`), best first; with `what` only those of which that became."""
    trace = why.trace
    memories = selectors.memory_rows(trace.memories)
    rows = [_candidate(rank, row, trace, memories, shown) for rank, row in enumerate(trace.rows, 1)]
    return [row for row in rows if not what or row.what in what]


def _candidate(rank: int, row: Mapping[str, Any], trace: Recall, memories: Mapping[UUID, Memory], shown: Shown) -> Any:
    memory = UUID(row["memory"])
    now = memories.get(memory)
    contributions, signals = row["contributions"], row["signals"]
    rest = row["logit"] - sum(contributions.values())
    return CandidateRow(
        rank, memory, RECALLED if row["recalled"] else NEAR if row["fit"] >= trace.floor else BELOW,
        row["weight"], row["fit"], round(trace.floor, 5), round(trace.highly, 5), row["group"], row["logit"],
        row["recalled"], row["injected"], row["cited"], row["state"] == State.ARCHIVED,
        now.state if now else State.ERASED.value, round(rest, 5) if abs(rest) > _LEAST else 0.0,
        now.role if now else "", now.speaker if now else "", shown(selectors.shown_text(now)) if now else "",
        **{f"contribution_{name}": value for name, value in contributions.items() if name in NAMES},
        **{f"signal_{name}": value for name, value in signals.items() if name in NAMES},
    )  # fmt: skip


def contributions_of(row: Any) -> dict[str, float]:
    """What each signal, and the interplay, added to a row's logit: they sum to it but for rounding."""
    found = {name: getattr(row, f"contribution_{name}") for name in NAMES}
    return {name: value for name, value in {**found, INTERPLAY: row.interplay}.items() if value}


def archived_then(why: Why, *, shown: Shown = as_is) -> list[tuple[UUID, str]]:
    """Archived memories that this recall can be read again with: those that it regrets, then those that share most
    words with the cue. Only what had left the bank before the recall; what was withdrawn or merged is found by none.
    """
    regretted = [UUID(row["memory"]) for row in why.trace.regretted]
    sharing = Memory.objects.filter(
        bank=why.bank, state=State.ARCHIVED, archived_at__lte=why.trace.at, written_seq__lte=why.trace.seq,
    ).exclude(archive_reason__in=("withdrawn", "merged"))  # fmt: skip
    words = list(dict.fromkeys(terms(why.cue)))
    found = Posting.objects.filter(bank=why.bank, term__in=words, memory__in=sharing.values("pk"))
    counted = found.values("memory").annotate(shared=Count("term")).order_by("-shared", "memory")
    best = list(counted.values_list("memory", flat=True)[:OFFERED])
    if len(best) < OFFERED:  # then the last that left
        best += list(sharing.order_by("-archived_at", "pk").values_list("pk", flat=True)[:OFFERED])
    allowed = set(sharing.filter(pk__in=[*regretted, *best]).values_list("pk", flat=True))
    chosen = [memory for memory in dict.fromkeys([*regretted, *best]) if memory in allowed][:OFFERED]
    rows = selectors.memory_rows(chosen)
    return [(memory, shown(rows[memory].text)) for memory in chosen if memory in rows]


def recalled_rows(rows: Sequence[Any]) -> list[Any]:
    """Those rows that were handed on."""
    return [row for row in rows if row.recalled]
