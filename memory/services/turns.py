"""The life of a turn: opened, claimed, kept alive, ended. Each verb is one short transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from memory.engine.text import clean_text, truncate, within
from memory.engine.types import BankError
from memory.models import Conversation, Turn, TurnState
from memory.models.conversation import OPEN_STATES

WAITING_SIGN = timedelta(seconds=2)  # how often a waiting turn says that its server lives
TITLE_GRAPHEMES = 60
TITLE_CHARACTERS = 200  # what the column holds: a grapheme may be many


class MessageRefused(BankError):
    """The message cannot be taken as it is; the sentence says why and what to do."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class NotFound(BankError):
    """There is no such thing, or it belongs to somebody else: the two are not told apart."""


@dataclass(frozen=True)
class Ending:
    """How a turn ended: its state, what the agent said so far, and for a failure what happened."""

    state: TurnState
    action: str
    code: str = ""
    sentence: str = ""
    retry: bool = False


def accept_message(text: str) -> str:
    """Clean a message and check its length. Raises `MessageRefused` with a sentence."""
    cleaned = clean_text(text)
    if not cleaned.strip():
        raise MessageRefused("empty", _("The message is empty. Write something first."))
    if len(cleaned) > settings.MESSAGE_LIMIT:
        raise MessageRefused(
            "too_long",
            _("The message has %(size)s characters and at most %(limit)s fit. Send it in parts.")
            % {"size": f"{len(cleaned):,}", "limit": f"{settings.MESSAGE_LIMIT:,}"},
        )
    return cleaned


@transaction.atomic
def open_turn(
    *, conversation_id: UUID, text: str, speaker: str, agent_speaker: str, now: datetime, client: UUID | None = None,
    replaces: UUID | None = None,
) -> Turn:  # fmt: skip
    """Save an observation as a queued turn. Sent twice with one `client` it is stored once.

    `replaces` names the turn that this one edits: that turn and all after it become a branch. Raises `MessageRefused`
    or `NotFound`.
    """
    text = accept_message(text)
    conversation = lock_conversation(conversation_id)
    if client and (sent := Turn.objects.filter(conversation=conversation, client=client).first()):
        return sent
    parent = _replace_from(conversation, replaces, now) if replaces else None
    turns = conversation.turns.filter(replaced_at=None)
    last = turns.aggregate(ordinal=Max("ordinal"), position=Max("position"), session=Max("session"))
    ordinal = parent.ordinal if parent else (last["ordinal"] or 0) + 1
    turn = Turn.objects.create(
        owner_id=conversation.owner_id, conversation=conversation, ordinal=ordinal, parent=parent,
        session=last["session"] or 0, position=(last["position"] if last["position"] is not None else -2) + 2,
        client=client, observation=text, observation_speaker=speaker, observation_at=now, action_speaker=agent_speaker,
        created_at=now, heartbeat_at=now,
    )  # fmt: skip
    conversation.updated_at = now
    if not conversation.title:
        conversation.title = within(truncate(" ".join(text.split()), TITLE_GRAPHEMES), TITLE_CHARACTERS)
    conversation.save(update_fields=["updated_at", "title"])
    return turn


def lock_conversation(conversation_id: UUID) -> Conversation:
    """Read a conversation for change. Raises `NotFound`."""
    found = Conversation.objects.select_for_update().filter(pk=conversation_id, forgotten_until=None).first()
    if found is None:
        raise NotFound(_("There is no such conversation."))
    return found


def _replace_from(conversation: Conversation, turn_id: UUID, now: datetime) -> Turn:
    parent = conversation.turns.filter(pk=turn_id, replaced_at=None).first()
    if parent is None:
        raise NotFound(_("There is no such turn in this conversation."))
    later = conversation.turns.filter(replaced_at=None, ordinal__gte=parent.ordinal)
    if later.filter(state__in=OPEN_STATES).exists():
        raise MessageRefused("busy", _("A reply is still being written. Stop it first, then edit."))
    later.update(replaced_at=now)
    return parent


