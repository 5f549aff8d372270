"""Recalled memories for tests."""

from __future__ import annotations

from datetime import UTC, datetime

from agents.runtime.recalled import RecalledMemory


def memory(
    number: int,
    text: str,
    weight: float = 0.5,
    group: str = "highly",
    role: str = "user",
    speaker: str = "Ana",
    day: int = 3,
    hour: int = 12,
) -> RecalledMemory:
    """A memory of May 2023; its id looks like those of a time-ordered UUID, alike in the first half."""
    at = datetime(2023, 5, day, hour, tzinfo=UTC)
    return RecalledMemory(f"0192aaaa-bbbb-7ccc-8ddd-{number:012x}", text, speaker, role, at, weight, group)
