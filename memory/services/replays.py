"""The policy lab on a stored conversation. It reads, and changes no row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid5

from memory import selectors
from memory.adapters import adapter_of
from memory.engine.adapter import Adapter
from memory.engine.hot import Loaded
from memory.engine.lexical import terms
from memory.engine.replay import Replayed, ReplayTurn, replay_banks
from memory.engine.retention import RetentionPolicy, policy_named
from memory.engine.types import BankError, Budget, MemoryItem, NewSide, RecallLimits, Side
from memory.hot_banks import load
from memory.models import Bank, Memory, MemorySource, Turn, TurnState
from memory.services.recalls import prepare_cue
from memory.services.remember import TurnToRemember, sides_told

Told = tuple[UUID, Side, int]  # turn, side, piece
Step = Callable[[float], None]  # told the share of the work that is done


@dataclass(frozen=True)
class Replay:
    """A conversation under several policies."""

    conversation: UUID
    turns: int
    budget: Budget
    policies: list[Replayed]
    ordinals: Mapping[UUID, int]  # by turn


@dataclass(frozen=True)
class Story:
    """A stored conversation as banks can be told it, again and again."""

    bank: Bank
    turns: list[ReplayTurn]
    ordinals: Mapping[UUID, int]  # by turn

    @property
    def told(self) -> int:
        """How many sides it tells, long ones piece by piece: a bank with room for so many forgets nothing."""
        return sum(len(turn.sides) for turn in self.turns)

    def replayed(
        self, asked: Sequence[tuple[RetentionPolicy, Budget]], adapter: Adapter, step: Step = lambda share: None
    ) -> list[Replayed]:
        """It under each of these policies and budgets. Asks nothing of the database; `step` hears how far it is."""
        return replay_banks(
            self.turns, asked, adapter=adapter, width=self.bank.space.width,
            limits=RecallLimits(tokens=self.bank.recall_tokens), evict_at=self.bank.evict_at, step=step,
        )  # fmt: skip


def story_of(conversation_id: UUID, step: Step = lambda share: None) -> Story:
    """A conversation of the acting user. Raises `NotFound`."""
    conversation = selectors.conversation(conversation_id)
    turns = [turn for turn in selectors.turns_of(conversation_id) if turn.remembered or turn.state == TurnState.DONE]
    return Story(conversation.bank, replay_turns_of(turns, step), {turn.pk: turn.ordinal for turn in turns})


def replay_conversation(
    conversation_id: UUID, policies: Sequence[str], *, memories: int, tokens: int | None = None
) -> Replay:
    """Stream a conversation of the acting user through `policies`, each on a bank of that budget of its own.

    Without `tokens` the budget in tokens is the bank's. Raises `NotFound`, and `BankError` for a policy or a budget
    that cannot be.
    """
    named = [policy_named(name) for name in policies]
    story = story_of(conversation_id)
    budget = Budget(memories, story.bank.budget_tokens if tokens is None else tokens)
    if budget.memories < 1 or budget.tokens < 1:
        raise BankError("A budget is at least 1 memory and 1 token.")
    reports = story.replayed([(policy, budget) for policy in named], adapter_of(story.bank))
    return Replay(conversation_id, len(story.turns), budget, reports, story.ordinals)


def replay_turns_of(turns: Sequence[Turn], step: Step = lambda share: None) -> list[ReplayTurn]:
    """Stored turns as the lab takes them: with the ids and vectors of stored memories, else made anew."""
    stored = _stored(turns)
    texts = _recalled_texts(turns)
    sides = sides_told(
        [TurnToRemember(turn, recalled=[terms(text) for text in texts[turn.pk]]) for turn in turns],
        {key: found.vector for key, found in stored.items()},
    )
    out: list[ReplayTurn] = []
    previous: Turn | None = None
    for number, turn in enumerate(turns, 1):
        at = max([turn.observation_at or turn.created_at, *(before.at for before in out[-1:])])
        cue = None
        if turn.observation.strip():
            cue = prepare_cue(turn, previous=previous, exclude_turns=frozenset(), now=at).cue
        told = [(replace(side, id=_id(side, stored)), context) for side, context in sides[turn.pk]]
        out.append(ReplayTurn(turn.pk, turn.ordinal, at, cue, told))
        previous = turn
        step(number / len(turns))
    return out


def _id(side: NewSide, stored: Mapping[Told, Loaded]) -> UUID:
    """The stored memory's id; without one an id that is the same at each replay."""
    found = stored.get((side.turn, side.side, side.piece))
    return found.item.id if found else uuid5(side.turn, f"{side.side} {side.piece}")


def _stored(turns: Sequence[Turn]) -> dict[Told, Loaded]:
    """Memories that these turns wrote and that still say what the turn says, by turn, side and piece."""
    said = {turn.pk: {Side.OBSERVATION: turn.observation, Side.ACTION: turn.action} for turn in turns}
    rows = list(
        MemorySource.objects.filter(turn__in=said, how="written").values_list("turn", "side", "piece", "memory")
    )
    loaded = load({memory for *_, memory in rows})
    return {
        (turn, Side(side), piece): loaded[memory]
        for turn, side, piece, memory in rows
        if memory in loaded and loaded[memory].item.text in said[turn][Side(side)]
    }


def _recalled_texts(turns: Sequence[Turn]) -> dict[UUID, list[str]]:
    """What was recalled into each turn, as its traces say: a reply's repetitions of it are not the reply's own."""
    ids = {
        turn.pk: [UUID(row["memory"]) for trace in turn.recalls.all() for row in trace.rows if row["injected"]]
        for turn in turns
    }
    wanted = {memory for found in ids.values() for memory in found}
    texts = dict(Memory.objects.filter(pk__in=wanted).values_list("pk", "text"))
    return {turn: [texts[memory] for memory in found if memory in texts] for turn, found in ids.items()}


def replay_json(replay: Replay) -> dict[str, Any]:
    """A replay as the command prints it."""
    return {
        "conversation": str(replay.conversation),
        "turns": replay.turns,
        "budget": {"memories": replay.budget.memories, "tokens": replay.budget.tokens},
        "policies": [_policy_json(report, replay.ordinals) for report in replay.policies],
    }


def _policy_json(report: Replayed, ordinals: Mapping[UUID, int]) -> dict[str, Any]:
    return {
        "policy": report.policy.name,
        "held": len(report.kept),
        "tokens": report.tokens,
        "written": report.written,
        "evicted": report.evicted,
        "merged": report.merged,
        "recalled": report.recalled,
        "missed": len(report.misses),
        "kept": [_memory_json(memory, ordinals) for memory in report.kept],
        "misses": [
            {
                "ordinal": miss.ordinal, "left": miss.left, "fit": round(miss.fit, 5), "weight": round(miss.weight, 6),
                **{f"memory_{name}" if name == "ordinal" else name: value
                   for name, value in _memory_json(miss.memory, ordinals).items()},
            }
            for miss in report.misses
        ],
    }  # fmt: skip


def _memory_json(memory: MemoryItem, ordinals: Mapping[UUID, int]) -> dict[str, Any]:
    return {
        "memory": str(memory.id), "turn": str(memory.turn), "ordinal": ordinals.get(memory.turn),
        "side": memory.side.value, "piece": memory.piece, "text": memory.text, "tokens": memory.tokens,
        "importance": round(memory.importance, 4), "kind": memory.kind,
    }  # fmt: skip
