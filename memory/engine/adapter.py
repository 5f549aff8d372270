"""The adapter: the part that is trained. This file holds its heads and the untrained prior that works on day one.

The prior's weights were set by hand from what the field knows (docs/lab-log.md, "The prior"), before any measurement
on the data that AGORA is measured with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from memory.engine import features, signals
from memory.engine.types import Floats


@dataclass(frozen=True)
class ImportanceHead:
    """A logistic head over write-time features: importance = sigmoid(w.x + b), in (0, 1)."""

    weights: Floats  # (len(features.NAMES),)
    bias: float

    def importance(self, values: Floats) -> float:
        """Score one side's features (F,)."""
        return 1.0 / (1.0 + math.exp(-float(values @ self.weights) - self.bias))


@dataclass(frozen=True)
class RecallHead:
    """A linear head over signals: one set of weights for cues that ask, one for cues that tell."""

    asking: Floats  # (len(signals.NAMES),)
    telling: Floats
    temperature: float

    def weights(self, asking: bool) -> Floats:
        return self.asking if asking else self.telling


@dataclass(frozen=True)
class Floor:
    """Below it a memory is not relevant, however it ranks: fit = cosine + share * coverage, both absolute."""

    threshold: float
    highly: float
    coverage_share: float


@dataclass(frozen=True)
class Adapter:
    """Everything trained, under one version."""

    version: str
    importance: ImportanceHead
    recall: RecallHead
    floor: Floor


def _vector(names: tuple[str, ...], weights: Mapping[str, float]) -> Floats:
    unknown = set(weights) - set(names)
    if unknown:
        raise ValueError(f"no such feature or signal: {sorted(unknown)}")
    return np.array([weights.get(name, 0.0) for name in names], dtype=np.float32)


def prior() -> Adapter:
    """Return the untrained adapter, version `prior-1`."""
    importance = {
        "log_words": 0.45, "numbers": 0.45, "date_words": 0.6, "proper_nouns": 0.5, "question": -0.7,
        "exclamation": -0.1, "first_person": 0.35, "attachment": 0.3, "identifiers": 0.7, "amounts": 0.5, "paths": 0.3,
        "small_talk": -1.5, "negation": 0.1, "follows_question": 0.2, "first_in_session": -0.2, "mean_idf": 0.1,
        "sum_idf": 0.35, "novelty": 0.4, "role_user": 0.4, "role_assistant": -0.6, "role_tool": 0.2, "role_other": 0.4,
    }  # fmt: skip
    asking = {
        "cosine": 1.0, "lexical": 1.0, "cosine_previous": 0.3, "cosine_next": 0.3, "lexical_previous": 0.3,
        "lexical_next": 0.3, "speaker_named": 0.5, "is_question": -0.5, "assistant_said": -0.3, "pinned": 0.3,
        "recency": 0.6,
    }  # fmt: skip
    telling = {
        "cosine": 1.4, "lexical": 0.4, "cosine_previous": 0.2, "cosine_next": 0.2, "speaker_named": 0.2,
        "is_question": -0.5, "assistant_said": -0.5, "pinned": 0.3,
    }  # fmt: skip
    return Adapter(
        version="prior-1",
        importance=ImportanceHead(weights=_vector(features.NAMES, importance), bias=-3.2),
        recall=RecallHead(
            asking=_vector(signals.NAMES, asking), telling=_vector(signals.NAMES, telling), temperature=1.0
        ),
        floor=Floor(threshold=0.42, highly=0.62, coverage_share=0.5),
    )
