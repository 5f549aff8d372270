"""Temperature and floor move where enough was said, and no further than that allows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memory.engine.adapter import Adapter, RecallHead
from memory.engine.adapter_file import SHIPPED, load_adapter
from tests.training.learner.made_up_cues import cues_by
from training.learner.cue_calibration import LEAST, MOST_MOVED, Calibration, calibrated, fitted, kept_by, risen
from training.learner.cue_training import ModeLearned
from training.learner.cues import Cues, nothing
from training.learner.dataset import Doubles

CHAMPION = load_adapter(SHIPPED)
FLOOR = CHAMPION.floor.threshold


def learned(cues: Cues, logits: Doubles | None = None) -> ModeLearned:
    weights = CHAMPION.recall.asking.astype(np.float64)
    logits = cues.signals @ weights if logits is None else logits
    return ModeLearned("asking", weights, 10.0, True, 1.0, int(cues.judged.sum()), cues, logits)


def moved(cues: Cues, champion: Adapter = CHAMPION, held_out: Cues | None = None) -> Calibration:
    return calibrated([learned(cues)], champion, cues if held_out is None else held_out, 0.02)


def parted(low: float, high: float) -> Cues:
    """What fits has this fit, what does not that one."""
    cues = cues_by(1)
    return replace(cues, fit=np.where(cues.value > 0.5, high, low).astype(np.float32))


def test_the_floor_rises_to_what_drops_the_unfitting_and_keeps_the_fitting() -> None:
    found = moved(parted(0.37, 0.6))
    assert found.enough
    assert found.floor.threshold == pytest.approx(0.371, abs=0.0011)
    assert kept_by(parted(0.37, 0.6), found.floor.threshold) == 1.0
    assert replace(found.floor, threshold=FLOOR) == CHAMPION.floor


def test_it_rises_by_little_in_one_run_and_never_falls() -> None:
    assert risen([parted(0.403, 0.6)], FLOOR) == pytest.approx(0.404, abs=0.0011)
    assert risen([parted(FLOOR + MOST_MOVED + 0.02, 0.6)], FLOOR) == FLOOR, "nothing would be dropped within reach"
    assert risen([parted(0.6, 0.37)], FLOOR) == FLOOR, "what fits lies lowest"
    assert risen([parted(0.2, 0.6)], FLOOR) == FLOOR, "what lies below is dropped already"
    assert risen([cues_by(1)], FLOOR) == FLOOR, "a fit that says nothing is no reason"
    lost_before = parted(0.37, 0.6)
    fit = np.where((lost_before.value > 0.5) & (lost_before.cue % 10 == 0), 0.3, lost_before.fit).astype(np.float32)
    assert risen([replace(lost_before, fit=fit)], FLOOR) == FLOOR, "one that loses what fits already rises no more"
    assert risen([], FLOOR) == FLOOR


def test_a_few_of_what_fitted_may_be_lost_and_no_more() -> None:
    cues = parted(0.38, 0.6)
    fitting = np.flatnonzero(cues.value > 0.5)
    for lost, rises in ((int(0.015 * len(fitting)), True), (int(0.03 * len(fitting)), False)):
        fit = cues.fit.copy()
        fit[fitting[:lost]] = 0.375
        found = risen([replace(cues, fit=fit)], FLOOR)
        assert (found >= 0.38) == rises
        assert kept_by(replace(cues, fit=fit), found) >= 0.98


def test_the_floor_stays_where_held_out_cues_say_that_it_would_lose_too_much() -> None:
    assert moved(parted(0.37, 0.6), held_out=parted(0.37, 0.37)).floor == CHAMPION.floor
    assert moved(parted(0.37, 0.6), held_out=nothing()).floor.threshold > FLOOR, "where they say nothing it may rise"


def test_the_temperature_is_the_one_at_which_the_judgements_are_likeliest() -> None:
    weights = CHAMPION.recall.asking.astype(np.float64)
    random = np.random.default_rng(5)
    cues = cues_by(5, conversations=60, each=4, judged=12)
    logits = cues.signals @ weights
    parts = np.exp(logits.reshape(-1, 12) / 1.9)
    chosen = [random.choice(12, p=row / row.sum()) for row in parts]
    value = np.zeros_like(parts)
    value[np.arange(len(parts)), chosen] = 1.0
    said = replace(cues, value=value.ravel())
    assert fitted([(said, logits)], 1.0) == pytest.approx(1.9, rel=0.15)
    assert fitted([(said, logits)], 1.9) == 1.9, "what is nearly right stays"


def test_with_few_judgements_of_one_sort_both_stay() -> None:
    cues = parted(0.37, 0.6)
    fitting = np.flatnonzero(cues.value > 0.5)
    weight = cues.weight.copy()
    weight[fitting[LEAST - 1 :]] = 0.0
    found = moved(replace(cues, weight=weight))
    assert (found.fitting, found.enough) == (LEAST - 1, False)
    assert (found.temperature, found.floor) == (CHAMPION.recall.temperature, CHAMPION.floor)
    nothing_learned = calibrated([], CHAMPION, nothing(), 0.02)
    assert (nothing_learned.enough, nothing_learned.floor) == (False, CHAMPION.floor)


def test_highly_never_lies_below_the_floor() -> None:
    low = replace(CHAMPION, floor=replace(CHAMPION.floor, highly=FLOOR + 0.001))
    found = moved(parted(0.37, 0.6), low)
    assert found.floor.highly == found.floor.threshold
    applied = found.applied(CHAMPION)
    assert applied.floor == found.floor
    assert isinstance(applied.recall, RecallHead)
