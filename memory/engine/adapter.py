"""The adapter: the part that is trained, under one version: an importance head, a recall head, a floor, and
perhaps a vector adapter."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from memory.engine.importance import ImportanceHead
from memory.engine.types import Floats
from memory.engine.vector_adapter import VectorAdapter


@dataclass(frozen=True)
class Interplay:
    """A small network beside the linear head, for what signals say only together: v.tanh(Ux + c)."""

    inner: Floats  # (H, S)
    bias: Floats  # (H,)
    outer: Floats  # (H,)

    def logits(self, values: Floats) -> Floats:
        """(N,) from signals (N, S)."""
        return np.asarray(np.tanh(values @ self.inner.T + self.bias) @ self.outer, dtype=np.float32)


@dataclass(frozen=True)
class RecallHead:
    """A linear head over signals: weights of their own for cues that ask, for cues that tell, and for cues in a
    script that the encoder cannot read; with an interplay on top where one was trained."""

    asking: Floats  # (len(signals.NAMES),)
    telling: Floats
    unread: Floats
    temperature: float
    interplay: Interplay | None = None

    def weights(self, asking: bool, readable: bool = True) -> Floats:
        """The weights (S,) for a cue."""
        if not readable:
            return self.unread
        return self.asking if asking else self.telling


@dataclass(frozen=True)
class Floor:
    """Below it a memory is not relevant, however it ranks: fit = cosine + share * coverage, both absolute.

    For a cue that the encoder cannot read the fit is the coverage alone, which has levels of its own.
    """

    threshold: float
    highly: float
    coverage_share: float
    unread: float = 0.2
    unread_highly: float = 0.4

    def levels(self, readable: bool) -> tuple[float, float]:
        """From which fit on a memory is relevant, and from which on highly so."""
        return (self.threshold, self.highly) if readable else (self.unread, self.unread_highly)


@dataclass(frozen=True)
class Adapter:
    """Everything trained, under one version."""

    version: str
    importance: ImportanceHead
    recall: RecallHead
    floor: Floor
    vector: VectorAdapter | None = None

    def named(self, version: str) -> Adapter:
        """The same under another version."""
        return replace(self, version=version)

    def in_space(self, revision: str) -> Adapter:
        """This adapter for vectors of that encoder: without the vector part, if that was trained on another's."""
        if self.vector is None or self.vector.revision == revision:
            return self
        return replace(self, vector=None)
