"""Merged memories and summaries when something happens to what they are made of: no word of a source outlives it in
one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from memory.engine.bank import Kind
from memory.engine.types import State
from memory.models import Memory
from memory.services.evictions import evict_for, evict_to_budget
from memory.services.ledger import LedgerWriter
from memory.services.scrubbing import scrub


def parts_with(writer: LedgerWriter, memory: UUID) -> list[UUID]:
    """The parts of a merged memory or a summary that share its fate: archived, or forgotten with it. No other has any.

    Of a merged memory those that were archived for it: one that a person restored has a life of its own.
    """
    marks = writer.hot.state.marks
    summary = bool(marks[memory].formed)
    return [
        part for part in marks[memory].parts
        if (summary or marks[part].reason == "merged") and marks[part].state in (State.ARCHIVED, State.FORGOTTEN)
    ]  # fmt: skip


def stands(writer: LedgerWriter, memory: UUID) -> bool:
    """Whether a merged memory that is in the bank, or evicted from it, holds words of this one."""
    marks = writer.hot.state.marks
    merged = marks[memory].into
    return merged is not None and marks[merged].state in (State.HELD, State.ARCHIVED)


def take_apart(writer: LedgerWriter, memories: Iterable[UUID], now: datetime) -> None:
    """Erase every merged memory or summary that holds words of `memories` or is among them; other parts of a merged
    one come back if they fit, those of a summary stay in the archive.

    To be called after the events about `memories`: what this transaction did something to already stays so.
    """
    marks, done = writer.hot.state.marks, {event.memory for event in writer.events}
    holding = {memory if marks[memory].parts else marks[memory].into for memory in memories}
    gone = sorted((one for one in holding - done if one and marks[one].state is not State.ERASED), key=str)
    if not gone:
        return
    for merged in gone:
        writer.add(Kind.ERASED, merged, now)
    writer.erased.update(scrub(gone))
    loose = {
        part for merged in gone for part in marks[merged].parts
        if part not in done and marks[part].state is State.ARCHIVED and marks[part].reason == "merged"
    }  # fmt: skip
    _return(writer, loose, now)


def _return(writer: LedgerWriter, parts: Iterable[UUID], now: datetime) -> None:
    """Bring archived parts back into the bank as far as it has room for them by rank."""
    back: list[Memory] = []
    held = set(writer.hot.by_content)
    for row in Memory.objects.filter(pk__in=parts).defer("vector", "features").order_by("written_seq", "pk"):
        if bytes(row.content) in held:
            evict_for(writer, row.pk, "twin", now)
            continue
        held.add(bytes(row.content))
        writer.add(Kind.RESTORED, row.pk, now, reason="unmerged")
        back.append(row)
    evict_to_budget(writer, back, now)
