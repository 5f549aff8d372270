"""Imported trajectories: all of a conversation or nothing, and nothing twice."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.engine.text import within
from memory.engine.trajectories.records import Trajectory, TrajectorySide, TrajectoryTurn
from memory.engine.types import BankError
from memory.models import Conversation, Turn, TurnState
from memory.services.remember import remember_turns


@dataclass(frozen=True)
class Imported:
    """What one trajectory became."""

    conversation: UUID
    turns: int
    new: bool


def import_trajectory(trajectory: Trajectory, *, owner_id: UUID, bank_id: UUID, now: datetime) -> Imported:
    """Store a trajectory and remember it by the same path as the chat, in one transaction.

    A trajectory that this bank already has (by its external id) is left as it is.
    """
    external_id = within(trajectory.external_id, 200)
    if not external_id:
        raise BankError("This conversation has no id, so it could not be told from others. Nothing was imported.")
    known = Conversation.objects.filter(bank_id=bank_id, external_id=external_id).first()
    if known is not None:
        return Imported(known.pk, known.turns.count(), new=False)
    with transaction.atomic():
        rows = _turns(trajectory, now)
        last = max((row.action_at or row.observation_at or now for row in rows), default=now)
        conversation = Conversation.objects.create(
            owner_id=owner_id, bank_id=bank_id, title=within(trajectory.title, 200), external_id=external_id,
            metadata={"kind": trajectory.kind, **trajectory.metadata}, created_at=now, updated_at=last,
        )  # fmt: skip
        for row in rows:
            row.owner_id, row.conversation = owner_id, conversation
        Turn.objects.bulk_create(rows, batch_size=500)
        remember_turns(bank_id, rows, now=now)
    return Imported(conversation.pk, len(rows), new=True)


def _turns(trajectory: Trajectory, now: datetime) -> list[Turn]:
    """Rows in order. An instant that the file lacks is the last one before it, or now."""
    rows: list[Turn] = []
    session, position, instant = 0, 0, now
    for number, turn in enumerate(trajectory.turns, 1):
        if turn.session != session:
            session, position = turn.session, 0
        instant = next((side.at for side in turn.sides if side.at), instant)
        rows.append(_turn(turn, number, position, instant))
        position += len(turn.sides)
    return rows


def _turn(turn: TrajectoryTurn, ordinal: int, position: int, instant: datetime) -> Turn:
    row = Turn(
        ordinal=ordinal, session=turn.session, position=position, state=TurnState.DONE,
        place=within(turn.place or "", 200), tool_calls=list(turn.tool_calls), outcome=turn.outcome,
        created_at=instant, heartbeat_at=instant, finished_at=instant,
    )  # fmt: skip
    for name, side in (("observation", turn.observation), ("action", turn.action)):
        if side is not None:
            _fill(row, name, side, instant)
    return row


def _fill(row: Turn, name: str, side: TrajectorySide, instant: datetime) -> None:
    setattr(row, name, side.text)
    setattr(row, f"{name}_speaker", within(side.speaker, 120))
    setattr(row, f"{name}_role", side.role.value)
    setattr(row, f"{name}_at", side.at or instant)
    if side.external_id:
        row.external_ids[name] = side.external_id
