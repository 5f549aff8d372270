"""Reads of what the turns of one conversation recalled, as arrays: from the ledger, since the traces of thousands of
turns would be too much to read at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt
from django.db import connection

Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

# By the ledger's own order: a join would leave it to the planner how, and a bank just filled has told it nothing yet.
_AT_ONCE = 10_000
_READ = (
    "SELECT json_agg(json_build_array(turn, data->>'recall', data->'memories', data->'weights') ORDER BY seq)::text "
    "FROM memory_event WHERE bank_id = %s AND seq >= %s AND seq < %s AND kind = 'recalled'"
)


@dataclass(frozen=True)
class HandedOn:
    """Memories that were handed on, one place each in the arrays, in the ledger's order."""

    recalls: Sequence[str]  # ids of recalls
    memories: Sequence[UUID]  # each once
    at_recall: Ints  # (N,): where in `recalls`
    at_memory: Ints  # (N,): where in `memories`
    turns: Ints  # (N,): number of the turn
    weights: Numbers  # (N,)


def handed_on(bank: UUID, first_seq: int, last_seq: int, turns: Mapping[UUID, int]) -> HandedOn:
    """What `turns` (with their numbers) of one conversation recalled, by events `first_seq` to `last_seq`."""
    numbers = {str(turn): ordinal for turn, ordinal in turns.items()}
    recalls: list[str] = []
    memories: dict[str, int] = {}
    at_recall, at_memory, at_turn, weight = [], [], [], []
    with connection.cursor() as cursor:
        for start in range(first_seq, last_seq + 1, _AT_ONCE):
            cursor.execute(_READ, [bank, start, min(last_seq + 1, start + _AT_ONCE)])
            for turn, recall, names, weights in json.loads(cursor.fetchone()[0] or "[]"):
                if turn not in numbers:
                    continue
                at_memory += [memories.setdefault(name, len(memories)) for name in names]
                weight += weights
                at_recall += [len(recalls)] * len(names)
                at_turn += [numbers[turn]] * len(names)
                recalls.append(recall)
    return HandedOn(
        recalls, [UUID(name) for name in memories], np.array(at_recall, dtype=np.int64),
        np.array(at_memory, dtype=np.int64), np.array(at_turn, dtype=np.int64), np.array(weight, dtype=np.float64),
    )  # fmt: skip
