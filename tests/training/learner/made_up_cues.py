"""Made-up judged cues: in each, what fits is told by one signal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from memory.engine.signals import NAMES
from training.learner.cues import Cues
from training.learner.recall_examples import MODES

SIGNAL = NAMES.index("count_numbers")  # which the shipped head hardly weighs


def cues_by(
    seed: int, conversations: int = 30, each: int = 3, rows: int = 12, judged: int = 6, mode: str = "asking",
    signal: int = SIGNAL, sharpness: float = 3.0,
) -> Cues:  # fmt: skip
    """Cues whose first `judged` rows were shown and judged: a row fits, by chance, the more of `signal` it has; with a
    sharpness of 0 it is drawn without looking."""
    random = np.random.default_rng(seed)
    many = conversations * each
    signals = random.standard_normal((many * rows, len(NAMES))).astype(np.float32)
    chance = 1 / (1 + np.exp(-sharpness * signals[:, signal]))
    shown = np.tile(np.arange(rows) < judged, many)
    return Cues(
        signals=signals, fit=random.uniform(0.36, 0.8, many * rows).astype(np.float32),
        value=(random.random(many * rows) < chance) * shown * 1.0, weight=shown * 1.0, shown=shown,
        cue=np.repeat(np.arange(many), rows), memory=random.integers(0, 255, (many * rows, 16), dtype=np.uint8),
        mode=np.full(many, MODES.index(mode)), group=np.repeat(np.arange(conversations), each),
        turn=random.integers(0, 255, (many, 16), dtype=np.uint8),
    )  # fmt: skip


def shuffled(cues: Cues, seed: int) -> Cues:
    """The same cues with one another's judgements."""
    value = cues.value.copy()
    value[cues.judged] = np.random.default_rng([seed, 1]).permutation(value[cues.judged])
    return replace(cues, value=value)


def together(one: Cues, other: Cues) -> Cues:
    """Both, each cue in a conversation of its own set."""
    names = ("signals", "fit", "value", "weight", "shown", "memory", "mode", "turn")
    joined = {name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in names}
    return Cues(
        **joined, cue=np.concatenate([one.cue, other.cue + len(one)]),
        group=np.concatenate([one.group, other.group + one.group.max() + 1]),
    )  # fmt: skip
