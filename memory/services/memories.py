"""What a person does to a memory: pin, forget, undo, restore, erase. Each verb is one transaction and one event."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from memory.encoding import encoder
from memory.engine.bank import Kind, as_marked
from memory.engine.retention import choose_evictions, policy_named
from memory.engine.types import BankError, Budget, State
from memory.hot_banks import memory_item
from memory.models import Memory, MemorySource, Recall, Turn
from memory.services.jobs import enqueue
from memory.services.ledger import LedgerWriter, writing
from memory.services.turns import NotFound
from memory.traces import TRACE_FIELDS, forget_rows

PINNED_SHARE = 0.8  # of a budget: the rest stays free for what is new


class MemoryRefused(BankError):
    """The memory cannot be changed so; the sentence says why and what to do."""


@contextmanager
def changing(memory_id: UUID, *allowed: State) -> Iterator[tuple[LedgerWriter, Memory]]:
    """Open the memory's bank for writing. Raises `NotFound`, or `MemoryRefused` when it is in no `allowed` state."""
    bank_id = Memory.objects.filter(pk=memory_id).values_list("bank_id", flat=True).first()
    if bank_id is None:
        raise NotFound(_("There is no such memory. It may have been erased."))
    with writing(bank_id) as writer:
        memory = Memory.objects.filter(pk=memory_id).defer("vector", "features").first()
        if memory is None:
            raise NotFound(_("There is no such memory. It may have been erased."))
        if State(memory.state) not in allowed:
            raise MemoryRefused(_refusal(State(memory.state)))
        yield writer, memory


def _refusal(state: State) -> str:
    return {
        State.HELD: _("This memory is in the bank already."),
        State.ARCHIVED: _("This memory is in the archive. Restore it first."),
        State.FORGOTTEN: _("This memory is being forgotten. Undo that first."),
        State.ERASED: _("This memory was erased."),
    }[state]


def pin(memory_id: UUID, *, now: datetime) -> None:
    """Protect a memory from eviction. Refused when pinned memories would take four fifths of the budget."""
    with changing(memory_id, State.HELD) as (writer, memory):
        if memory.pinned:
            return
        if not _room_beside_pinned(writer, [memory], PINNED_SHARE):
            raise MemoryRefused(_("Pinned memories fill this bank. Unpin some first, or ask for a larger budget."))
        writer.add(Kind.PINNED, memory_id, now)


def _room_beside_pinned(writer: LedgerWriter, more: Sequence[Memory], share: float) -> bool:
    """Whether the pinned memories of the bank and `more` fit a share of its budget."""
    marks = [mark for mark in writer.hot.state.marks.values() if mark.state is State.HELD and mark.pinned]
    budget = writer.hot.state.budget
    tokens = sum(mark.tokens for mark in marks) + sum(memory.tokens for memory in more)
    return len(marks) + len(more) <= share * budget.memories and tokens <= share * budget.tokens


def unpin(memory_id: UUID, *, now: datetime) -> None:
    """Let a memory compete for its place again."""
    with changing(memory_id, State.HELD) as (writer, memory):
        if memory.pinned:
            writer.add(Kind.UNPINNED, memory_id, now)


def forget(memory_id: UUID, *, now: datetime) -> datetime:
    """Hide a memory everywhere at once and have it erased when the undo window closes. Returns when that is."""
    until = now + timedelta(minutes=settings.UNDO_MINUTES)
    with changing(memory_id, State.HELD, State.ARCHIVED) as (writer, memory):
        writer.add(Kind.FORGOTTEN, memory_id, now, until=until.isoformat(), before=memory.state)
        enqueue("memory.erase", str(memory_id), owner_id=memory.owner_id, run_after=until)
    return until


def unforget(memory_id: UUID, *, now: datetime) -> None:
    """Undo forgetting: the memory returns to where it was, and the bank to its budget.

    When the same words were told again meanwhile, it returns to the archive: one bank holds a memory once.
    """
    with changing(memory_id, State.FORGOTTEN) as (writer, memory):
        bring_back(writer, [memory], now)


def bring_back(writer: LedgerWriter, memories: Sequence[Memory], now: datetime) -> None:
    """Undo forgetting several memories of one bank. Undo is never refused: a pin for which there is no room any more
    is lifted, and what no longer fits goes to the archive."""
    held: list[Memory] = []
    pinned: list[Memory] = []
    for memory in memories:
        back = State(memory.before or State.HELD)
        if back is State.HELD and bytes(memory.content) in writer.hot.by_content:
            writer.add(Kind.UNFORGOTTEN, memory.pk, now, to=State.ARCHIVED.value, reason="twin")
            continue
        writer.add(Kind.UNFORGOTTEN, memory.pk, now, to=back.value)
        if back is State.HELD:
            held.append(memory)
            if memory.pinned and _room_beside_pinned(writer, [*pinned, memory], PINNED_SHARE):
                pinned.append(memory)
            elif memory.pinned:
                writer.add(Kind.UNPINNED, memory.pk, now)
    spared = held if len(held) == 1 and _room_beside_pinned(writer, held, 1.0) else pinned
    evict_to_budget(writer, held, now, spare={memory.pk for memory in spared})


