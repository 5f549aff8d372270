"""Rows of erased memories cut out of a frozen dataset."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

MEMORY, OTHER = "memory", "other"  # arrays: whose a row is, and the row that a comparison says is worth less, or -1


@dataclass(frozen=True)
class Cut:
    """A dataset without some rows: its bytes, their sha256, and how many rows went."""

    data: bytes
    digest: str
    rows: int


def without(data: bytes, memories: Collection[UUID]) -> Cut:
    """Cut the rows of `memories` out of a numpy archive, and the comparisons that were with one of them.

    Every array with as many rows as `memory` has is cut alike; row numbers in `other` are told anew.
    """
    with np.load(BytesIO(data), allow_pickle=False) as archive:
        arrays: dict[str, npt.NDArray[Any]] = {name: archive[name] for name in archive.files}
    gone = {memory.hex for memory in memories}
    size = len(arrays[MEMORY])
    kept = np.array([name not in gone for name in _names(arrays[MEMORY])], dtype=np.bool_)
    if OTHER in arrays:
        other = arrays[OTHER]
        compared = other >= 0
        kept &= ~compared | kept[np.where(compared, other, 0)]
        places = np.cumsum(kept) - 1
        arrays[OTHER] = np.where(compared, places[np.where(compared, other, 0)], other).astype(other.dtype)
    cut = {name: values[kept] if values.shape[:1] == (size,) else values for name, values in arrays.items()}
    out = BytesIO()
    np.savez(out, allow_pickle=False, **cut)
    return Cut(out.getvalue(), hashlib.sha256(out.getvalue()).hexdigest(), int((~kept).sum()))


def _names(memory: npt.NDArray[Any]) -> list[str]:
    """Each row's memory as 32 hexadecimal digits: ids are stored as text, or as 16 bytes."""
    if memory.dtype.kind in "US":
        texts = (one.decode() if isinstance(one, bytes) else str(one) for one in memory.tolist())
        return [text.replace("-", "").lower() for text in texts]
    return [np.asarray(one).tobytes().hex() for one in memory]
