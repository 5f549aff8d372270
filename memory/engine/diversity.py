"""Diversity among what one recall hands on: maximal marginal relevance (Carbonell and Goldstein 1998)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory.engine.types import Floats

POOL = 64  # only so many of the best are weighed against each other; the others keep their order behind them


def spread_out(
    relevance: Floats, vectors: Floats, tokens: Sequence[int], *, share: float, room: int, most: int
) -> list[int]:
    """Which of (N,) candidates to hand on, in the order they are taken: at most `most` within `room` tokens.

    Each time the best of (1 - share) * relevance - share * nearest is taken, where relevance is a logit and nearest
    the largest cosine to what was taken before, 0 at first; vectors are unit (N, E), best candidates first. One that
    does not fit is passed over.
    """
    cosines = vectors @ vectors.T
    nearest = np.zeros(len(relevance), dtype=np.float32)
    left = np.ones(len(relevance), dtype=np.bool_)
    taken: list[int] = []
    while left.any() and len(taken) < most:
        gain = np.where(left, np.float32(1 - share) * relevance - np.float32(share) * nearest, -np.inf)
        best = int(gain.argmax())
        left[best] = False
        if tokens[best] <= room:
            nearest = cosines[best].copy() if not taken else np.maximum(nearest, cosines[best])
            room -= tokens[best]
            taken.append(best)
    return taken
