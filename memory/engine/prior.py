"""The untrained adapter, which works on day one: every weight was set by hand.

The weights come from what the field knows (docs/lab-log.md, "The prior"), before any measurement on the data that
AGORA is measured with.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from memory.engine import features, signals
from memory.engine.adapter import Adapter, Floor, RecallHead
from memory.engine.importance import ImportanceHead, ImportancePrior
from memory.engine.statistics import ROLES
from memory.engine.types import Floats

# The usual moments of features in chats, from experience: mean, deviation. They count little once a bank has its own.
USUAL: dict[str, tuple[float, float]] = {
    "log_words": (2.7, 0.8), "numbers": (0.2, 0.4), "date_words": (0.15, 0.35), "proper_nouns": (0.4, 0.6),
    "question": (0.3, 0.45), "exclamation": (0.35, 0.48), "first_person": (0.5, 0.5), "attachment": (0.1, 0.3),
    "identifiers": (0.05, 0.25), "amounts": (0.05, 0.25), "paths": (0.02, 0.15), "small_talk": (0.05, 0.2),
    "negation": (0.1, 0.3), "follows_question": (0.3, 0.45), "first_in_session": (0.05, 0.2), "mean_idf": (3.5, 1.0),
    "sum_idf": (3.2, 0.8), "novelty": (0.5, 0.2), "place_in_session": (2.0, 0.9), "lines": (0.2, 0.6),
    "quotes": (0.1, 0.3), "new_words": (0.25, 0.25),
}  # fmt: skip

# What is worth keeping, by kind: weights over standardised features, and a bias for the share that is.
KEEPING: dict[str, tuple[dict[str, float], float]] = {
    "two_people": (
        {
            "log_words": 0.4, "numbers": 0.2, "date_words": 0.35, "proper_nouns": 0.35, "question": -0.45,
            "exclamation": -0.05, "first_person": 0.25, "attachment": 0.25, "identifiers": 0.1, "amounts": 0.1,
            "small_talk": -0.3, "follows_question": 0.2, "mean_idf": 0.1, "sum_idf": 0.4, "novelty": 0.15,
            "new_words": 0.1,
        },
        -2.0,
    ),
    "user_assistant": (
        {
            "log_words": 0.25, "numbers": 0.15, "date_words": 0.35, "proper_nouns": 0.2, "question": -0.15,
            "first_person": 0.5, "attachment": -0.1, "identifiers": 0.1, "amounts": 0.15, "small_talk": -0.3,
            "sum_idf": 0.25, "novelty": 0.15, "role_user": 1.5, "role_assistant": -1.5, "role_tool": -0.5,
            "role_other": 0.5,
        },
        -2.0,
    ),
    "tool_use": (
        {
            "log_words": 0.2, "numbers": 0.2, "proper_nouns": 0.1, "question": -0.1, "identifiers": 0.8,
            "amounts": 0.2, "paths": 0.3, "small_talk": -0.3, "sum_idf": 0.2, "novelty": 0.2, "new_words": 0.2,
            "role_tool": 0.8, "role_user": 0.2, "role_assistant": -0.3,
        },
        -1.5,
    ),
}  # fmt: skip

ASKING: dict[str, float] = {
    "cosine": 1.0, "lexical": 1.0, "cosine_previous": 0.3, "cosine_next": 0.3, "lexical_previous": 0.3,
    "lexical_next": 0.3, "speaker_named": 0.5, "is_question": -0.5, "assistant_said": -1.0, "pinned": 0.3,
    "recency": 0.6, "date_agreement": 1.0,
}  # fmt: skip
TELLING: dict[str, float] = {
    "cosine": 1.4, "lexical": 0.4, "cosine_previous": 0.2, "cosine_next": 0.2, "speaker_named": 0.2,
    "is_question": -0.5, "assistant_said": -1.0, "pinned": 0.3, "date_agreement": 0.5,
}  # fmt: skip
UNREAD: dict[str, float] = {
    "cosine": 0.2, "lexical": 1.0, "lexical_previous": 0.3, "lexical_next": 0.3, "speaker_named": 0.5,
    "is_question": -0.5, "assistant_said": -1.0, "pinned": 0.3, "recency": 0.3, "date_agreement": 1.0,
}  # fmt: skip


def _usual(spread: Mapping[str, tuple[float, float]]) -> tuple[Floats, Floats]:
    """The usual mean and deviation of every feature, the same for all roles, (len(ROLES), F) each."""
    mean = vector_of(features.NAMES, {name: usual for name, (usual, _) in spread.items()})
    deviation = vector_of(features.NAMES, {name: deviation for name, (_, deviation) in spread.items()})
    deviation = np.where(deviation > 0, deviation, np.float32(1.0))
    return np.tile(mean, (len(ROLES), 1)), np.tile(deviation, (len(ROLES), 1))


def hand_set_importance() -> ImportanceHead:
    """The untrained importance head: hand-set weights for each kind of bank, over standardised features."""
    mean, deviation = _usual(USUAL)
    return ImportanceHead(
        {
            kind: ImportancePrior(vector_of(features.NAMES, weights), bias, mean, deviation)
            for kind, (weights, bias) in KEEPING.items()
        }
    )


def prior() -> Adapter:
    """Return the untrained adapter, version `prior-2`."""
    return Adapter(
        version="prior-2",
        importance=hand_set_importance(),
        recall=RecallHead(
            asking=vector_of(signals.NAMES, ASKING), telling=vector_of(signals.NAMES, TELLING),
            unread=vector_of(signals.NAMES, UNREAD), temperature=1.0,
        ),
        floor=Floor(threshold=0.42, highly=0.62, coverage_share=0.5),
    )  # fmt: skip


def vector_of(names: tuple[str, ...], weights: Mapping[str, float]) -> Floats:
    """Weights by name as a vector in the order of `names`, 0 where none is given. Raises ValueError for others."""
    unknown = set(weights) - set(names)
    if unknown:
        raise ValueError(f"no such feature or signal: {sorted(unknown)}")
    return np.array([weights.get(name, 0.0) for name in names], dtype=np.float32)
