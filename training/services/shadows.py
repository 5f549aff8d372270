"""A challenger scores silently beside what serves, outside of any turn: both are logged, nothing changes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from memory.adapters import adapter_named, adapter_of
from memory.engine import signals
from memory.engine.adapter import Adapter
from memory.engine.attention import logits_of, softmax
from memory.engine.bank import Kind
from memory.engine.importance import kind_of
from memory.engine.posterior import Doubles
from memory.engine.statistics import STEP, RoleStatistics
from memory.engine.types import BankError, Cue, Role
from memory.models import Bank, Event, Recall
from memory.traces import signals_in
from training.models import Promotion, ShadowScore
from training.services.promotions import shadowing

WRITTEN, RECALLED = "written", "recalled"
log = logging.getLogger(__name__)
LONGEST = 2_000  # events of one bank in one go: the next run of the job takes the rest


@dataclass(frozen=True)
class Pair:
    """Champion and challenger of one bank."""

    champion: Adapter
    challenger: Adapter


def score_silently() -> int:
    """Let the challenger that shadows score what was written and recalled since; returns how many scores were kept.

    Run by the clock as the sweeping role. Repeated, it goes on after the last event that it scored.
    """
    promotion = shadowing("worker")
    if promotion is None:
        return 0
    try:
        challenger = adapter_named(promotion.adapter_id)
    except BankError as error:
        log.warning("nothing scores silently: %s", error.sentence)
        return 0
    kept = 0
    new = Event.objects.using("worker").filter(kind__in=(Kind.WRITTEN, Kind.RECALLED), at__gte=promotion.at)
    for bank_id in new.values_list("bank", flat=True).order_by("bank").distinct().iterator():
        bank = Bank.objects.using("worker").select_related("space").get(pk=bank_id)
        kept += _score_bank(bank, promotion, challenger)
    return kept


def _score_bank(bank: Bank, promotion: Promotion, challenger: Adapter) -> int:
    done = ShadowScore.objects.using("worker").filter(promotion=promotion, bank=bank)
    last = done.order_by("-seq").values_list("seq", flat=True).first() or 0
    new = Event.objects.using("worker").filter(bank=bank, seq__gt=last, at__gte=promotion.at)
    lines = list(new.filter(kind__in=(Kind.WRITTEN, Kind.RECALLED)).order_by("seq")[:LONGEST])
    if not lines:
        return 0
    pair = Pair(adapter_of(bank), challenger.in_space(bank.space.revision))
    scores = [*_of_written(bank, lines, pair), *_of_recalls(lines, pair)]
    rows = [ShadowScore(promotion=promotion, bank=bank, owner_id=bank.owner_id, **score) for score in scores]
    ShadowScore.objects.using("worker").bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def _of_written(bank: Bank, lines: Sequence[Event], pair: Pair) -> Iterator[dict[str, object]]:
    """The importance that both give to each new memory, by its features and what was usual when it was written."""
    wanted = {line.seq for line in lines if line.kind == Kind.WRITTEN and line.data.get("features")}
    if not wanted:
        return
    statistics = RoleStatistics()
    told = Event.objects.using("worker").filter(bank=bank, kind=Kind.WRITTEN, seq__lte=max(wanted)).order_by("seq")
    for seq, data in told.values_list("seq", "data").iterator(2_000):
        whole = data.get("features")
        if not whole:
            continue
        role = Role(data["role"])
        if seq in wanted:
            yield {"seq": seq, "kind": WRITTEN} | {
                name: _importance(adapter, whole, role, statistics)
                for name, adapter in (("champion", pair.champion), ("challenger", pair.challenger))
            }
        statistics.add(role, whole)


def _importance(adapter: Adapter, whole: Sequence[int], role: Role, statistics: RoleStatistics) -> float:
    prior = adapter.importance.priors[kind_of(statistics)]
    values = np.zeros(len(prior.weights), dtype=np.float32)
    values[: len(whole)] = np.asarray(whole, dtype=np.float32) * np.float32(STEP)
    return round(adapter.importance.importance(values, role, statistics), 6)


def _of_recalls(lines: Sequence[Event], pair: Pair) -> Iterator[dict[str, object]]:
    """The weight that both give to what the champion put first among a trace's stored rows, and whether it is what the
    challenger puts first."""
    by_recall = {UUID(line.data["recall"]): line.seq for line in lines if line.kind == Kind.RECALLED}
    traces = Recall.objects.using("worker").filter(pk__in=by_recall).select_related("turn")
    for trace in traces.iterator(200):
        values = signals_in(trace, signals.NAMES)
        if not len(values):
            continue
        cue = Cue(text=trace.turn.observation, vector=np.zeros(0, dtype=np.float32), at=trace.at, asking=trace.asking)
        now, then = (
            softmax(logits_of(cue, values, adapter.recall), adapter.recall.temperature)
            for adapter in (pair.champion, pair.challenger)
        )
        first = int(now.argmax())
        yield {
            "seq": by_recall[trace.pk], "kind": RECALLED, "champion": round(float(now[first]), 6),
            "challenger": round(float(then[first]), 6), "same": first == int(then.argmax()),
        }  # fmt: skip


@dataclass(frozen=True)
class Agreement:
    """How far champion and challenger agree on a bank, or on all: counts, shares and means, nobody's words."""

    bank: UUID | None
    written: int
    recalled: int
    same_first: float | None  # share of recalls in which both put the same memory first
    rank: float | None  # correlation of the ranks of importance (Spearman)
    change: float | None  # mean of the challenger's importance less the champion's


def agreement(promotion: Promotion) -> list[Agreement]:
    """How far both agree: over all banks first, then by bank. [] as long as nothing was scored."""
    rows = ShadowScore.objects.filter(promotion=promotion).order_by("bank", "seq")
    by_bank: dict[UUID, list[Mapping[str, object]]] = {}
    for row in rows.values("bank", "kind", "champion", "challenger", "same"):
        by_bank.setdefault(row["bank"], []).append(row)
    if not by_bank:
        return []
    every = [row for rows_of in by_bank.values() for row in rows_of]
    return [_agreement(None, every), *(_agreement(bank, rows_of) for bank, rows_of in by_bank.items())]


def _agreement(bank: UUID | None, rows: Sequence[Mapping[str, object]]) -> Agreement:
    written = [row for row in rows if row["kind"] == WRITTEN]
    same = [bool(row["same"]) for row in rows if row["kind"] == RECALLED]
    now = np.array([row["champion"] for row in written], dtype=np.float64)
    then = np.array([row["challenger"] for row in written], dtype=np.float64)
    return Agreement(
        bank, len(written), len(same), sum(same) / len(same) if same else None, _rank_correlation(now, then),
        float((then - now).mean()) if len(written) else None,
    )  # fmt: skip


def _rank_correlation(one: Doubles, other: Doubles) -> float | None:
    """Spearman's rho, equal values sharing their mean rank; None where one side is all alike."""
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(_ranks(one), _ranks(other))[0, 1])


def _ranks(values: Doubles) -> Doubles:
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[which]
