"""Training the importance head: a logistic regression drawn to the prior it starts from, one kind at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memory.engine.adapting import ranking
from memory.engine.importance import ImportanceHead, ImportancePrior
from memory.engine.posterior import Posterior, believed, rated
from training.learner.failures import TrainingFailed
from training.learner.importance_examples import ImportanceExamples, role_moments

STRENGTH = 10.0  # precision of the prior's weights: what as many informative labels would say


def train_importance(
    examples: Sequence[ImportanceExamples], start: ImportanceHead, kind: str, strength: float = STRENGTH
) -> ImportanceHead:
    """The head with the weights of `kind` (and its usual moments) learned from whole streams of that kind.

    Raises `TrainingFailed` when nothing, or everything, was needed later.
    """
    needed = sum(int(one.needed.sum()) for one in examples)
    total = sum(len(one.needed) for one in examples)
    if not 0 < needed < total:
        raise TrainingFailed(f"Of {total} memories {needed} were needed later: from that nothing can be learned.")
    mean, deviation = role_moments(examples)
    first = start.priors[kind]
    head = ImportanceHead({**start.priors, kind: replace(first, mean=mean, deviation=deviation)})
    learned = learn(examples, head, kind, strength)
    prior = ImportancePrior(
        weights=learned.mean[:-1].astype(np.float32), bias=float(learned.mean[-1]), mean=mean, deviation=deviation
    )
    return ImportanceHead({**start.priors, kind: prior})


def learn(
    examples: Sequence[ImportanceExamples], head: ImportanceHead, kind: str, strength: float = STRENGTH
) -> Posterior:
    """The posterior of one kind's weights after whole streams, standardised as the head does at writing."""
    prior = head.priors[kind]
    z = np.concatenate([one.standardised(head, kind) for one in examples])
    needed = np.concatenate([one.needed for one in examples])
    return rated(believed(prior.weights, prior.bias, strength), z, needed)


def ranked(examples: Sequence[ImportanceExamples], head: ImportanceHead, kind: str) -> float:
    """How well a head ranks what was needed, as the mean AUC over the streams where something and not all was."""
    values = [
        ranking((one.standardised(head, kind) @ head.priors[kind].weights).astype(np.float64), one.needed)
        for one in examples
        if one.needed.any() and not one.needed.all()
    ]
    return float(np.mean(values))
