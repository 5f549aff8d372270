"""The importance head: a logistic score over write-time features, standardised within the role, by kind of bank.

What is worth keeping differs between kinds of conversation more than anything else that was measured, so there is one
prior a kind; the kind is told by the bank's settings, or by who has spoken in it so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from memory.engine import features
from memory.engine.statistics import ROLES, RoleStatistics
from memory.engine.types import Floats, Role

KINDS: tuple[str, ...] = ("two_people", "user_assistant", "tool_use")
FLAGS = np.array([name.startswith("role_") for name in features.NAMES])  # told as they are, not standardised
STRENGTH = 12.0  # memories that a role's usual moments count for, against those of the bank itself
CLIP = 4.0  # deviations: one odd memory must not outweigh everything

TOOLS_FROM, ASSISTANT_FROM = 0.05, 0.2  # shares of what was written


def kind_of(statistics: RoleStatistics, told: str = "") -> str:
    """The kind of a bank: as its settings say, else by its roles; an empty bank counts as user and assistant."""
    return kind_by(statistics.share, told)


def kind_by(share: Callable[[Role], float], told: str = "") -> str:
    """The same by the share of each role in what was written."""
    if told in KINDS:
        return told
    if share(Role.TOOL) >= TOOLS_FROM:
        return "tool_use"
    return "two_people" if share(Role.OTHER) > share(Role.ASSISTANT) else "user_assistant"


@dataclass(frozen=True)
class ImportancePrior:
    """One kind's head. `mean` and `deviation` are the usual moments of a role's features, (len(ROLES), F)."""

    weights: Floats  # (F,), over standardised features and role flags
    bias: float
    mean: Floats
    deviation: Floats


@dataclass(frozen=True)
class ImportanceHead:
    """importance = sigmoid(w.z + b), in (0, 1), with the weights of the bank's kind."""

    priors: Mapping[str, ImportancePrior]

    def standardised(self, values: Floats, role: Role, statistics: RoleStatistics, kind: str) -> Floats:
        """Features (F,) in deviations from the role's mean in this bank; role flags as they are."""
        prior = self.priors[kind]
        row = ROLES.index(role)
        mean, deviation = statistics.moments(role, prior.mean[row], prior.deviation[row], STRENGTH)
        z = np.clip((values - mean) / deviation, -CLIP, CLIP)
        return np.asarray(np.where(FLAGS, values, z), dtype=np.float32)

    def importance(self, values: Floats, role: Role, statistics: RoleStatistics, kind: str = "") -> float:
        """Score one side's features (F,), given what was written to its bank before."""
        kind = kind_of(statistics, kind)
        prior = self.priors[kind]
        logit = float(self.standardised(values, role, statistics, kind) @ prior.weights) + prior.bias
        return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, logit))))
