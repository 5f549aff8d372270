"""How well importance says what people say: memories that were judged, by tenths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.life import ImportanceRow


@dataclass(frozen=True)
class CalibrationRow:
    """Memories whose importance lies in one tenth, and what judgements of them say."""

    low: float
    high: float
    memories: int
    importance: float  # mean
    label: float  # mean by weight


def calibration_rows(rows: Sequence[ImportanceRow], bins: int = 10) -> list[CalibrationRow]:
    """Judged memories by importance, in `bins` of the same width; empty ones are left out."""
    groups: dict[int, list[ImportanceRow]] = {}
    for row in rows:
        if row.label is not None and row.label_weight:
            groups.setdefault(min(bins - 1, int(row.importance * bins)), []).append(row)
    out = []
    for number, group in sorted(groups.items()):
        weights = [row.label_weight or 0.0 for row in group]
        label = sum((row.label or 0.0) * weight for row, weight in zip(group, weights, strict=True)) / sum(weights)
        mean = sum(row.importance for row in group) / len(group)
        out.append(CalibrationRow(number / bins, (number + 1) / bins, len(group), mean, label))
    return out
