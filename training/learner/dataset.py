"""What a run learns from: judgements as numbers, frozen. No text; all that leads back to one is a memory's id."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.engine.importance import KINDS

Doubles = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class DatasetUnreadable(Exception):
    """The stored rows are not those that were frozen."""

    retryable = False


@dataclass(frozen=True)
class Dataset:
    """N rows. A row is a rating of its memory, or says that its memory is worth more than that of row `other`; a row
    whose weight is 0 only stands for the other side of a comparison."""

    z: Doubles  # (N, F) write-time features, standardised as the head saw them
    value: Doubles  # (N,) 0 worthless to 1 needed; 1 in a comparison
    weight: Doubles  # (N,) full human judgements; the pieces of one side share one
    kind: Whole  # (N,) place in KINDS
    group: Whole  # (N,) the conversation
    other: Whole  # (N,) row of the memory that is worth less, -1 for a rating
    memory: npt.NDArray[np.uint8]  # (N, 16) whose row it is

    def __len__(self) -> int:
        return len(self.value)

    @property
    def rated(self) -> Flags:
        """(N,) rows that rate one memory."""
        return np.asarray((self.other < 0) & (self.weight > 0))

    @property
    def compared(self) -> Flags:
        """(N,) rows that put their memory above another."""
        return np.asarray((self.other >= 0) & (self.weight > 0))

    def of_kind(self, kind: str) -> Flags:
        """(N,) rows of one kind of conversation."""
        return np.asarray(self.kind == KINDS.index(kind))

    def judgements(self, kind: str) -> int:
        """How many judgements there are of one kind."""
        return int((self.of_kind(kind) & (self.weight > 0)).sum())

    def memories(self) -> list[UUID]:
        """Every memory that has a row, once."""
        return [UUID(bytes=one) for one in sorted({row.tobytes() for row in self.memory})]

    def without(self, memories: Collection[UUID]) -> Dataset:
        """The dataset without these memories, and without comparisons with one of them."""
        gone = {memory.bytes for memory in memories}
        out = np.array([row.tobytes() in gone for row in self.memory], dtype=bool).reshape(len(self))
        lost = self.other >= 0
        lost[lost] = out[self.other[lost]]
        return self.rows(~(out | lost))

    def rows(self, kept: Flags) -> Dataset:
        """The rows where `kept`; a kept comparison must keep its other row."""
        place = np.cumsum(kept) - 1
        other = self.other[kept]
        part = Dataset(*(getattr(self, field.name)[kept] for field in fields(self)))
        return replace(part, other=np.where(other >= 0, place[other], -1))

    def packed(self) -> tuple[bytes, str]:
        """A numpy archive of the rows, the same bytes each time, and its sha256."""
        return archive({field.name: getattr(self, field.name) for field in fields(self)})


def archive(arrays: Mapping[str, Any]) -> tuple[bytes, str]:
    """A numpy archive, the same bytes each time, and its sha256."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    data = file.getvalue()
    return data, hashlib.sha256(data).hexdigest()


def opened(data: bytes, digest: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an archive. Raises `DatasetUnreadable` when they are not what was frozen."""
    if hashlib.sha256(data).hexdigest() != digest:
        raise DatasetUnreadable("The snapshot does not agree with its digest.")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def unpacked(data: bytes, digest: str) -> Dataset:
    """The dataset of those bytes. Raises `DatasetUnreadable` when they are not what was frozen."""
    arrays = opened(data, digest)
    return Dataset(**{field.name: arrays[field.name] for field in fields(Dataset)})


def conversations(data: Dataset) -> Whole:
    """The groups that hold a judgement, each once."""
    return np.asarray(np.unique(data.group[data.weight > 0]))
