"""Retention policies: which memories leave first when a bank is over its budget. One small file each.

A policy is found by its name in `POLICIES`; banks name it in their configuration.
"""

from __future__ import annotations

from memory.engine.retention.budget import Eviction, choose_evictions
from memory.engine.retention.fifo import Fifo
from memory.engine.retention.importance import Importance
from memory.engine.retention.policy import RetentionPolicy

POLICIES: dict[str, RetentionPolicy] = {policy.name: policy for policy in (Fifo(), Importance())}

__all__ = ["POLICIES", "Eviction", "RetentionPolicy", "choose_evictions"]
