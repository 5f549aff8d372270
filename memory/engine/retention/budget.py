"""Bringing a bank back under its budget: the policy ranks, this file counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.engine.columns import Columns, columns
from memory.engine.retention.policy import Flags, RetentionPolicy
from memory.engine.types import BankError, Budget, Floats, MemoryItem


@dataclass(frozen=True)
class Eviction:
    """One memory that leaves, with what explains it."""

    memory: UUID
    score: float
    over: str  # "memories" or "tokens": which budget was exceeded
    instead: UUID | None  # the lowest-ranked memory that stayed


def choose_evictions(
    memories: Sequence[MemoryItem], budget: Budget, policy: RetentionPolicy, now: datetime
) -> list[Eviction]:
    """Choose what leaves so that `memories` fit `budget`: lowest rank first, pinned ones never.

    What the policy spares leaves after all else; where it keeps turns whole, the others of a turn leave with the first,
    so that more may leave than the budget asks. Too many memories: by rank. Too many tokens: by rank per token^0.5
    where ranks are values (notes on measured retention), so that one long memory does not push out three short ones of
    equal worth. Raises `BankError` when the pinned memories alone exceed the budget.
    """
    of_memories = columns(memories)
    sizes = of_memories["tokens"]
    count, tokens = len(memories), int(sizes.sum())
    if count <= budget.memories and tokens <= budget.tokens:
        return []
    ranks, spared = policy.rank(memories, now), policy.spared(memories, now)
    turn = of_memories["turn"] if policy.whole_turns else None
    by_rank = _order(ranks, spared, of_memories)
    gone: dict[int, str] = {}
    for over in ("memories", "tokens"):
        if tokens <= budget.tokens and over == "tokens":
            break  # spares an order that nobody reads
        per_token = over == "tokens" and policy.by_value
        for i in map(int, _order(_per_token(ranks, sizes, turn), spared, of_memories) if per_token else by_rank):
            if (count <= budget.memories) if over == "memories" else (tokens <= budget.tokens):
                break
            if i in gone or memories[i].pinned:
                continue
            for j in [i] if turn is None else map(int, np.flatnonzero(turn == turn[i])):
                if j not in gone and not memories[j].pinned:
                    gone[j] = over
                    count, tokens = count - 1, tokens - int(sizes[j])
    if count > budget.memories or tokens > budget.tokens:
        raise BankError("The pinned memories alone fill this bank. Unpin some, or raise its budget.")
    lowest = next((memories[i].id for i in map(int, by_rank) if i not in gone), None)
    return [Eviction(memories[i].id, float(ranks[i]), over, lowest) for i, over in gone.items()]


def leaving_order(
    memories: Sequence[MemoryItem], policy: RetentionPolicy, now: datetime
) -> list[tuple[MemoryItem, float]]:
    """The memories with their ranks, what would leave first in front; pinned ones stand among them."""
    if not memories:
        return []
    ranks = policy.rank(memories, now)
    order = _order(ranks, policy.spared(memories, now), columns(memories))
    return [(memories[i], float(ranks[i])) for i in map(int, order)]


def _per_token(ranks: Floats, sizes: npt.NDArray[np.int64], turn: npt.NDArray[np.int64] | None) -> Floats:
    """Rank by the root of the length; of what leaves together the length of the whole."""
    if turn is not None:
        _, turn = np.unique(turn, return_inverse=True)
        sizes = np.bincount(turn, weights=sizes).astype(np.int64)[turn]
    return np.asarray(ranks / np.sqrt(np.maximum(sizes, 1)), dtype=np.float32)


def _order(ranks: Floats, spared: Flags, of_memories: Columns) -> npt.NDArray[np.int64]:
    """Rows by rank, lowest first, the older first among equals; what is spared after all else."""
    keys = (of_memories["written"], ranks)
    return np.lexsort((*keys, spared) if spared.any() else keys)
