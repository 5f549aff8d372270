"""Retention policies: which memories leave first when a bank is over its budget. One small file each.

A bank names its policy in its configuration; `policy_named` reads the name (its grammar is in `grammar`).
"""

from __future__ import annotations

from memory.engine.retention.budget import Eviction, choose_evictions, leaving_order
from memory.engine.retention.grammar import NAME_LENGTH, RANKING, WRAPPING, policy_named
from memory.engine.retention.policy import PolicyError, RetentionPolicy

POLICIES: dict[str, RetentionPolicy] = {name: policy_named(name) for name in RANKING}
WRAPPERS: tuple[str, ...] = tuple(WRAPPING)

__all__ = [
    "NAME_LENGTH", "POLICIES", "WRAPPERS", "Eviction", "PolicyError", "RetentionPolicy", "choose_evictions",
    "leaving_order", "policy_named",
]  # fmt: skip
