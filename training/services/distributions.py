"""What a run learned from, as numbers of all its memories together, for the manifest of its challenger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np

from memory.engine import features
from memory.engine.importance import KINDS
from memory.engine.types import Floats, State
from memory.models import Memory
from training.learner.dataset import Dataset
from training.learner.distributions import described


def distributions_of(data: Dataset, kinds: Sequence[str]) -> dict[str, Any]:
    """By kind of conversation: how the features of the memories in a snapshot are distributed; few are left out.

    A snapshot holds features as a head saw them, against what was usual in each bank. What was told of the memories
    themselves stands in their rows; those that are gone by now count no more. Read as the sweeping role.
    """
    found = {kind: described(_features(_memories(data, kind))) for kind in kinds}
    return {kind: told for kind, told in found.items() if told}


def _memories(data: Dataset, kind: str) -> list[UUID]:
    rows = data.kind == KINDS.index(kind)
    return [UUID(bytes=one) for one in {row.tobytes() for row in data.memory[rows]}]


def _features(memories: Sequence[UUID]) -> Floats:
    """(N, F) of those whose rows hold all of today's features."""
    rows = Memory.objects.using("worker").filter(pk__in=memories).exclude(state=State.FORGOTTEN)
    width = len(features.NAMES)
    whole = [stored for stored in rows.values_list("features", flat=True) if len(stored) == width]
    return np.array(whole, dtype=np.float32).reshape(len(whole), width)
