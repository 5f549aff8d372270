"""What a person does to a memory: pin, forget, undo, restore, erase. Each verb is one transaction and one event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from memory.engine.bank import Kind
from memory.engine.types import BankError, State
from memory.models import Memory, MemorySource, Turn
from memory.services.evictions import evict_for, evict_to_budget
from memory.services.jobs import enqueue
from memory.services.ledger import LedgerWriter, writing
from memory.services.merged import parts_with, stands, take_apart
from memory.services.scrubbing import scrub
from memory.services.turns import NotFound
from memory.services.wishes import Wish, tell

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
        tell(Wish.PIN, memory, now)


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
            tell(Wish.UNPIN, memory, now)


def forget(memory_id: UUID, *, now: datetime) -> datetime:
    """Hide a memory everywhere at once and have it erased when the undo window closes. Returns when that is.

    With a merged memory its parts go. One that holds words of this memory is erased at once, and not brought back.
    """
    until = now + timedelta(minutes=settings.UNDO_MINUTES)
    with changing(memory_id, State.HELD, State.ARCHIVED) as (writer, memory):
        for one in (memory_id, *parts_with(writer, memory_id)):
            before = writer.hot.state.marks[one].state.value
            writer.add(Kind.FORGOTTEN, one, now, until=until.isoformat(), before=before)
            enqueue("memory.erase", str(one), owner_id=memory.owner_id, run_after=until)
        take_apart(writer, [memory_id], now)
        tell(Wish.FORGET, memory, now)
    return until


def unforget(memory_id: UUID, *, now: datetime) -> None:
    """Undo forgetting: the memory returns to where it was, and the bank to its budget.

    When the same words were told again meanwhile, it returns to the archive: one bank holds a memory once.
    """
    with changing(memory_id, State.FORGOTTEN) as (writer, memory):
        forgotten = Memory.objects.filter(pk__in=parts_with(writer, memory_id), state=State.FORGOTTEN)
        bring_back(writer, [memory, *forgotten.defer("vector", "features").order_by("written_seq")], now)
        tell(Wish.UNFORGET, memory, now)


def bring_back(writer: LedgerWriter, memories: Sequence[Memory], now: datetime) -> None:
    """Undo forgetting several memories of one bank. Undo is never refused: a pin for which there is no room any more
    is lifted, and what no longer fits goes to the archive. A part whose merged memory is gone comes into the bank."""
    held: list[Memory] = []
    pinned: list[Memory] = []
    together = {memory.pk for memory in memories}
    marks = writer.hot.state.marks
    for memory in memories:
        back = State(memory.before or State.HELD)
        mark = marks[memory.pk]
        if mark.reason == "merged" and mark.into not in together and not stands(writer, memory.pk):
            back = State.HELD
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

    With a merged memory its parts go, and with a part what it was merged into. The words of the conversation itself
    stay until the conversation is erased.
    """
    try:
        with changing(memory_id, State.HELD, State.ARCHIVED, State.FORGOTTEN) as (writer, _memory):
            gone = [memory_id, *parts_with(writer, memory_id)]
            writer.erasing = "memory"
            for one in gone:
                writer.add(Kind.ERASED, one, now)
            writer.erased.update(scrub(gone))
            take_apart(writer, gone, now)
    except NotFound:
        return False
    return True


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
    withdrawn memory; one that was evicted before is marked so too. What holds words of any of them is taken apart."""
    told = MemorySource.objects.filter(memory__in=memories, turn__replaced_at=None).exclude(turn__in=but)
    marks = writer.hot.state.marks
    merged = {memory for memory in memories if marks[memory].parts}
    for memory in sorted(memories - merged - set(told.values_list("memory", flat=True)), key=str):
        if marks[memory].state in (State.HELD, State.ARCHIVED) and marks[memory].reason != "withdrawn":
            evict_for(writer, memory, "withdrawn", now)
    take_apart(writer, memories, now)
