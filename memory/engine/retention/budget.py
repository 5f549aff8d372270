"""Bringing a bank back under its budget: the policy ranks, this file counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.engine.columns import Columns, columns
from memory.engine.retention.policy import Flags, RetentionPolicy
from memory.engine.types import BankError, Budget, Floats, MemoryItem

FEW = 64  # of the lowest ranks are sorted at first


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
    pinned = of_memories["pinned"]
    gone: dict[int, str] = {}
    for over in ("memories", "tokens"):
        if tokens <= budget.tokens and over == "tokens":
            break  # spares an order that nobody reads
        per_token = over == "tokens" and policy.by_value
        for i in _lowest_first(_per_token(ranks, sizes, turn) if per_token else ranks, spared, of_memories):
            if (count <= budget.memories) if over == "memories" else (tokens <= budget.tokens):
                break
            if i in gone or pinned[i]:
                continue
            for j in [i] if turn is None else map(int, np.flatnonzero(turn == turn[i])):
                if j not in gone and not pinned[j]:
                    gone[j] = over
                    count, tokens = count - 1, tokens - int(sizes[j])
    if count > budget.memories or tokens > budget.tokens:
        raise BankError("The pinned memories alone fill this bank. Unpin some, or raise its budget.")
    lowest = next((memories[i].id for i in _lowest_first(ranks, spared, of_memories) if i not in gone), None)
    return [Eviction(memories[i].id, float(ranks[i]), over, lowest) for i, over in gone.items()]


def leaving_order(
    memories: Sequence[MemoryItem], policy: RetentionPolicy, now: datetime
) -> list[tuple[MemoryItem, float]]:
    """The memories with their ranks, what would leave first in front; pinned ones stand among them."""
    if not memories:
        return []
    ranks = policy.rank(memories, now)
    order = _lowest_first(ranks, policy.spared(memories, now), columns(memories))
    return [(memories[i], float(ranks[i])) for i in order]


def _per_token(ranks: Floats, sizes: npt.NDArray[np.int64], turn: npt.NDArray[np.int64] | None) -> Floats:
    """Rank by the root of the length; of what leaves together the length of the whole."""
    if turn is not None:
        _, turn = np.unique(turn, return_inverse=True)
        sizes = np.bincount(turn, weights=sizes).astype(np.int64)[turn]
    return np.asarray(ranks / np.sqrt(np.maximum(sizes, 1)), dtype=np.float32)


def _lowest_first(ranks: Floats, spared: Flags, of_memories: Columns) -> Iterator[int]:
    """Rows by rank, lowest first, the older first among equals; what is spared after all else.

    Mostly one or two are asked for: of many memories only the lowest are sorted, until the others are asked for too.
    """
    first = np.arange(len(ranks))
    if len(ranks) > 8 * FEW and not spared.any():
        first = np.flatnonzero(ranks <= np.partition(ranks, FEW)[FEW])
        yield from _ordered(first, ranks, spared, of_memories)
        first = np.setdiff1d(np.arange(len(ranks)), first, assume_unique=True)
    yield from _ordered(first, ranks, spared, of_memories)


def _ordered(rows: npt.NDArray[np.int64], ranks: Floats, spared: Flags, of_memories: Columns) -> list[int]:
    order: list[int] = rows[np.lexsort((of_memories["written"][rows], ranks[rows], spared[rows]))].tolist()
    return order
