"""Reads of the chat: agents, conversations and turns as the page and the sockets show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from agents.backends import notice_for
from agents.markdown import render_markdown
from agents.models import Agent, Seat
from memory import selectors as memory
from memory.engine.types import State
from memory.models import Conversation, Recall, Turn, TurnState
from memory.models.conversation import OPEN_STATES
from memory.services.turns import NotFound

TURNS = 60  # that a page of a conversation shows at once
AFTER = 20  # of them, so many come after a turn that is asked for


def agent_json(agent: Agent, opened: Mapping[UUID, UUID] | None = None) -> dict[str, Any]:
    """`opened`: by agent, the person's bank where it is open to analysts."""
    return {
        "id": str(agent.pk), "name": agent.name, "description": agent.description, "backend": agent.backend,
        "model": agent.model, "notice": notice_for(agent), "labelling": agent.labelling,
        "analysts": str((opened or {}).get(agent.pk, "")),
    }  # fmt: skip


def opened_banks() -> dict[UUID, UUID]:
    """By agent: the person's bank, of those that are open to analysts."""
    return dict(Seat.objects.filter(bank__open_to_analysts=True).values_list("agent", "bank"))


def agents_offered() -> list[Agent]:
    """Agents that take new conversations."""
    return list(Agent.objects.filter(active=True))


def seat_of(agent_id: UUID) -> Seat | None:
    """The person's seat with an agent, if they ever took it."""
    return Seat.objects.select_related("bank", "agent").filter(agent=agent_id).first()


def seat_at(bank_id: UUID) -> Seat:
    """The person's seat whose bank this is. Raises `NotFound`."""
    found = Seat.objects.select_related("bank", "agent").filter(bank=bank_id).first()
    if found is None:
        raise NotFound(_("There is no such memory bank."))
    return found


def conversation_rows(query: str) -> list[dict[str, Any]]:
    """The person's conversations, newest first."""
    found = list(memory.conversations(query)[:500])
    agents = _agents_by_bank(found)
    return [
        {
            "id": str(row.pk), "title": row.title, "agent": _agent_name(agents.get(row.bank_id)),
            "updated_at": memory.instant(row.updated_at), "turns": row.turn_count,  # type: ignore[attr-defined]  # annotated by the selector

        }
        for row in found
    ]  # fmt: skip


def conversation_json(conversation: Conversation) -> dict[str, Any]:
    agent = _agents_by_bank([conversation]).get(conversation.bank_id)
    return {
        "id": str(conversation.pk), "title": conversation.title, "agent": agent_json(agent) if agent else None,
        "updated_at": memory.instant(conversation.updated_at), "temporary": False, "labelling": conversation.labelling,
        "analysts": str(conversation.bank_id) if conversation.bank.open_to_analysts else "",
    }  # fmt: skip


def conversation_page(
    conversation_id: UUID, *, before: int | None = None, around: UUID | None = None
) -> dict[str, Any]:
    """A conversation with the last turns of its present branch, or the last before an ordinal, or those around a turn.
    Raises `NotFound`."""
    conversation = memory.conversation(conversation_id)
    if around is not None:
        before = memory.turn(around, conversation_id).ordinal + AFTER + 1
    return {
        "conversation": conversation_json(conversation),
        "turns": turns_json(memory.turns_of(conversation_id, before=before, most=TURNS)),
    }


def turn_json(turn_id: UUID) -> dict[str, Any]:
    """One turn. Raises `NotFound`."""
    return turns_json([memory.turn(turn_id)])[0]