def claim_turn(turn_id: UUID, now: datetime) -> bool:
    """Set a queued turn running if it is the next of its conversation and no other runs.

    A running turn without a heartbeat for ten seconds is ended as interrupted first. False: wait and ask again.
    """
    try:
        with transaction.atomic():
            turn = Turn.objects.filter(pk=turn_id).first()
            if turn is None or turn.state != TurnState.QUEUED:
                return False
            interrupt_silent(now, conversation_id=turn.conversation_id)
            others = Turn.objects.filter(conversation_id=turn.conversation_id).exclude(pk=turn_id)
            waiting = others.filter(state=TurnState.QUEUED, ordinal__lt=turn.ordinal)
            if waiting.exists() or others.filter(state=TurnState.RUNNING).exists():
                if now - turn.heartbeat_at > WAITING_SIGN:
                    Turn.objects.filter(pk=turn_id).update(heartbeat_at=now)
                return False
            return bool(
                Turn.objects.filter(pk=turn_id, state=TurnState.QUEUED).update(
                    state=TurnState.RUNNING, heartbeat_at=now, action="", error_code="", error_sentence=""
                )
            )
    except IntegrityError:  # another process was faster: one running turn a conversation
        return False


def interrupt_silent(now: datetime, *, conversation_id: UUID | None = None) -> list[UUID]:
    """End turns that gave no sign of life for ten seconds; what they had said is kept. Returns their ids."""
    silent = Turn.objects.filter(
        state__in=OPEN_STATES, heartbeat_at__lt=now - timedelta(seconds=settings.HEARTBEAT_SECONDS)
    )
    if conversation_id:
        silent = silent.filter(conversation_id=conversation_id, state=TurnState.RUNNING)
    ended = list(silent.values_list("pk", flat=True))
    if ended:
        silent.update(
            state=TurnState.INTERRUPTED,
            error_code="interrupted",
            error_sentence=_("The reply was cut off because the server stopped. What was said so far is kept."),
            error_retry=True,
            finished_at=now,
            action_at=now,
        )
    return ended


def checkpoint_turn(turn_id: UUID, *, action: str, now: datetime) -> bool:
    """Save what was said so far and a heartbeat. Returns whether to stop: somebody asked, or it is no longer ours."""
    kept = Turn.objects.filter(pk=turn_id, state=TurnState.RUNNING).update(action=clean_text(action), heartbeat_at=now)
    if not kept:
        return True
    return Turn.objects.filter(pk=turn_id, stop_requested=True).exists()


def end_turn(turn_id: UUID, ending: Ending, *, now: datetime, timings: dict[str, Any]) -> bool:
    """End a running turn. False when it was ended by somebody else meanwhile."""
    return bool(
        Turn.objects.filter(pk=turn_id, state=TurnState.RUNNING).update(
            state=ending.state, action=clean_text(ending.action), action_at=now, finished_at=now,
            error_code=ending.code, error_sentence=ending.sentence, error_retry=ending.retry, timings_ms=timings,
        )
    )  # fmt: skip


def request_stop(turn_id: UUID, now: datetime) -> None:
    """Ask an open turn to stop; one that still waits ends at once. Raises `NotFound`."""
    turn = Turn.objects.filter(pk=turn_id).first()
    if turn is None:
        raise NotFound(_("There is no such turn."))
    waiting = Turn.objects.filter(pk=turn_id, state=TurnState.QUEUED)
    if not waiting.update(state=TurnState.STOPPED, finished_at=now):
        Turn.objects.filter(pk=turn_id, state=TurnState.RUNNING).update(stop_requested=True)


def requeue_turn(turn_id: UUID, now: datetime) -> Turn:
    """Queue an ended turn that may be tried again. Raises `NotFound` or `MessageRefused`."""
    turn = Turn.objects.filter(pk=turn_id, replaced_at=None).first()
    if turn is None:
        raise NotFound(_("There is no such turn."))
    again = Turn.objects.filter(
        pk=turn_id, state__in=[TurnState.FAILED, TurnState.INTERRUPTED, TurnState.STOPPED]
    ).update(state=TurnState.QUEUED, stop_requested=False, heartbeat_at=now, finished_at=None)
    if not again:
        raise MessageRefused("not_retryable", _("This turn has its reply. Edit the message to ask anew."))
    turn.refresh_from_db()
    return turn
