"""Training the recall head: a softmax over the bank, with the evidence as its target (listwise, Cao et al. 2007).

Full passes of AdamW over all examples; one thread and one seed give the same weights each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from memory.engine.adapter import Interplay, RecallHead
from memory.engine.types import Floats
from training.learner.failures import TrainingFailed
from training.learner.recall_examples import MODES, RecallExample

OUTSIDE = -1e9  # logit of the places that pad a smaller bank


@dataclass(frozen=True)
class RecallTraining:
    """How long and how freely to train."""

    steps: int = 150
    rate: float = 0.02
    decay: float = 0.001
    strength: float = 0.01  # how strongly the weights are drawn to those they start from
    hidden: int = 0  # units of the interplay; none for a linear head
    hidden_decay: float = 0.01
    seed: int = 1


def train_recall(examples: Sequence[RecallExample], start: RecallHead, how: RecallTraining) -> RecallHead:
    """Train the weights of each mode that has examples; the other modes keep the weights they start from.

    Raises `TrainingFailed` without examples, or when the loss is no number.
    """
    if not examples:
        raise TrainingFailed("There are no labelled cues to learn recall from.")
    asking, telling, unread = (
        _train_linear([one for one in examples if one.mode == mode], getattr(start, mode), how) for mode in MODES
    )
    head = replace(start, asking=asking, telling=telling, unread=unread, interplay=None)
    return replace(head, interplay=_train_interplay(examples, head, how)) if how.hidden else head


def _train_linear(examples: Sequence[RecallExample], start: Floats, how: RecallTraining) -> Floats:
    if not examples:
        return start
    values, target, outside = _padded(examples)
    first = torch.from_numpy(start.copy())
    weights = first.clone().requires_grad_()
    optimiser = torch.optim.AdamW([weights], lr=how.rate, weight_decay=how.decay)
    for _ in range(how.steps):
        optimiser.zero_grad()
        loss = _loss(values @ weights + outside, target) + how.strength * ((weights - first) ** 2).sum()
        _step(loss, optimiser)
    return np.asarray(weights.detach().numpy(), dtype=np.float32)


def _train_interplay(examples: Sequence[RecallExample], head: RecallHead, how: RecallTraining) -> Interplay:
    """A small network on top of the linear logits, which stay as they are."""
    values, target, outside = _padded(examples)
    of_mode = torch.from_numpy(np.stack([getattr(head, one.mode) for one in examples]))  # (Q, S)
    linear = torch.einsum("qns,qs->qn", values, of_mode) + outside
    random = torch.Generator().manual_seed(how.seed)
    inner = (torch.randn(how.hidden, values.shape[2], generator=random) * 0.1).requires_grad_()
    bias = torch.zeros(how.hidden, requires_grad=True)
    outer = torch.zeros(how.hidden, requires_grad=True)
    optimiser = torch.optim.AdamW([inner, bias, outer], lr=how.rate, weight_decay=how.hidden_decay)
    for _ in range(how.steps):
        optimiser.zero_grad()
        _step(_loss(linear + torch.tanh(values @ inner.T + bias) @ outer, target), optimiser)
    return Interplay(*(part.detach().numpy().astype(np.float32) for part in (inner, bias, outer)))


def _step(loss: torch.Tensor, optimiser: torch.optim.Optimizer) -> None:
    if not torch.isfinite(loss):
        raise TrainingFailed("The loss of the recall head is no number any more; train with a lower rate.")
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


def _loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return -(torch.log_softmax(logits, dim=1) * target).sum(dim=1).mean()


def _padded(examples: Sequence[RecallExample]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Signals (Q, N, S), targets (Q, N), and what keeps the padding out of the softmax (Q, N)."""
    size, signals = max(len(one.target) for one in examples), examples[0].values.shape[1]
    values = torch.zeros(len(examples), size, signals)
    target = torch.zeros(len(examples), size)
    outside = torch.full((len(examples), size), OUTSIDE)
    for row, one in enumerate(examples):
        values[row, : len(one.target)] = torch.from_numpy(one.values)
        target[row, : len(one.target)] = torch.from_numpy(one.target)
        outside[row, : len(one.target)] = 0.0
    return values, target, outside


def fitted_temperature(examples: Sequence[RecallExample], head: RecallHead) -> float:
    """The temperature at which the weights of held-out cues say best where their evidence is (Guo et al. 2017)."""
    best, least = 1.0, np.inf
    for temperature in map(float, np.geomspace(0.4, 2.5, 40)):
        total = 0.0
        for one in examples:
            logits = logits_of(one, head) / temperature
            total -= float(one.target @ (logits - np.logaddexp.reduce(logits)))
        if total < least:
            best, least = temperature, total
    return round(best, 3)


def logits_of(example: RecallExample, head: RecallHead) -> Floats:
    """The head's logits (N,) for one example."""
    weights: Floats = getattr(head, example.mode)
    logits = example.values @ weights
    return logits if head.interplay is None else logits + head.interplay.logits(example.values)
