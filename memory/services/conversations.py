"""Conversations: started, renamed, forgotten with an undo window, erased."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from memory.engine.bank import Kind
from memory.engine.text import clean_text, truncate, within
from memory.engine.types import State
from memory.models import Conversation, Labelling, Memory, MemorySource, Recall
from memory.services.jobs import enqueue
from memory.services.ledger import writing
from memory.services.memories import bring_back
from memory.services.merged import take_apart
from memory.services.scrubbing import scrub
from memory.services.turns import TITLE_CHARACTERS, NotFound, lock_conversation

TITLE_GRAPHEMES = 120


def start_conversation(
    *, owner_id: UUID, bank_id: UUID, now: datetime, title: str = "", labelling: Labelling = Labelling.SHUT
) -> Conversation:
    """Make an empty conversation on a bank."""
    return Conversation.objects.create(
        owner_id=owner_id, bank_id=bank_id, title=_title(title), created_at=now, updated_at=now, labelling=labelling
    )


@transaction.atomic
def let_label(conversation_id: UUID, open_: bool) -> Conversation:
    """The owner's word on whether labellers may be shown this conversation. Raises `NotFound`."""
    conversation = lock_conversation(conversation_id)
    conversation.labelling = Labelling.OWNER if open_ else Labelling.REFUSED
    conversation.save(update_fields=["labelling"])
    return conversation


@transaction.atomic
def rename_conversation(conversation_id: UUID, title: str) -> Conversation:
    """Give a conversation another title; an empty one is refused by keeping the old. Raises `NotFound`."""
    conversation = lock_conversation(conversation_id)
    conversation.title = _title(title) or conversation.title
    conversation.save(update_fields=["title"])
    return conversation


def forget_conversation(conversation_id: UUID, *, keep_memories: bool, now: datetime) -> datetime:
    """Hide a conversation, and unless kept the memories that only it told; erase both when the undo window closes."""
    until = now + timedelta(minutes=settings.UNDO_MINUTES)
    bank_id = _bank_of(conversation_id)
    with writing(bank_id) as writer:
        conversation = lock_conversation(conversation_id)
        conversation.forgotten_until, conversation.keep_memories = until, keep_memories
        conversation.save(update_fields=["forgotten_until", "keep_memories"])
        if not keep_memories:
            for memory in _told_only_here(conversation_id, State.HELD, State.ARCHIVED):
                before = writer.hot.state.marks[memory].state
                writer.add(Kind.FORGOTTEN, memory, now, until=until.isoformat(), before=before.value)
            told_here = MemorySource.objects.filter(turn__conversation=conversation_id)
            take_apart(writer, set(told_here.values_list("memory", flat=True)), now)
        enqueue("memory.erase_conversation", str(conversation_id), owner_id=conversation.owner_id, run_after=until)
    return until


def unforget_conversation(conversation_id: UUID, *, now: datetime) -> None:
    """Undo: the conversation is back, and the memories that went with it. Raises `NotFound` when it is too late."""
    bank_id = _bank_of(conversation_id)
    with writing(bank_id) as writer:
        conversation = (
            Conversation.objects.select_for_update().filter(pk=conversation_id, forgotten_until__gt=now).first()
        )
        if conversation is None:
            raise NotFound(_("There is no such conversation, or its time for undo is over."))
        went_with_it = Memory.objects.filter(
            pk__in=_told_only_here(conversation_id, State.FORGOTTEN), forgotten_until=conversation.forgotten_until
        )
        bring_back(writer, list(went_with_it.defer("vector", "features").order_by("written_seq")), now)
        conversation.forgotten_until = None
        conversation.save(update_fields=["forgotten_until"])


def erase_conversation(conversation_id: UUID, *, now: datetime) -> bool:
    """Erase a forgotten conversation: its turns, recalls, sources, and unless kept the memories only it told."""
    conversation = Conversation.objects.filter(pk=conversation_id, forgotten_until__lte=now).first()
    if conversation is None:
        return False
    with writing(conversation.bank_id) as writer:
        writer.erasing = "conversation"
        if not conversation.keep_memories:
            gone = _told_only_here(conversation_id, State.FORGOTTEN)  # not what its person brought back by hand
            for memory in gone:
                writer.add(Kind.ERASED, memory, now)
            writer.erased.update(scrub(gone))
            take_apart(writer, gone, now)
        writer.erased.update(Recall.objects.filter(turn__conversation=conversation_id).delete()[1])
        writer.erased.update(conversation.delete()[1])
    return True


def _told_only_here(conversation_id: UUID, *states: State) -> list[UUID]:
    """Memories in one of `states` that no other conversation told."""
    here = MemorySource.objects.filter(turn__conversation=conversation_id, memory__state__in=states)
    elsewhere = MemorySource.objects.exclude(turn__conversation=conversation_id)
    also = set(elsewhere.filter(memory__in=here.values("memory")).values_list("memory_id", flat=True))
    return sorted(set(here.values_list("memory_id", flat=True)) - also, key=str)


def _bank_of(conversation_id: UUID) -> UUID:
    bank = Conversation.objects.filter(pk=conversation_id).values_list("bank_id", flat=True).first()
    if bank is None:
        raise NotFound(_("There is no such conversation."))
    return bank


def _title(title: str) -> str:
    return within(truncate(" ".join(clean_text(title).split()), TITLE_GRAPHEMES), TITLE_CHARACTERS)
