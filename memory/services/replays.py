"""The policy lab on a stored conversation. It reads, and changes no row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate
from typing import Any
from uuid import UUID, uuid5

from memory import selectors
from memory.adapters import adapter_of
from memory.encoding import encoder
from memory.engine.adapter import Adapter
from memory.engine.hot import Loaded
from memory.engine.lexical import terms
from memory.engine.replay import Need, Replayed, ReplayTurn, Step, needs_of, replay_banks, unheard
from memory.engine.retention import RetentionPolicy, policy_named
from memory.engine.types import BankError, Budget, Cue, MemoryItem, NewSide, RecallLimits, Side
from memory.hot_banks import load
from memory.models import Bank, Memory, MemorySource, Recall, Turn, TurnState
from memory.services.recalls import cue_words
from memory.services.remember import TurnToRemember, sides_told

BATCH = 32  # texts that are encoded between two steps: about two seconds of a slow processor

Told = tuple[UUID, Side, int]  # turn, side, piece


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
    """A stored conversation as banks can be told it, again and again. Asks nothing of the database."""

    bank: Bank
    turns: list[ReplayTurn]
    ordinals: Mapping[UUID, int]  # by turn

    @property
    def told(self) -> int:
        """How many sides it tells, long ones piece by piece: a bank with room for so many forgets nothing."""
        return sum(len(turn.sides) for turn in self.turns)

    @property
    def _limits(self) -> RecallLimits:
        return RecallLimits(tokens=self.bank.recall_tokens)

    def needs(self, by: Adapter, step: Step = unheard) -> list[list[Need]]:
        """What each turn needs: what a bank that never forgets recalls for it by this adapter."""
        return needs_of(self.turns, adapter=by, width=self.bank.space.width, limits=self._limits, step=step)

    def replayed(
        self, needs: Sequence[Sequence[Need]], asked: Sequence[tuple[RetentionPolicy, Budget]], adapter: Adapter,
        step: Step = unheard,
    ) -> list[Replayed]:  # fmt: skip
        """It under each of these policies and budgets, counted against `needs`; `step` hears how far it is."""
        return replay_banks(
            self.turns, needs, asked, adapter=adapter, width=self.bank.space.width, limits=self._limits,
            evict_at=self.bank.evict_at, step=step,
        )  # fmt: skip


def replay_conversation(
    conversation_id: UUID, policies: Sequence[str], *, memories: int, tokens: int | None = None
) -> Replay:
    """Stream a conversation of the acting user through `policies`, each on a bank of that budget of its own.

    Without `tokens` the budget in tokens is the bank's. Raises `NotFound`, and `BankError` for a policy or a budget
    that cannot be.
    """
    named = [policy_named(name) for name in policies]
    story = stored_conversation(conversation_id).story()
    budget = Budget(memories, story.bank.budget_tokens if tokens is None else tokens)
    if budget.memories < 1 or budget.tokens < 1:
        raise BankError("A budget is at least 1 memory and 1 token.")
    adapter = adapter_of(story.bank)
    reports = story.replayed(story.needs(adapter), [(policy, budget) for policy in named], adapter)
    return Replay(conversation_id, len(story.turns), budget, reports, story.ordinals)


@dataclass(frozen=True)
class StoredConversation:
    """What the database has of a conversation, read in one transaction; to make a story of it needs none."""

    bank: Bank
    turns: list[Turn]
    memories: Mapping[Told, Loaded]  # that say what the turns say, with ids and vectors
    recalled: Mapping[UUID, Sequence[str]]  # texts that were recalled into a turn

    def story(self, step: Step = unheard) -> Story:
        """Its turns as the lab takes them. What has no stored vector is encoded: `step` hears how far that is."""
        sides = sides_told(
            [TurnToRemember(turn, recalled=[terms(text) for text in self.recalled[turn.pk]]) for turn in self.turns],
            {key: found.vector for key, found in self.memories.items()}, batch=BATCH,
            step=lambda share: step(share / 2),
        )  # fmt: skip
        out: list[ReplayTurn] = []
        for turn, at, cue in self._asked(lambda share: step((1 + share) / 2)):
            told = [(replace(side, id=self._id(side)), context) for side, context in sides[turn.pk]]
            out.append(ReplayTurn(turn.pk, turn.ordinal, at, cue, told))
        return Story(self.bank, out, {turn.pk: turn.ordinal for turn in self.turns})

    def _asked(self, step: Step) -> Iterator[tuple[Turn, datetime, Cue | None]]:
        """Each turn with its moment, never before the one of the turn before it, and its cue."""
        moments = list(accumulate((turn.observation_at or turn.created_at for turn in self.turns), max))
        words = list(map(cue_words, self.turns, [None, *self.turns[:-1]]))
        for start in range(0, len(self.turns), BATCH):
            part = slice(start, start + BATCH)
            vectors = encoder().encode([one.embedded for one in words[part]])
            for turn, at, one, vector in zip(self.turns[part], moments[part], words[part], vectors, strict=True):
                asks = bool(turn.observation.strip())
                yield turn, at, one.cue(turn, vector, exclude_turns=frozenset(), now=at) if asks else None
            step(min(1.0, (start + BATCH) / len(self.turns)))

    def _id(self, side: NewSide) -> UUID:
        """The stored memory's id; without one an id that is the same at each replay."""
        found = self.memories.get((side.turn, side.side, side.piece))
        return found.item.id if found else uuid5(side.turn, f"{side.side} {side.piece}")


def stored_conversation(conversation_id: UUID) -> StoredConversation:
    """A conversation of the acting user. Raises `NotFound`."""
    conversation = selectors.conversation(conversation_id)
    turns = [turn for turn in selectors.turns_of(conversation_id) if turn.remembered or turn.state == TurnState.DONE]
    return StoredConversation(conversation.bank, turns, _stored(turns), _recalled_texts(turns))


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
    ids = {turn.pk: [memory for trace in turn.recalls.all() for memory in _injected(trace)] for turn in turns}
    wanted = {memory for found in ids.values() for memory in found}
    texts = dict(Memory.objects.filter(pk__in=wanted).values_list("pk", "text"))
    return {turn: [texts[memory] for memory in found if memory in texts] for turn, found in ids.items()}


def _injected(trace: Recall) -> list[UUID]:
    """What the prompt had of it, best first: as `Recall.rows` says, which unpacks every number besides."""
    injected = set(trace.injected)
    return [memory for memory in trace.memories if memory in injected]


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
