"""What comes out of a replay of the policy lab, as rows: a conversation under one adapter, policy and budget each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memory.engine.adapter import Adapter
from memory.engine.replay import Need, Replayed
from memory.engine.retention import RetentionPolicy
from memory.engine.types import Budget
from memory.models import LabReplay, LabResult
from memory.services.replays import Story

MOST_MISSES = 100  # of one result, the heaviest; the counts are of all


@dataclass(frozen=True)
class Counted:
    """A conversation with what its turns need, the same for every adapter of a replay."""

    story: Story
    conversation: UUID
    reference: Adapter  # by which the needs were found
    needs: list[list[Need]]


def result_of(
    replay: LabReplay, counted: Counted, adapter: tuple[str, Adapter], asked: tuple[RetentionPolicy, str, Budget],
    report: Replayed,
) -> LabResult:  # fmt: skip
    """What one bank kept and missed, not yet stored; `adapter` and `asked` with the names that they were asked by."""
    policy, budget, most = asked
    story = counted.story
    return LabResult(
        owner_id=replay.owner_id, replay_id=replay.pk, conversation_id=counted.conversation, adapter=adapter[0],
        version=adapter[1].version, reference=counted.reference.version, policy=policy.name, budget=budget,
        memories=most.memories, tokens=most.tokens, turns=len(story.turns), told=story.told, held=len(report.kept),
        evicted=report.evicted, merged=report.merged, recalled=report.recalled, missed=len(report.misses),
        wanted=report.wanted, missed_weight=sum(miss.weight for miss in report.misses), regretted=report.regretted,
        misses=_heaviest(report, story.ordinals),
    )  # fmt: skip


def _heaviest(report: Replayed, ordinals: Mapping[UUID, int]) -> list[list[Any]]:
    """Missed memories: id, turn that told it, turn at which it left, first turn that missed it, times, weight."""
    found: dict[UUID, list[Any]] = {}
    for miss in report.misses:
        memory = miss.memory
        row = found.setdefault(memory.id, [str(memory.id), ordinals.get(memory.turn), miss.left, miss.ordinal, 0, 0.0])
        row[4] += 1
        row[5] += miss.weight
    rows = sorted(found.values(), key=lambda row: (-row[5], row[3], row[0]))[:MOST_MISSES]
    return [[*row[:5], round(row[5], 6)] for row in rows]