def turns_json(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Turns with their latest recall and what they did to the bank, in a handful of queries."""
    recalls = {turn.pk: list(turn.recalls.all())[-1:] for turn in turns}
    shown = {UUID(row["memory"]) for found in recalls.values() for recall in found for row in _shown(recall)}
    memories = memory.memory_rows(shown)
    told, evicted = memory.told_in(turns), memory.evicted_in(turns)
    parents = [turn.pk for turn in turns if turn.parent_id]
    branches = _branches(parents)
    return [
        {
            "id": str(turn.pk),
            "ordinal": turn.ordinal,
            "parent": str(turn.parent_id) if turn.parent_id else None,
            "state": turn.state,
            "observation": _side(turn, "observation"),
            "action": _side(turn, "action"),
            "error": _error(turn),
            "recall": _recall(recalls[turn.pk][0], memories) if recalls[turn.pk] else None,
            "remembered": told.get(turn.pk, []),
            "evicted": evicted.get(turn.pk, []),
            "timings_ms": turn.timings_ms,
            "branches": branches.get(turn.pk, []),
        }
        for turn in turns
    ]


def recall_json(recall: Recall) -> dict[str, Any]:
    """A whole trace: every stored row with its signals and contributions."""
    memories = memory.memory_rows({UUID(row["memory"]) for row in recall.rows})
    return {
        "id": str(recall.pk), "turn": str(recall.turn_id), "at": memory.instant(recall.at), "adapter": recall.adapter,
        "asking": recall.asking, "bypassed": recall.bypassed, "floor": recall.floor, "seq": recall.seq,
        "candidates": recall.candidates, "below_floor": recall.below_floor, "over_budget": recall.over_budget,
        "normalisation": recall.normalisation, "timings_ms": recall.timings_ms,
        "rows": [memory.recall_row(row, memories, full=True) for row in recall.rows],
        "regretted": recall.regretted,
    }  # fmt: skip


def _shown(recall: Recall) -> list[dict[str, Any]]:
    """The injected rows and the nearest misses."""
    injected = [row for row in recall.rows if row["injected"]]
    misses = [row for row in recall.rows if not row["injected"]][: memory.NEAR_MISSES]
    return [*injected, *misses]


def _recall(recall: Recall, memories: dict[UUID, Any]) -> dict[str, Any]:
    rows = [memory.recall_row(row, memories) for row in _shown(recall)]
    return {
        "id": str(recall.pk), "bypassed": recall.bypassed, "candidates": recall.candidates,
        "below_floor": recall.below_floor,
        "injected": [row for row in rows if row["injected"]],
        "near_misses": [row for row in rows if not row["injected"] and row["state"] != State.ERASED],
    }  # fmt: skip


def _side(turn: Turn, name: str) -> dict[str, Any]:
    text = getattr(turn, name)
    rendered = bool(text) and not (name == "action" and turn.state in OPEN_STATES)
    return {
        "text": text,
        "html": render_markdown(text) if rendered else "",
        "speaker": getattr(turn, f"{name}_speaker"),
        "role": getattr(turn, f"{name}_role"),
        "at": memory.instant(getattr(turn, f"{name}_at")),
    }


def _error(turn: Turn) -> dict[str, Any] | None:
    if turn.state not in (TurnState.FAILED, TurnState.INTERRUPTED):
        return None
    # by itself nothing that cannot help is tried again; a person, who may have mended the cause, always can
    return {"code": turn.error_code, "sentence": turn.error_sentence, "retry": True}


def _branches(parents: Sequence[UUID]) -> dict[UUID, list[str]]:
    """For each turn that replaced another, the chain of turns it replaced, newest first."""
    rows = dict(Turn.objects.filter(successors__in=parents).values_list("successors", "pk")) if parents else {}
    return {turn: [str(parent)] for turn, parent in rows.items()}


def _agents_by_bank(conversations: Sequence[Conversation]) -> dict[UUID, Agent]:
    seats = Seat.objects.filter(bank__in={row.bank_id for row in conversations}).select_related("agent")
    return {seat.bank_id: seat.agent for seat in seats}


def _agent_name(agent: Agent | None) -> dict[str, str] | None:
    return {"id": str(agent.pk), "name": agent.name} if agent else None
