"""Calibrating the floor on cues that the head has not seen: how good a fit must be to be worth handing on.

Two things are known of a fit: which one the evidence for a cue reaches, and which one memories reach for cues about
something else, which the bank knows nothing of. The floor may lose a small share of the former; "highly relevant" is
what only the same small share of the latter reaches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from memory.engine import signals
from memory.engine.adapter import Floor, RecallHead
from memory.engine.encoder import Encoder
from memory.engine.types import Floats
from memory.engine.vector_adapter import VectorAdapter
from training.learner.banks import FilledBank, cue_of, cue_terms
from training.learner.recall_examples import RecallExample, mode_of
from training.learner.recall_training import logits_of
from training.learner.streams import Question

FIRST = 10  # memories a cue, best first, that the floor decides about
LOST = 0.05  # the share of evidence that it may lose, and of foreign memories that may look highly relevant

_SIMILARITY, _COVERAGE = signals.NAMES.index("similarity"), signals.NAMES.index("coverage")


def fitted_floor(found: Sequence[Floats], foreign: Sequence[Floats], start: Floor) -> Floor:
    """The floor that the fits of found evidence and of `foreign` memories ask for, (K,) each; the share of the
    coverage in a fit stays. Without either the floor stays as it is."""
    evidence, others = np.concatenate([[], *found]), np.concatenate([[], *foreign])
    if not len(evidence) or not len(others):
        return start
    threshold = round(float(np.quantile(evidence, LOST)), 3)
    highly = round(float(np.quantile(others, 1 - LOST)), 3)
    return replace(start, threshold=threshold, highly=max(threshold, highly))


def fits_of_evidence(examples: Sequence[RecallExample], head: RecallHead, floor: Floor) -> Iterator[Floats]:
    """For each cue that the encoder reads, the fits of the evidence among its first memories."""
    for one in examples:
        if one.mode != "unread":
            first = np.argsort(-logits_of(one, head), kind="stable")[:FIRST]
            yield _fits(one.values[first[one.target[first] > 0]], floor)


def fits_of_foreign(
    bank: FilledBank, questions: Sequence[Question], encoder: Encoder, head: RecallHead, floor: Floor,
    by: VectorAdapter | None = None,
) -> Iterator[Floats]:  # fmt: skip
    """For each cue about something that `bank` does not know, the fits of its first memories."""
    for question in questions:
        cue = cue_of(question, encoder)
        if mode_of(cue) == "unread":
            continue
        values = signals.compute(cue, bank.hot.candidates(cue, cue_terms(cue), by=by)).values
        first = np.argsort(-(values @ head.weights(cue.asking)), kind="stable")[:FIRST]
        yield _fits(values[first], floor)


def _fits(values: Floats, floor: Floor) -> Floats:
    return values[:, _SIMILARITY] + np.float32(floor.coverage_share) * values[:, _COVERAGE]
