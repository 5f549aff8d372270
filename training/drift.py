"""Reads of drift: what the serving adapter learned from beside what banks wrote since, by feature. Counts alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from memory.adapters import serving_adapter, shipped_adapter
from memory.engine import features
from memory.engine.adapter_file import SHIPPED, read_manifest
from memory.engine.importance import KINDS
from memory.engine.statistics import STEP
from memory.models import AdapterVersion
from training.learner.distributions import FAR, LEAST, MOVED, by_chance, stability_index
from training.written import written

MIDDLE = 0.5


@dataclass(frozen=True)
class Learned:
    """What one version's head of one kind of conversation learned from, as its manifest keeps it."""

    version: str
    since: datetime | None  # when it was trained here; None for the shipped one, of whose data no bank has any
    memories: int
    features: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class DriftRow:
    """One feature: how far what was written since lies from what was learned from."""

    feature: str
    index: float  # population stability index
    chance: float  # what chance alone stays below, 19 times of 20
    verdict: str  # a code: "far", "moved", "chance" or "still"
    than: float  # the value beside which the shares are told
    above_then: float  # share of what was learned from that has at least that value
    above_now: float
    then: int  # memories
    now: int
    alone: bool  # whether below that value there is the least one alone: "none" against "some"
    mean: float  # of what was learned from
    deviation: float


@dataclass(frozen=True)
class BinRow:
    """One bin of one feature. Values are the feature's own; none where a bin is open."""

    feature: str
    low: float | None
    high: float | None
    then: int
    now: int
    share_then: float
    share_now: float


@dataclass(frozen=True)
class Drift:
    """All that is known of one kind of conversation."""

    serves: str
    kind: str
    learned: Learned | None
    erased: bool  # its numbers went with what was erased
    since: datetime
    counts: Mapping[str, Sequence[int]]  # by feature, in the bins of `learned`; {} for fewer than `LEAST` memories

    @property
    def now(self) -> int:
        """How many memories were written."""
        return max((sum(one) for one in self.counts.values()), default=0)


def drift_of(days: int, kind: str, now: datetime) -> Drift:
    """What the adapter that serves by default learned from, and what was written in the last days since; without a
    `kind` that of which most was written. Asked of the database as somebody of the staff."""
    version = serving_adapter().version
    learned = {one: learned_by(version, one) for one in KINDS}
    since = {one: _since(told, days, now) for one, told in learned.items()}
    counts = _counts({one: told for one, told in learned.items() if told and kind in ("", one)}, since)
    most = max(counts, key=lambda one: sum(map(sum, counts[one].values())), default=KINDS[1])
    kind = kind or most
    return Drift(version, kind, learned[kind], _erased(version), since[kind], counts.get(kind, {}))


def _since(learned: Learned | None, days: int, now: datetime) -> datetime:
    asked = now - timedelta(days=days)
    return max(asked, learned.since) if learned and learned.since else asked


def learned_by(version: str, kind: str) -> Learned | None:
    """What the head of one kind was learned from: by this version, or by the nearest before it whose head it still
    has. None where nothing is kept of it."""
    seen: set[str] = set()
    while version and version not in seen:
        seen.add(version)
        row = AdapterVersion.objects.filter(version=version).defer("weights").first()
        shipped = version == shipped_adapter().version
        manifest = read_manifest(SHIPPED) if shipped else row.manifest if row else {}
        found = manifest.get("distributions", {}).get(kind)
        if found and set(found["features"]) <= set(features.NAMES):
            since = None if shipped or row is None else row.created_at
            return Learned(version, since, found["memories"], found["features"])
        if manifest.get("erased") or kind in manifest.get("learned", []):
            return None  # its own numbers are gone or were never kept: those before it are not its
        version = (row.parent_id if row else None) or ""
    return None


def _erased(version: str) -> bool:
    return AdapterVersion.objects.filter(version=version, manifest__erased=True).exists()


def _counts(learned: Mapping[str, Learned], since: Mapping[str, datetime]) -> dict[str, dict[str, list[int]]]:
    """How what all banks of each kind wrote lies in its bins; kinds that count from one day are counted together."""
    edges = {
        kind: [told.features[name]["edges"] if name in told.features else [] for name in features.NAMES]
        for kind, told in learned.items()
    }
    out = {
        kind: {name: [0] * (len(of_kind[place]) + 1) for place, name in enumerate(features.NAMES) if of_kind[place]}
        for kind, of_kind in edges.items()
    }
    for moment in {since[kind] for kind in edges}:
        for kind, place, number, memories in written.since(
            moment, {one: of_one for one, of_one in edges.items() if since[one] == moment}
        ):
            if features.NAMES[place] in out[kind]:
                out[kind][features.NAMES[place]][number] = memories
    return {
        kind: {name: counts for name, counts in of_kind.items() if sum(counts) >= LEAST}
        for kind, of_kind in out.items()
    }


def drift_rows(found: Drift) -> list[DriftRow]:
    """Every feature, the farthest first."""
    if found.learned is None:
        return []
    rows = [_row(name, found.learned.features[name], now) for name, now in found.counts.items()]
    return sorted(rows, key=lambda row: (-row.index, row.feature))


def _row(name: str, learned: Mapping[str, Any], now: Sequence[int]) -> DriftRow:
    then, edges = learned["counts"], learned["edges"]
    index = stability_index(then, now)
    chance = by_chance(sum(then), sum(now), len(then))
    place = 0 if learned["alone"] else min(range(len(edges)), key=lambda one: abs(_above(then, one) - MIDDLE))
    verdict = "still" if index < MOVED else "chance" if index <= chance else "moved" if index < FAR else "far"
    return DriftRow(
        name, round(index, 4), round(chance, 4), verdict, round(edges[place] * STEP, 4),
        round(_above(then, place), 4), round(_above(now, place), 4), sum(then), sum(now), learned["alone"],
        learned["mean"], learned["deviation"],
    )  # fmt: skip


def _above(counts: Sequence[int], place: int) -> float:
    """The share of what lies in the bins from edge `place` on."""
    return sum(counts[place + 1 :]) / sum(counts)


def bin_rows(found: Drift, feature: str) -> list[BinRow]:
    """The bins of one feature, from the lowest."""
    if found.learned is None or feature not in found.counts:
        return []
    then, now = found.learned.features[feature]["counts"], found.counts[feature]
    edges = [None, *(round(edge * STEP, 4) for edge in found.learned.features[feature]["edges"]), None]
    return [
        BinRow(feature, low, high, one, other, round(one / sum(then), 4), round(other / sum(now), 4))
        for low, high, one, other in zip(edges[:-1], edges[1:], then, now, strict=True)
    ]
