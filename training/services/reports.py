"""What a run leaves behind: its report as the pages and promotions read it, and the challenger's manifest."""

from __future__ import annotations

from typing import Any

from memory.engine.adapter import Adapter
from training.learner.cue_calibration import LEAST
from training.learner.evaluate import Evaluation
from training.learner.ranking import Beside
from training.learner.training import Outcome
from training.models import Rules, TrainingRun
from training.services.sentences import outcome_sentence


def report_of(outcome: Outcome, champion: Adapter, rules: Rules) -> dict[str, Any]:
    """Champion beside challenger: metrics with intervals of the difference, guards, by kind, recall, the verdict."""
    found = outcome.evaluation
    verdict = found.verdict(rules.confidence)
    return {
        "metrics": _metrics(found),
        "better": round(found.better, 4),
        "confidence": rules.confidence,
        "guards": [
            {
                "name": f"{guard.name}:{guard.kind}", "of": guard.name, "kind": guard.kind,
                "champion": _figure(guard.champion), "challenger": _figure(guard.challenger),
                "lost": _figure(guard.lost), "most": rules.most_lost, "ok": guard.ok,
            }
            for guard in found.guards
        ],
        "by_kind": {
            one.kind: {
                "labels": one.labels, "strength": one.strength, "moved": one.moved, "left_out": round(one.better, 4),
                "held_out_conversations": found.by_kind[one.kind].conversations,
                "better": round(found.by_kind[one.kind].ranking.better, 4),
            }
            for one in outcome.learned.kinds
        },
        "recall": _recall(outcome, champion),
        "missing": dict(outcome.missing),
        "verdict": verdict,
        "sentence": outcome_sentence(found, verdict, rules.confidence),
    }  # fmt: skip


def _metrics(found: Evaluation) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for kind, of in found.by_kind.items():
        for name, beside in (("ranking", of.ranking), ("kept", of.kept), ("pairs", of.pairs)):
            if beside is not None:
                out[f"{name}:{kind}"] = {**_beside(beside), "kind": kind, "of": name}
    for mode, of_mode in found.recall.by_mode.items():
        for name, beside in (("fitting", of_mode.ranking), ("attended", of_mode.attended)):
            out[f"{name}:{mode}"] = {**_beside(beside), "kind": mode, "of": name}
    return out


def _recall(outcome: Outcome, champion: Adapter) -> dict[str, Any]:
    """What was learned of recall, and where temperature and floor stand; {} where nothing could be learned."""
    if not outcome.recalled.modes:
        return {}
    by_mode = outcome.evaluation.recall.by_mode
    return {
        "by_mode": {
            one.mode: {
                "labels": one.labels, "strength": one.strength, "moved": one.moved, "left_out": round(one.better, 4),
                "held_out_conversations": by_mode[one.mode].conversations,
                "better": round(by_mode[one.mode].ranking.better, 4),
            }
            for one in outcome.recalled.modes
        },
        "calibration": _calibration(outcome, champion),
    }  # fmt: skip


def _calibration(outcome: Outcome, champion: Adapter) -> dict[str, Any]:
    found = outcome.calibration
    return {
        "enough": found.enough, "fitting": found.fitting, "unfitting": found.unfitting, "need": LEAST,
        "temperature": {"champion": champion.recall.temperature, "challenger": found.temperature},
        "floor": {"champion": champion.floor.threshold, "challenger": found.floor.threshold},
    }  # fmt: skip


def _beside(beside: Beside) -> dict[str, Any]:
    return {
        "champion": _figure(beside.champion), "challenger": _figure(beside.challenger),
        "low": _figure(beside.low), "high": _figure(beside.high), "n": beside.n,
    }  # fmt: skip


def _figure(value: float) -> float | None:
    """Rounded; None for what is no number, which JSON cannot hold."""
    return round(value, 4) if value == value else None


def manifest_of(run: TrainingRun, base: str, report: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    """What the challenger says of itself: which version it goes on from, what it was learned from, how well it does."""
    assert run.snapshot is not None
    return {
        "kind": "shared",
        "run": str(run.pk),
        "parent": base,
        "snapshot": run.snapshot.digest,
        "window": run.snapshot.about["window"],
        "labels": run.snapshot.about["judgements"],
        "sources": run.snapshot.about["sources"],
        "relevance": run.snapshot.about["relevance"],
        "learned": [one.kind for one in outcome.learned.kinds if one.moved],
        "recall": [one.mode for one in outcome.recalled.modes if one.moved],
        "calibration": report["recall"].get("calibration", {}),
        "seed": run.seed,
        "from_scratch": run.from_scratch,
        "metrics": report["metrics"],
        "better": report["better"],
        "verdict": report["verdict"],
    }
