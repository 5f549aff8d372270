"""The vector adapter: a residual bottleneck over the frozen encoder, x + U gelu(D x), as long as x was.

U is zero before training, so an untrained one hands on the frozen vectors, bit by bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from memory.engine.types import Floats

BLOCK = 256  # vectors a product: what is in between stays in a processor's cache


@dataclass(frozen=True, eq=False)
class VectorAdapter:
    """D (R, E) and U (E, R) for one encoder: vectors of any other are not what they were trained on."""

    down: Floats
    up: Floats
    revision: str  # of the encoder's space

    @property
    def width(self) -> int:
        """E, that of the vectors."""
        return int(self.down.shape[1])

    def adapted(self, vectors: Floats) -> Floats:
        """The vectors (N, E) in the adapted space; each keeps its length, a zero row stays zero."""
        out = np.empty_like(vectors)
        for start in range(0, len(vectors), BLOCK):
            block = vectors[start : start + BLOCK]
            moved = block + gelu(block @ self.down.T) @ self.up.T
            before, after = np.linalg.norm(block, axis=1), np.linalg.norm(moved, axis=1)
            scale = np.divide(before, after, out=np.zeros_like(before), where=after > 0)
            np.multiply(moved, scale[:, None], out=out[start : start + BLOCK])
        return out

    def is_same(self, other: VectorAdapter | None) -> bool:
        """Whether both give the same vectors."""
        if other is None or other is self:
            return other is self
        same = np.array_equal(self.down, other.down) and np.array_equal(self.up, other.up)
        return same and self.revision == other.revision


def gelu(x: Floats) -> Floats:
    """GELU in its tanh form (Hendrycks and Gimpel 2016), as it is trained with."""
    inner = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
    return np.asarray(np.float32(0.5) * x * (np.float32(1) + np.tanh(inner)), dtype=np.float32)
