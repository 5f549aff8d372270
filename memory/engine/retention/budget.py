"""Bringing a bank back under its budget: the policy ranks, this file counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np

from memory.engine.retention.policy import RetentionPolicy
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

    Too many memories: by rank. Too many tokens: by rank per token^0.5 where ranks are values (notes on measured
    retention), so that one long memory does not push out three short ones of equal worth. Raises `BankError` when
    the pinned memories alone exceed the budget.
    """
    count, tokens = len(memories), sum(memory.tokens for memory in memories)
    if count <= budget.memories and tokens <= budget.tokens:
        return []
    ranks = policy.rank(memories, now)
    free = np.array([not memory.pinned for memory in memories], dtype=bool)
    sizes = np.array([memory.tokens for memory in memories], dtype=np.int64)
    gone: dict[int, str] = {}
    for over, by in (("memories", ranks), ("tokens", _per_token(ranks, sizes) if policy.per_token else ranks)):
        for i in _order(by, memories):
            if (count <= budget.memories) if over == "memories" else (tokens <= budget.tokens):
                break
            if free[i] and i not in gone:
                gone[i] = over
                count, tokens = count - 1, tokens - int(sizes[i])
    if count > budget.memories or tokens > budget.tokens:
        raise BankError("The pinned memories alone fill this bank. Unpin some, or raise its budget.")
    instead = _lowest_staying(ranks, gone, memories)
    return [Eviction(memories[i].id, float(ranks[i]), over, instead) for i, over in gone.items()]


def _per_token(ranks: Floats, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    return np.asarray(ranks / np.sqrt(np.maximum(sizes, 1)), dtype=np.float32)


def _order(ranks: Floats, memories: Sequence[MemoryItem]) -> list[int]:
    """Lowest rank first, the older first among equals."""
    written = np.fromiter((memory.written for memory in memories), dtype=np.int64, count=len(memories))
    return [int(i) for i in np.lexsort((written, ranks))]


def _lowest_staying(ranks: Floats, gone: dict[int, str], memories: Sequence[MemoryItem]) -> UUID | None:
    for i in _order(ranks, memories):
        if i not in gone:
            return memories[i].id
    return None
