"""A snapshot's archive: judgements of importance and judged cues together, under one digest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from uuid import UUID

from training.learner.cues import Cues, from_arrays
from training.learner.dataset import Dataset, archive, opened


@dataclass(frozen=True)
class Frozen:
    """What a run learns from."""

    judgements: Dataset
    cues: Cues

    @property
    def size(self) -> int:
        """Rows of both."""
        return len(self.judgements) + len(self.cues.cue)

    def memories(self) -> list[UUID]:
        """Every memory that has a row in either, once."""
        return sorted({*self.judgements.memories(), *self.cues.memories()})

    def without(self, memories: Collection[UUID], turns: Collection[UUID]) -> Frozen:
        """The same without what is of these memories, and without the cues of these turns."""
        return Frozen(self.judgements.without(memories), self.cues.without(memories, turns))

    def packed(self) -> tuple[bytes, str]:
        """A numpy archive, the same bytes each time, and its sha256."""
        of_importance = {field.name: getattr(self.judgements, field.name) for field in fields(Dataset)}
        return archive({**of_importance, **self.cues.arrays()})


def frozen_in(data: bytes, digest: str) -> Frozen:
    """What those bytes hold; older ones have no cues. Raises `DatasetUnreadable`."""
    arrays = opened(data, digest)
    return Frozen(Dataset(**{field.name: arrays[field.name] for field in fields(Dataset)}), from_arrays(arrays))
