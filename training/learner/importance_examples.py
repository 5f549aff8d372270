"""Examples for the importance head: what each memory's features were when it was written, and whether it was needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.engine.importance import ImportanceHead
from memory.engine.statistics import ROLES, STEP, RoleStatistics
from memory.engine.types import Floats, Role
from training.learner.banks import FilledBank


@dataclass(frozen=True)
class ImportanceExamples:
    """One bank's memories in the order in which they were written."""

    kind: str
    group: str
    raw: Floats  # (N, F) features
    roles: Sequence[Role]
    turns: npt.NDArray[np.int64]  # (N,) which turn wrote each: what was written before it is what it was scored with
    needed: npt.NDArray[np.bool_]  # (N,)
    side: npt.NDArray[np.int64]  # (N,) the side each was told by first

    def standardised(self, head: ImportanceHead, kind: str = "") -> Floats:
        """The features (N, F) as the head sees them at the moment of writing."""
        statistics = RoleStatistics()
        out = np.empty_like(self.raw)
        whole = np.rint(self.raw / STEP).astype(np.int64)
        for turn in np.unique(self.turns):
            rows = np.flatnonzero(self.turns == turn).tolist()
            for row in rows:
                out[row] = head.standardised(self.raw[row], self.roles[row], statistics, kind or self.kind)
            for row in rows:
                statistics.add(self.roles[row], whole[row].tolist())
        return out


def importance_examples(bank: FilledBank) -> ImportanceExamples:
    """Read the examples off a bank that was told a whole stream; a memory is needed when any side it holds is."""
    stream = bank.stream
    marks = bank.hot.state.marks
    told: dict[object, list[int]] = {}
    for number, memories in enumerate(bank.memories_of):
        for memory in memories:
            told.setdefault(memory, []).append(number)
    evidence = stream.evidence
    written = sorted(told, key=lambda memory: marks[memory].written)  # type: ignore[index]
    raw = np.array([marks[memory].features for memory in written], dtype=np.float32) * np.float32(STEP)  # type: ignore[index]
    first = [told[memory][0] for memory in written]
    return ImportanceExamples(
        kind=stream.kind,
        group=stream.group,
        raw=raw,
        roles=[Role(marks[memory].role) for memory in written],  # type: ignore[index]
        turns=np.array([stream.sides[number].turn for number in first]),
        needed=np.array([any(stream.sides[n].id in evidence for n in told[memory]) for memory in written]),
        side=np.array(first),
    )


def role_moments(examples: Sequence[ImportanceExamples]) -> tuple[Floats, Floats]:
    """Mean and deviation of each role's features over all examples, (len(ROLES), F) each; a role that is missing
    takes those of all."""
    raw = np.concatenate([one.raw for one in examples])
    roles = np.array([role.value for one in examples for role in one.roles])
    mean, deviation = [], []
    for role in ROLES:
        rows = raw[roles == role.value]
        rows = rows if len(rows) > 1 else raw
        mean.append(rows.mean(axis=0))
        deviation.append(np.maximum(rows.std(axis=0), 0.1))
    return np.array(mean, dtype=np.float32), np.array(deviation, dtype=np.float32)
