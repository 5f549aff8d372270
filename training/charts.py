"""Rows of a report as a page shows them: pure functions over what the run stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from training.services.sentences import GUARDS, METRICS, NAMES


@dataclass(frozen=True)
class MetricRow:
    """One figure of both, with the 95 % interval of the difference, in hundredths where a bar is drawn."""

    name: str
    kind: str
    champion: float
    challenger: float
    low: float
    high: float
    n: int

    @property
    def difference(self) -> float:
        """How far the challenger is ahead."""
        return self.challenger - self.champion

    @property
    def sure(self) -> str:
        """A code: whether the interval lies above 0, below 0, or around it."""
        return "ahead" if self.low > 0 else "behind" if self.high < 0 else "open"


@dataclass(frozen=True)
class GuardRow:
    """One guard."""

    name: str
    kind: str
    champion: float
    challenger: float
    lost: float
    most: float
    ok: bool


def _place(metric: Mapping[str, Any]) -> tuple[str, int]:
    return metric["kind"], list(METRICS).index(metric["of"])


def report_rows(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report's tables: metrics and guards with names that people read."""
    metrics = [
        MetricRow(
            str(METRICS.get(one["of"], one["of"])), str(NAMES.get(one["kind"], one["kind"])),
            one["champion"], one["challenger"], one["low"], one["high"], one["n"],
        )
        for one in sorted(report.get("metrics", {}).values(), key=_place)
        if None not in (one["champion"], one["challenger"], one["low"], one["high"])
    ]  # fmt: skip
    guards = [
        GuardRow(
            str(GUARDS.get(one["of"], one["of"])), str(NAMES.get(one["kind"], one["kind"])),
            one["champion"], one["challenger"], one["lost"], one["most"], one["ok"],
        )
        for one in report.get("guards", [])
        if None not in (one["champion"], one["challenger"])
    ]  # fmt: skip
    kinds = [
        {**one, "name": str(NAMES.get(kind, kind))} for kind, one in report.get("by_kind", {}).items()
    ]  # fmt: skip
    recall = report.get("recall") or {}
    modes = [{**one, "name": str(NAMES.get(mode, mode))} for mode, one in recall.get("by_mode", {}).items()]
    return {
        **report,
        "mode_rows": modes,
        "calibration": recall.get("calibration"),
        "metric_rows": metrics,
        "guard_rows": guards,
        "kind_rows": kinds,
    }
