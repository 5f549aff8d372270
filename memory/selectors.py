"""Reads: what pages and programs see of memory. Run as the acting user; another's rows are not there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.db.models import Count, Prefetch, Q, QuerySet, Sum
from django.utils.translation import gettext as _

from memory.adapters import adapter_of, shipped_adapter
from memory.engine.bank import Kind
from memory.engine.types import State
from memory.models import Bank, Conversation, Doubt, Event, Look, Memory, MemorySource, Recall, Turn
from memory.services.turns import NotFound

NEAR_MISSES = 5
PAGE = 50

Rows = list[dict[str, Any]]


def conversations(query: str = "") -> QuerySet[Conversation]:
    """The person's conversations, newest first; `query` looks in titles and in what was said."""
    rows = Conversation.objects.filter(forgotten_until=None)
    if query:
        said = Turn.objects.filter(Q(observation__icontains=query) | Q(action__icontains=query), replaced_at=None)
        rows = rows.filter(Q(title__icontains=query) | Q(pk__in=said.values("conversation")))
    active = Count("turns", filter=Q(turns__replaced_at=None))
    return rows.annotate(turn_count=active).order_by("-updated_at")


def conversation(conversation_id: UUID) -> Conversation:
    """One conversation. Raises `NotFound`."""
    found = conversations().filter(pk=conversation_id).first()
    if found is None:
        raise NotFound(_("There is no such conversation."))
    return found


def turns_of(conversation_id: UUID, *, before: int | None = None, most: int | None = None) -> list[Turn]:
    """The turns on the present branch, in order; of those before ordinal `before` the last `most`."""
    turns = Turn.objects.filter(conversation=conversation_id, replaced_at=None)
    turns = turns if before is None else turns.filter(ordinal__lt=before)
    turns = turns.select_related("parent").prefetch_related(Prefetch("recalls", queryset=Recall.objects.order_by("at")))
    return list(turns.order_by("-ordinal")[:most])[::-1]


def turn(turn_id: UUID, conversation_id: UUID | None = None) -> Turn:
    """One turn, of that conversation where one is named. Raises `NotFound`."""
    found = Turn.objects.filter(pk=turn_id, conversation__forgotten_until=None).prefetch_related("recalls").first()
    if found is None or conversation_id not in (None, found.conversation_id):
        raise NotFound(_("There is no such turn."))
    return found


def recall(recall_id: UUID) -> Recall:
    """One trace. Raises `NotFound`."""
    found = Recall.objects.filter(pk=recall_id, turn__conversation__forgotten_until=None).first()
    if found is None:
        raise NotFound(_("There is no such recall."))
    return found


def bank(bank_id: UUID) -> Bank:
    """One bank. Raises `NotFound`."""
    found = Bank.objects.filter(pk=bank_id).first()
    if found is None:
        raise NotFound(_("There is no such memory bank."))
    return found


def memory(memory_id: UUID) -> Memory:
    """One memory. Raises `NotFound`."""
    found = Memory.objects.filter(pk=memory_id).defer("vector", "features").first()
    if found is None:
        raise NotFound(_("There is no such memory. It may have been erased."))
    return found


def memory_rows(ids: Collection[UUID]) -> dict[UUID, Memory]:
    """Memories by id; erased ones are missing."""
    rows = Memory.objects.filter(pk__in=ids).select_related("conversation", "turn").defer("vector", "features")
    return {row.pk: row for row in rows}


def told_in(turns: Iterable[Turn]) -> dict[UUID, Rows]:
    """By turn: what it put into the bank (`written`, `merged`, `retold`), in order, still there or not."""
    sources = MemorySource.objects.filter(turn__in=[turn.pk for turn in turns]).exclude(how="formed")
    sources = sources.select_related("memory").defer("memory__vector", "memory__features").order_by("-side", "piece")
    out: dict[UUID, Rows] = {}
    for source in sources:
        row = source.memory
        out.setdefault(source.turn_id, []).append(
            {
                "memory": str(row.pk), "text": shown_text(row), "side": source.side, "role": row.role,
                "importance": round(row.importance, 4), "happened": source.how, "state": row.state,
                "pinned": row.pinned,
            }
        )  # fmt: skip
    return out


def evicted_in(turns: Iterable[Turn]) -> dict[UUID, Rows]:
    """By turn: what left the bank so that it could be remembered."""
    found = Event.objects.filter(turn__in=[turn.pk for turn in turns], kind=Kind.EVICTED).order_by("seq")
    events = list(found)
    rows = memory_rows({event.memory for event in events if event.memory})
    out: dict[UUID, Rows] = {}
    for event in events:
        row = rows.get(event.memory) if event.memory else None
        if row is not None and event.turn:
            out.setdefault(event.turn, []).append(
                {"memory": str(row.pk), "text": shown_text(row), "reason": event.data["reason"], "state": row.state}
            )
    return out


def recall_row(row: Mapping[str, Any], memories: Mapping[UUID, Memory], *, full: bool = False) -> dict[str, Any]:
    """One row of a trace with the memory as it is now; `full` adds signals and contributions."""
    found = memories.get(UUID(row["memory"]))
    state = found.state if found else State.ERASED.value
    shown: dict[str, Any] = {
        "memory": row["memory"],
        "text": shown_text(found) if found else "",
        "role": found.role if found else "",
        "speaker": found.speaker if found else "",
        "side": found.side if found else "",
        "at": instant(found.at) if found else None,
        **_source_of(found),
        "weight": row["weight"], "logit": row["logit"], "injected": row["injected"], "cited": row["cited"],
        "state": state, "pinned": bool(found and found.pinned), "group": row["group"],
        "importance": round(found.importance, 4) if found else None,
    }  # fmt: skip
    if full:
        shown |= {"signals": row["signals"], "contributions": row["contributions"], "fit": row["fit"]}
    return shown


