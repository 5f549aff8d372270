"""The public slice: numbers of public conversations on which no version may fall far behind, and nobody's words.

It is made once from sets whose licence allows to train on them (`make slice`), and ships with the code. Features are
the ledger's whole numbers; what is usual for a role is built up in the order of writing, as in a bank.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from memory.engine import features
from memory.engine.adapting import ranking
from memory.engine.importance import KINDS, ImportanceHead
from memory.engine.statistics import ROLES, STEP
from training.learner.dataset import Doubles, Flags
from training.learner.importance_examples import ImportanceExamples

SHIPPED = Path(__file__).parent / "shipped" / "public_slice.npz"


@dataclass(frozen=True)
class Slice:
    """Streams by kind, each with features (N, F) standardised by one head, and whether a memory was needed (N,)."""

    streams: Mapping[str, Sequence[tuple[Doubles, Flags]]]

    def ranking(self, kind: str, weights: Doubles) -> float:
        """The mean over streams of the chance that a needed memory scores above another; nan without streams."""
        values = [ranking(z @ weights[:-1], needed) for z, needed in self.streams.get(kind, ())]
        return float(np.mean(values)) if values else float("nan")

    def matters(self, kind: str, weights: Doubles) -> Doubles:
        """(F + 1, F + 1): how much each direction of the weights matters here, 1 on average (the curvature of the
        logistic loss at these weights); all alike where the slice has no such kind."""
        x = [np.hstack([z, np.ones((len(z), 1))]) for z, _needed in self.streams.get(kind, ())]
        if not x:
            return np.eye(len(weights))
        rows = np.vstack(x)
        p = 0.5 * (1.0 + np.tanh(0.5 * (rows @ weights)))
        curvature = rows.T @ (rows * (p * (1 - p))[:, None])
        return np.asarray(curvature / np.diag(curvature).mean())

    def lost(self, kind: str, before: Doubles, after: Doubles) -> float:
        """By how much weights (F + 1,) rank worse than those before; 0 where the slice has no such kind."""
        if not self.streams.get(kind):
            return 0.0
        return max(0.0, self.ranking(kind, before) - self.ranking(kind, after))


def packed(examples: Sequence[ImportanceExamples]) -> bytes:
    """The slice as a compressed numpy archive: whole numbers and places in lists of names, no text."""
    file = io.BytesIO()
    np.savez_compressed(
        file,
        raw=np.concatenate([np.rint(one.raw / STEP).astype(np.int16) for one in examples]).T,
        role=np.concatenate([[ROLES.index(role) for role in one.roles] for one in examples]).astype(np.uint8),
        turn=np.concatenate([one.turns for one in examples]).astype(np.int32),
        needed=np.concatenate([one.needed for one in examples]),
        stream=np.concatenate([np.full(len(one.needed), at) for at, one in enumerate(examples)]).astype(np.uint16),
        kind=np.array([KINDS.index(one.kind) for one in examples], dtype=np.uint8),
    )
    return file.getvalue()


def read_slice(file: Path = SHIPPED) -> list[ImportanceExamples]:
    """The streams of a slice; features that came later than the slice are 0."""
    with np.load(file, allow_pickle=False) as arrays:
        raw = np.zeros((arrays["raw"].shape[1], len(features.NAMES)), dtype=np.float32)
        raw[:, : len(arrays["raw"])] = arrays["raw"].T * np.float32(STEP)
        stream, role, turn, needed = (arrays[name] for name in ("stream", "role", "turn", "needed"))
        kinds = arrays["kind"]
    out: list[ImportanceExamples] = []
    for number, kind in enumerate(kinds):
        rows = np.flatnonzero(stream == number)
        roles = [ROLES[at] for at in role[rows]]
        out.append(ImportanceExamples(
            KINDS[kind], f"public-{number}", raw[rows], roles, turn[rows].astype(np.int64), needed[rows],
            np.arange(len(rows)),
        ))  # fmt: skip
    return out


@lru_cache(maxsize=4)
def _examples() -> tuple[ImportanceExamples, ...]:
    return tuple(read_slice())


def slice_for(head: ImportanceHead) -> Slice:
    """The shipped slice as that head sees it."""
    streams: dict[str, list[tuple[Doubles, Flags]]] = {}
    for one in _examples():
        z = one.standardised(head, one.kind).astype(np.float64)
        streams.setdefault(one.kind, []).append((z, one.needed))
    return Slice(streams)
