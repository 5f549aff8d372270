"""Training the vector adapter: InfoNCE (van den Oord et al. 2018), what a cue needed against the rest of its bank.

Full passes of AdamW over all banks; one thread and one seed give the same weights each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from memory.engine.encoder import Encoder
from memory.engine.types import Floats
from memory.engine.vector_adapter import VectorAdapter
from training.learner.banks import FilledBank
from training.learner.failures import TrainingFailed
from training.learner.recall_examples import RecallExample, recall_examples


@dataclass(frozen=True)
class VectorExamples:
    """The cues of one bank of N memories."""

    memories: Floats  # (N, E)
    cues: Floats  # (Q, E)
    targets: Floats  # (Q, N), each row sums to 1: even over what the cue needed
    group: str = ""


@dataclass(frozen=True)
class VectorTraining:
    """How wide, how long and how freely to train."""

    rank: int = 16
    steps: int = 30
    rate: float = 1e-4
    decay: float = 0.01  # draws D and U to zero, and so the vectors to the frozen ones
    temperature: float = 0.07  # what cosines are divided by
    seed: int = 1


def vector_examples(bank: FilledBank, examples: Sequence[RecallExample]) -> VectorExamples:
    """What a bank's recall examples say of its vectors."""
    width, memories = bank.hot.width, len(bank.hot)
    cues = np.array([one.cue.vector for one in examples], dtype=np.float32).reshape(-1, width)
    targets = np.array([one.target for one in examples], dtype=np.float32).reshape(-1, memories)
    return VectorExamples(bank.hot.all_vectors(), cues, targets, bank.stream.group)


def learn_with_vectors(
    banks: Sequence[FilledBank], encoder: Encoder, how: VectorTraining
) -> tuple[VectorAdapter, list[RecallExample]]:
    """The vector adapter of all banks, and what a recall head may learn from beside it.

    Those examples see each bank through an adapter that was trained on other groups: on vectors that know its cues a
    head learns to trust the cosine more than it may. With a single group there is no other, and they see its own.
    """
    told = [vector_examples(bank, recall_examples(bank, encoder)) for bank in banks]
    revision = encoder.space.revision
    groups = sorted({one.group for one in told})
    halves = [set(groups[::2]), set(groups[1::2])]
    examples: list[RecallExample] = []
    for half in filter(None, halves):
        others = [one for one in told if one.group not in half] or told
        by = train_vectors(others, revision, how)
        for bank in banks:
            if bank.stream.group in half:
                examples += recall_examples(bank, encoder, by)
    return train_vectors(told, revision, how), examples


def train_vectors(banks: Sequence[VectorExamples], revision: str, how: VectorTraining) -> VectorAdapter:
    """Train from the frozen vectors; the weights come back as 16-bit floats can hold them.

    Raises `TrainingFailed` without cues, or when the loss is no number.
    """
    banks = [bank for bank in banks if len(bank.cues)]
    if not banks:
        raise TrainingFailed("There are no labelled cues to learn vectors from.")
    random = torch.Generator().manual_seed(how.seed)
    down = torch.randn(how.rank, banks[0].memories.shape[1], generator=random).requires_grad_()
    up = torch.zeros(down.shape[1], how.rank, requires_grad=True)
    told = [tuple(map(torch.from_numpy, (bank.memories, bank.cues, bank.targets))) for bank in banks]
    cues = sum(len(bank.cues) for bank in banks)
    optimiser = torch.optim.AdamW([down, up], lr=how.rate, weight_decay=how.decay)
    for _ in range(how.steps):
        optimiser.zero_grad()
        for memories, asked, targets in told:
            scores = _adapted(asked, down, up) @ _adapted(memories, down, up).T
            loss = info_nce(scores, targets, how.temperature).sum() / cues
            if not torch.isfinite(loss):
                raise TrainingFailed("The loss of the vector adapter is no number any more; train with a lower rate.")
            loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return VectorAdapter(_halved(down), _halved(up), revision)


def info_nce(cosines: torch.Tensor, targets: torch.Tensor, temperature: float) -> torch.Tensor:
    """The loss (Q,) of cosines (Q, N): -log of the softmax at what was needed, evenly over several."""
    return -(targets * torch.log_softmax(cosines / temperature, dim=1)).sum(dim=1)


def _adapted(vectors: torch.Tensor, down: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """As `VectorAdapter.adapted`, for unit vectors."""
    hidden = torch.nn.functional.gelu(vectors @ down.T, approximate="tanh")
    return torch.nn.functional.normalize(vectors + hidden @ up.T, dim=1)


def _halved(weights: torch.Tensor) -> Floats:
    return np.asarray(weights.detach().to(torch.float16).to(torch.float32).numpy())