def _source_of(found: Memory | None) -> dict[str, Any]:
    told_by = found.turn if found else None
    where = found.conversation if found else None
    if where is not None and where.forgotten_until is not None:
        told_by = where = None  # hidden means hidden everywhere
    if where is not None and where.forgotten_until is not None:  # hidden, though the memory is kept
        told_by = where = None
    return {
        "turn": str(told_by.pk) if told_by else None,
        "conversation": str(where.pk) if where else None,
        "conversation_title": where.title if where else "",
        "ordinal": told_by.ordinal if told_by else None,
    }


def shown_text(row: Memory) -> str:
    """The text of a memory, kept back while it is being forgotten: hidden means hidden everywhere."""
    return "" if row.state == State.FORGOTTEN else row.text


def bank_memories(bank: Bank, *, state: State, query: str, page: int) -> tuple[list[Memory], bool]:
    """One page of a bank's memories, newest first, and whether there are more."""
    rows = Memory.objects.filter(bank=bank, state=state).defer("vector", "features")
    for word in query.split()[:8]:
        rows = rows.filter(text__icontains=word)
    doubts = Doubt.objects.filter(settled_at=None).select_related("newer")
    doubts = doubts.defer("newer__vector", "newer__features")
    rows = rows.order_by("-pinned", "-at", "-written_seq").prefetch_related(
        Prefetch("sources", queryset=MemorySource.objects.select_related("turn__conversation")),
        Prefetch("doubts", queryset=doubts),
    )
    start = (page - 1) * PAGE
    found = list(rows[start : start + PAGE + 1])
    return found[:PAGE], len(found) > PAGE


def bank_json(bank: Bank) -> dict[str, Any]:
    """How full a bank is, and how it keeps."""
    held = Q(memories__state=State.HELD)
    counted = Bank.objects.filter(pk=bank.pk).aggregate(
        held=Count("memories", filter=held),
        archived=Count("memories", filter=Q(memories__state=State.ARCHIVED)),
        tokens=Sum("memories__tokens", filter=held),
    )
    return {
        "held": counted["held"], "archived": counted["archived"], "tokens": counted["tokens"] or 0,
        "id": str(bank.pk), "budget_memories": bank.budget_memories, "budget_tokens": bank.budget_tokens,
        "policy": bank.policy, "evict_at": bank.evict_at, "adapter": adapter_of(bank).version,
    }  # fmt: skip


@dataclass(frozen=True)
class ServedBy:
    """Which adapter serves a bank, since when, which one did before, and what the change did."""

    version: str
    since: datetime
    former: str  # "" where no other ever did
    rescored: int = 0
    left: int = 0


def served_by(bank: Bank) -> ServedBy:
    """What the ledger tells of a bank's adapter."""
    settings = Event.objects.filter(bank=bank, kind=Kind.CONFIGURED).order_by("seq").values_list("seq", "at", "data")
    told = [(seq, at, data.get("adapter", "")) for seq, at, data in settings]
    version, changed = adapter_of(bank).version, [
        (seq, at, before) for (_, _, before), (seq, at, name) in pairwise(told) if name != before
    ]  # fmt: skip
    if not changed:
        return ServedBy(version, bank.created_at, "")
    seq, at, before = changed[-1]
    with_it = Event.objects.filter(bank=bank, seq__gt=seq, at=at).values_list("kind").annotate(n=Count("id"))
    counts = dict(with_it.values_list("kind", "n"))
    former = before or shipped_adapter().version
    return ServedBy(version, at, former, counts.get(Kind.RESCORED, 0), counts.get(Kind.EVICTED, 0))


def memory_json(row: Memory) -> dict[str, Any]:
    """A memory as the pages read it."""
    return {
        "id": str(row.pk), "text": shown_text(row), "role": row.role, "speaker": row.speaker, "side": row.side,
        "at": instant(row.at), "kind": row.kind, "importance": round(row.importance, 4), "tokens": row.tokens,
        "state": row.state, "archive_reason": row.archive_reason, "pinned": row.pinned, "adapter": row.adapter,
        "undo_until": instant(row.forgotten_until), "doubt": _doubt(row),
        "sources": [
            {
                "turn": str(source.turn_id), "conversation": str(source.turn.conversation_id),
                "conversation_title": source.turn.conversation.title, "side": source.side,
                "ordinal": source.turn.ordinal, "at": instant(source.turn.created_at),
            }
            for source in row.sources.all()
            if source.turn.conversation.forgotten_until is None
        ],
    }  # fmt: skip


def _doubt(row: Memory) -> dict[str, Any] | None:
    """The newest memory that says otherwise, while its person has not looked; a hidden one is not shown."""
    if row.state not in (State.HELD, State.ARCHIVED):
        return None
    doubts = [one for one in row.doubts.all() if one.settled_at is None]
    seen = [(one.what, one.newer) for one in doubts if one.newer.state in (State.HELD, State.ARCHIVED)]
    if not seen:
        return None
    what, newer = max(seen, key=lambda one: (one[1].at, one[1].written_seq))
    return {"what": what, "newer": str(newer.pk), "text": newer.text, "at": instant(newer.at)}


def instant(at: datetime | None) -> str | None:
    """ISO 8601, or None."""
    return at.isoformat() if at else None


def looks_at(bank_id: UUID) -> QuerySet[Look]:
    """Which analysts looked at a bank on which days, the latest first."""
    return Look.objects.filter(bank=bank_id).select_related("analyst")