def restore(memory_id: UUID, *, now: datetime) -> None:
    """Bring an archived memory back into its bank; the lowest-ranked other leaves if there is no room."""
    with changing(memory_id, State.ARCHIVED) as (writer, memory):
        if bytes(memory.content) in writer.hot.by_content:
            raise MemoryRefused(_("The bank holds the same words already."))
        writer.add(Kind.RESTORED, memory_id, now, reason="asked")
        if not _room_beside_pinned(writer, [memory], 1.0):
            raise MemoryRefused(_("Beside what is pinned this memory does not fit. Unpin some first."))
        evict_to_budget(writer, [memory], now, spare={memory_id})


def erase(memory_id: UUID, *, now: datetime) -> bool:
    """Erase a memory for good: row, sources, terms, vector, and its rows in traces. False when it was gone already.

    The words of the conversation itself stay until the conversation is erased.
    """
    try:
        with changing(memory_id, State.HELD, State.ARCHIVED, State.FORGOTTEN) as (writer, _memory):
            writer.add(Kind.ERASED, memory_id, now)
            scrub([memory_id])
    except NotFound:
        return False
    return True


def scrub(memories: Sequence[UUID]) -> None:
    """Take memories out of every table but the ledger, which keeps ids and numbers, and of these none of the text's."""
    names, gone = {str(memory) for memory in memories}, set(memories)
    for trace in Recall.objects.filter(_names_any(memories)):
        forget_rows(trace, gone)
        trace.regretted = [row for row in trace.regretted if row["memory"] not in names]
        trace.save(update_fields=[*TRACE_FIELDS, "regretted"])
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_event SET data = data - 'features' WHERE memory = ANY(%s) AND kind = %s",
            [list(memories), Kind.WRITTEN.value],
        )
    Memory.objects.filter(pk__in=memories).delete()
    transaction.on_commit(encoder().clear)


def _names_any(memories: Sequence[UUID]) -> Q:
    condition = Q(memories__overlap=list(memories))
    for memory in memories:
        condition |= Q(regretted__contains=[{"memory": str(memory)}])
    return condition


def withdraw_turns(bank_id: UUID, turns: Sequence[UUID], *, now: datetime) -> None:
    """Take what only these (edited away) turns told out of the bank, reason `withdrawn`; other sources keep it in."""
    with writing(bank_id) as writer:
        told = MemorySource.objects.filter(turn__in=turns, memory__bank=bank_id)
        _withdraw_untold(writer, set(told.values_list("memory", flat=True)), now, but=turns)
        Turn.objects.filter(pk__in=turns).update(remembered=False)


def take_back(bank_id: UUID, sources: Mapping[UUID, UUID], *, now: datetime) -> None:
    """Undo tellings (source: memory) whose turn says something else now; what nobody else told is withdrawn."""
    with writing(bank_id) as writer:
        MemorySource.objects.filter(pk__in=sources).delete()
        _withdraw_untold(writer, set(sources.values()), now)


def _withdraw_untold(writer: LedgerWriter, memories: set[UUID], now: datetime, *, but: Sequence[UUID] = ()) -> None:
    """Archive those of `memories` that no turn of a present branch told, the turns `but` aside. No recall finds a
    withdrawn memory; one that was evicted before is marked so too."""
    told = MemorySource.objects.filter(memory__in=memories, turn__replaced_at=None).exclude(turn__in=but)
    budget = writer.hot.state.budget
    for memory in sorted(memories - set(told.values_list("memory", flat=True)), key=str):
        mark = writer.hot.state.marks[memory]
        if mark.state in (State.HELD, State.ARCHIVED) and mark.reason != "withdrawn":
            writer.add(
                Kind.EVICTED, memory, now, reason="withdrawn", policy="", adapter=mark.adapter, score=mark.importance,
                over="", instead=None, budget=[budget.memories, budget.tokens],
            )  # fmt: skip


def evict_to_budget(
    writer: LedgerWriter, back: Sequence[Memory], now: datetime, *, spare: Collection[UUID] = (),
    budget: Budget | None = None, policy: str = "",
) -> None:  # fmt: skip
    """Evict what no longer fits the whole budget, after memories came `back` (of which `spare` stay), or a new one."""
    state = writer.hot.state
    budget, ranking = budget or state.budget, policy_named(policy or state.policy)
    returned = [replace(as_marked(memory_item(row), state.marks[row.pk]), pinned=row.pk in spare) for row in back]
    for eviction in choose_evictions([*writer.hot, *returned], budget, ranking, now):
        writer.add(
            Kind.EVICTED, eviction.memory, now, reason="budget", policy=ranking.name,
            adapter=state.marks[eviction.memory].adapter, score=round(eviction.score, 6), over=eviction.over,
            instead=str(eviction.instead) if eviction.instead else None, budget=[budget.memories, budget.tokens],
        )  # fmt: skip
