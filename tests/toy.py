"""Toy-sized stand-ins with exact, predictable values."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from memory.engine.encoder import Space
from memory.engine.lexical import terms
from memory.engine.types import Floats

WIDTH = 64


class ToyEncoder:
    """Sums a fixed random direction per term: texts that share words are near, nothing is loaded, all is exact."""

    space = Space(model="toy", revision="1", width=WIDTH)

    def encode(self, texts: Sequence[str]) -> Floats:
        out = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for row, text in enumerate(texts):
            for term in terms(text):
                seed = int.from_bytes(hashlib.sha256(term.encode()).digest()[:8], "big")
                out[row] += np.random.default_rng(seed).standard_normal(WIDTH).astype(np.float32)
            norm = float(np.linalg.norm(out[row]))
            if norm:
                out[row] /= norm
        return out


def toy_encoder() -> ToyEncoder:
    return ToyEncoder()


class ToyLikelihood:
    """Each different term of the reply that the prompt lacks costs one nat, each that it has costs nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def likelihoods(self, prompts: Sequence[str], reply: str) -> list[float]:
        self.asked += prompts
        return [-float(len(set(terms(reply)) - set(terms(prompt)))) for prompt in prompts]
