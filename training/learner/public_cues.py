"""The public cues: numbers of public questions on which no version's recall may fall far behind, and nobody's words.

Made once with the public slice (`make slice`) from sets whose licence allows to train on them. Of each question the
memories that are hardest to tell from its evidence are kept, and some others.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from memory.engine.adapter import RecallHead
from memory.engine.adapting import ranking
from memory.engine.signals import NAMES
from memory.engine.types import Floats
from training.learner.dataset import Doubles, Flags
from training.learner.recall_examples import MODES, RecallExample

SHIPPED = Path(__file__).parent / "shipped" / "public_cues.npz"
HARDEST, BY_EACH, OTHERS = 16, 8, 8  # by the logit, by each of cosine and words, and at random


@dataclass(frozen=True)
class PublicCues:
    """Questions by mode, each with the signals (N, S) of memories and whether one holds its evidence (N,)."""

    cues: Mapping[str, Sequence[tuple[Floats, Flags]]]

    def ranking(self, mode: str, head: RecallHead, weights: Doubles) -> float:
        """The mean over questions of the chance that evidence ranks above another memory; nan without questions."""
        values = [ranking(_logits(signals, head, weights), held) for signals, held in self.cues.get(mode, ())]
        return float(np.mean(values)) if values else float("nan")

    def lost(self, mode: str, head: RecallHead, after: Doubles) -> float:
        """By how much weights (S,) rank worse than the head's own; 0 where there are no such questions."""
        if not self.cues.get(mode):
            return 0.0
        return max(0.0, self.ranking(mode, head, getattr(head, mode)) - self.ranking(mode, head, after))


def _logits(signals: Floats, head: RecallHead, weights: Doubles) -> Doubles:
    logits = signals @ np.asarray(weights, dtype=np.float64)
    return np.asarray(logits if head.interplay is None else logits + head.interplay.logits(signals))


def hardest(example: RecallExample, head: RecallHead, seed: int) -> list[int]:
    """The rows of an example that are kept: its evidence, what is hardest to tell from it, and others at random."""
    evidence = np.flatnonzero(example.target > 0)
    orders = [(example.values @ getattr(head, example.mode), HARDEST)]
    orders += [(example.values[:, NAMES.index(name)], BY_EACH) for name in ("cosine", "lexical")]
    kept = set(evidence.tolist())
    for scores, many in orders:
        kept |= set(np.argsort(-scores, kind="stable")[:many].tolist())
    rest = np.setdiff1d(np.arange(len(example.target)), sorted(kept))
    others = np.random.default_rng(seed).permutation(rest)[:OTHERS]
    return sorted({*kept, *others.tolist()})


def packed_cues(examples: Sequence[RecallExample], head: RecallHead) -> bytes:
    """The questions as a compressed numpy archive: signals in 16 bits, places in lists of names, no text."""
    rows = [hardest(one, head, number) for number, one in enumerate(examples)]
    file = io.BytesIO()
    np.savez_compressed(
        file,
        signals=np.concatenate(
            [one.values[of] for one, of in zip(examples, rows, strict=True)]
        ).astype(np.float16).T,
        evidence=np.concatenate([one.target[of] > 0 for one, of in zip(examples, rows, strict=True)]),
        cue=np.concatenate([np.full(len(of), number) for number, of in enumerate(rows)]).astype(np.uint16),
        mode=np.array([MODES.index(one.mode) for one in examples], dtype=np.uint8),
        names=np.array(NAMES),
    )  # fmt: skip
    return file.getvalue()


def read_cues(file: Path = SHIPPED) -> PublicCues:
    """The questions of such an archive; signals that came later than it are 0."""
    with np.load(file, allow_pickle=False) as arrays:
        stored, names = arrays["signals"].T.astype(np.float32), arrays["names"].tolist()
        evidence, cue, modes = arrays["evidence"], arrays["cue"], arrays["mode"]
    signals = np.zeros((len(stored), len(NAMES)), dtype=np.float32)
    for column, name in enumerate(names):
        if name in NAMES:
            signals[:, NAMES.index(name)] = stored[:, column]
    out: dict[str, list[tuple[Floats, Flags]]] = {}
    for number, mode in enumerate(modes.tolist()):
        rows = np.flatnonzero(cue == number)
        out.setdefault(MODES[mode], []).append((signals[rows], evidence[rows]))
    return PublicCues(out)


@lru_cache(maxsize=1)
def shipped_cues() -> PublicCues:
    """The questions that ship with the code."""
    return read_cues()
