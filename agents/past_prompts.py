"""The prompt of a past turn, built again: the block of memories as it was sent, or whole, for another recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agents.backends import block_for, limits_for
from agents.models import Agent
from agents.runtime.prompt import Block, PastTurn, Prompt, build_prompt, recalled_block
from agents.runtime.recalled import RecalledMemory, short_ids
from agents.runtime.turn import TurnTask
from agents.turns import HISTORY_TURNS
from memory import selectors
from memory.engine.text import count_tokens
from memory.engine.types import Recollection, State
from memory.models import Memory
from memory.why import Shown, Why, as_is, turns_before


@dataclass(frozen=True)
class PastTask:
    """A past turn as its agent would take it up now, with the turns before it as they stood then."""

    agent: Agent
    task: TurnTask
    history: Sequence[PastTurn]
    shown: frozenset[UUID]  # the turns that the prompt shows anyway

    @property
    def excluded(self) -> list[frozenset[UUID]]:
        """Which turns the recall may have left out, the likeliest first."""
        none: frozenset[UUID] = frozenset()
        return [none, self.shown] if self.task.block == "none" else [self.shown, none]


def past_task(why: Why) -> PastTask | None:
    """The task of a recall's turn; None where its bank belongs to no agent any more."""
    agent = Agent.objects.filter(seats__bank=why.bank).first()
    if agent is None:
        return None
    before = turns_before(why.turn, why.trace, HISTORY_TURNS)
    task = TurnTask(
        observation=why.turn.observation, persona=agent.persona, limits=limits_for(agent), block=block_for(agent),
        zone=why.turn.owner.zone,
    )  # fmt: skip
    history = [PastTurn(turn.observation, turn.action) for turn in before]
    return PastTask(agent, task, history, frozenset(turn.pk for turn in before))


@dataclass(frozen=True)
class SentBlock:
    """The block of recalled memories of a past turn. `text` is "" where there was none."""

    text: str
    place: Block  # where the agent's settings put it now
    memories: int = 0
    hidden: int = 0  # were in it, and are being forgotten
    left: int = 0  # were in it, and have left the bank since


def block_sent(why: Why, *, shown: Shown = as_is) -> SentBlock:
    """The block as it was sent, from the trace and the words that its memories still have.

    Their short names are those of then: memories that were erased since count for them too.
    """
    trace = why.trace
    agent = Agent.objects.filter(seats__bank=why.bank).first()
    place: Block = block_for(agent) if agent else "none"
    memories = selectors.memory_rows(trace.recalled)
    rows = [row for row in trace.rows if row["recalled"] and UUID(row["memory"]) in memories]
    recalled = [_stored(row, memories[UUID(row["memory"])], shown) for row in rows]
    names = short_ids([*recalled, *(_nameless(memory, why) for memory in why.erased)])
    sent = [one for one in recalled if UUID(one.id) in set(trace.injected)]
    told = [one for one in sent if one.text]
    left = sum(memories[UUID(one.id)].state == State.ARCHIVED for one in sent)
    text = recalled_block(told, why.turn.owner.zone, names)
    return SentBlock(text if place != "none" else "", place, len(sent), len(sent) - len(told), left)


def _stored(row: Mapping[str, Any], memory: Memory, shown: Shown) -> RecalledMemory:
    return RecalledMemory(
        id=row["memory"], text=shown(selectors.shown_text(memory)), speaker=memory.speaker, role=memory.role,
        at=memory.at, weight=row["weight"], group=row["group"],
    )  # fmt: skip


def _nameless(memory: UUID, why: Why) -> RecalledMemory:
    """What is left of an erased memory: its id, by which the others got their short names."""
    return RecalledMemory(str(memory), "", "", "", why.trace.at, 0.0, "maybe")


def prompt_for(past: PastTask, found: Recollection, *, shown: Shown = as_is) -> tuple[Prompt, list[RecalledMemory]]:
    """The whole prompt of the turn with what another recall hands on, and what that is."""
    task = past.task
    recalled = [
        RecalledMemory(
            id=str(row.item.id), text=shown(row.item.text), speaker=row.item.speaker, role=row.item.role.value,
            at=row.item.at.astimezone(task.zone), weight=row.weight, group=row.group,
        )
        for row in found.injected
    ]  # fmt: skip
    prompt = build_prompt(
        persona=task.persona, recalled=recalled, history=past.history, observation=task.observation,
        limits=task.limits, block=task.block, count_tokens=count_tokens, zone=task.zone,
    )  # fmt: skip
    return prompt, recalled


def block_of(past: PastTask, found: Recollection, *, shown: Shown = as_is) -> str:
    """The block that another recall would send; "" for none."""
    prompt, recalled = prompt_for(past, found, shown=shown)
    inside = [one for one in recalled if one.id in prompt.injected]
    return recalled_block(inside, past.task.zone, short_ids(recalled))
