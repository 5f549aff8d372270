"""What a run learns recall from: cues whose recalled memories somebody judged, as numbers, frozen. No text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.engine.signals import NAMES
from memory.engine.types import Floats
from training.learner.dataset import Doubles, Flags, Whole
from training.learner.recall_examples import MODES

PREFIX = "cue_"  # of these arrays' names beside those of the judgements of importance
_OF_ROWS = ("signals", "fit", "value", "weight", "shown", "cue", "memory")
_OF_CUES = ("mode", "group", "turn")

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Cues:
    """C cues with R rows in all; the rows of a cue stand together, best first, as its trace kept them."""

    signals: Floats  # (R, len(NAMES))
    fit: Floats  # (R,) absolute, what the floor is compared with
    value: Doubles  # (R,) 0 does not fit its cue to 1 fits
    weight: Doubles  # (R,) full human judgements; 0: nothing was said of this row
    shown: Flags  # (R,) stood in the prompt, so that it could be judged
    cue: Whole  # (R,) number of its cue, rising
    memory: Bytes  # (R, 16) whose row it is
    mode: Whole  # (C,) place in MODES
    group: Whole  # (C,) the conversation
    turn: Bytes  # (C, 16) the turn that asked

    def __len__(self) -> int:
        return len(self.mode)

    @property
    def judged(self) -> Flags:
        """(R,) rows of which something was said."""
        return np.asarray(self.weight > 0)

    @property
    def starts(self) -> Whole:
        """(C,) the first row of each cue."""
        return np.asarray(np.searchsorted(self.cue, np.arange(len(self))))

    def of_mode(self, mode: str) -> Flags:
        """(C,) cues that the weights of one mode read."""
        return np.asarray(self.mode == MODES.index(mode))

    def judgements(self, mode: str) -> int:
        """How many rows of one mode's cues were judged."""
        return int((self.judged & self.of_mode(mode)[self.cue]).sum())

    def memories(self) -> list[UUID]:
        """Every memory that has a row, once."""
        return _ids(self.memory)

    def turns(self) -> list[UUID]:
        """Every turn that has a cue, once."""
        return _ids(self.turn)

    def part(self, kept: Flags) -> Cues:
        """The cues where `kept` (C,)."""
        return self._where(kept, kept[self.cue])

    def without(self, memories: Collection[UUID], turns: Collection[UUID] = ()) -> Cues:
        """The cues without the rows of these memories; a cue of one of the turns, or with no judged row left, goes."""
        rows = ~_among(self.memory, memories)
        judged = np.bincount(self.cue[rows & self.judged], minlength=len(self)) > 0
        kept = judged & ~_among(self.turn, turns)
        return self._where(kept, rows & kept[self.cue])

    def _where(self, cues: Flags, rows: Flags) -> Cues:
        arrays: dict[str, Any] = {name: getattr(self, name)[rows] for name in _OF_ROWS}
        arrays |= {name: getattr(self, name)[cues] for name in _OF_CUES}
        return Cues(**{**arrays, "cue": (np.cumsum(cues) - 1)[arrays["cue"]]})

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What an archive keeps; nothing without cues, so that the bytes are those of old."""
        if not len(self):
            return {}
        kept = {PREFIX + field.name: getattr(self, field.name) for field in fields(self)}
        return {**kept, PREFIX + "names": np.array(NAMES)}


def nothing() -> Cues:
    """No cue at all."""
    none, whole = np.zeros(0), np.zeros(0, dtype=np.int64)
    ids = np.zeros((0, 16), dtype=np.uint8)
    single = np.zeros(0, dtype=np.float32)
    return Cues(
        signals=np.zeros((0, len(NAMES)), dtype=np.float32), fit=single, value=none, weight=none,
        shown=np.zeros(0, dtype=bool), cue=whole, memory=ids, mode=whole, group=whole, turn=ids,
    )  # fmt: skip


def from_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> Cues:
    """The cues of an archive; none where it has none, or was made before a signal that recall reads now."""
    if PREFIX + "signals" not in arrays:
        return nothing()
    stored: list[str] = arrays[PREFIX + "names"].tolist()
    if not set(NAMES) <= set(stored):
        return nothing()
    found = {field.name: arrays[PREFIX + field.name] for field in fields(Cues)}
    return Cues(**{**found, "signals": found["signals"][:, [stored.index(name) for name in NAMES]]})


def _ids(rows: Bytes) -> list[UUID]:
    return [UUID(bytes=one) for one in sorted({row.tobytes() for row in rows})]


def _among(rows: Bytes, ids: Collection[UUID]) -> Flags:
    wanted = {one.bytes for one in ids}
    return np.array([row.tobytes() in wanted for row in rows], dtype=bool).reshape(len(rows))
