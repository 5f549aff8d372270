"""Temperature and floor from what was said of recalled memories' fit, on logits that the weights had not learned from.

The floor rises only: what lay below it was not shown, so that nobody could say that it fitted. It keeps nearly all
that was called fitting and drops as much of the rest as that allows, a little a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from memory.engine.adapter import Adapter, Floor
from memory.engine.types import Floats
from training.learner.cue_likelihood import loss
from training.learner.cue_training import ModeLearned
from training.learner.cues import Cues
from training.learner.dataset import Doubles

UNREAD = "unread"  # its cues are held against a level of their own, which stays
LEAST = 30  # rows that were called fitting, and as many that were not
KEPT = 0.98  # of the weight of what was called fitting
FINER = 5.0  # times as large a share of the unfitting must be dropped as of the fitting
MOST_MOVED = 0.05  # of the floor in one run
RANGE, STEPS = 2.5, 41  # the temperature may become so many times as high or as low, tried in so many steps
CLEARLY = 1.0  # nats by which another temperature must explain better what was said (Akaike: it is one number more)


@dataclass(frozen=True)
class Calibration:
    """What a challenger recalls with beside its weights."""

    temperature: float
    floor: Floor
    fitting: int  # rows it stands on
    unfitting: int

    @property
    def enough(self) -> bool:
        """Whether there was enough of both to calibrate by."""
        return min(self.fitting, self.unfitting) >= LEAST

    def applied(self, adapter: Adapter) -> Adapter:
        """The adapter with this temperature and this floor."""
        return replace(adapter, recall=replace(adapter.recall, temperature=self.temperature), floor=self.floor)


def calibrated(modes: Sequence[ModeLearned], champion: Adapter, held_out: Cues, most_lost: float) -> Calibration:
    """The champion's temperature and floor, moved where enough was said for both; the floor stays where it would lose
    too much of what was called fitting in the cues that were held out."""
    before = champion.recall.temperature, champion.floor
    fitting = sum(int((one.cues.judged & (one.cues.value >= 0.5)).sum()) for one in modes)
    unfitting = sum(int(one.cues.judged.sum()) for one in modes) - fitting
    as_it_is = Calibration(*before, fitting, unfitting)
    if not as_it_is.enough:
        return as_it_is
    threshold = risen([one.cues for one in modes if one.mode != UNREAD], champion.floor.threshold)
    checked = held_out.part(~held_out.of_mode(UNREAD))
    kept = [kept_by(checked, level) for level in (champion.floor.threshold, threshold)]
    if kept[0] - kept[1] > min(1 - KEPT, most_lost):
        threshold = champion.floor.threshold
    floor = replace(champion.floor, threshold=threshold, highly=max(threshold, champion.floor.highly))
    return replace(as_it_is, temperature=fitted([(one.cues, one.left_out) for one in modes], before[0]), floor=floor)


def fitted(said: Sequence[tuple[Cues, Doubles]], now: float) -> float:
    """The temperature at which what was said is likeliest, by the logits (R,) of each; the present one unless another
    is clearly better."""
    tried = now * np.geomspace(1 / RANGE, RANGE, STEPS)
    losses = [sum(loss(cues, logits, float(temperature)) for cues, logits in said) for temperature in tried]
    best = int(np.argmin(losses))
    clearly = losses[STEPS // 2] - losses[best] > CLEARLY
    return round(float(tried[best]), 3) if clearly else now


def risen(said: Sequence[Cues], now: float) -> float:
    """The floor's threshold after what was said: as high as it may be, if it drops unfitting rows by then.

    What was called fitting and lies below the present floor counts as lost, or run after run would lose a little more.
    """
    rows = [_judged(cues) for cues in said]
    fit = np.concatenate([np.zeros(0, dtype=np.float32), *(of[0] for of in rows)])
    high, low = (np.concatenate([np.zeros(0), *(of[part] for of in rows)]) for part in (1, 2))
    passes = fit >= np.float32(now)
    best, dropped = now, 0.0
    for threshold in np.round(np.arange(1, round(MOST_MOVED * 1000) + 1) / 1000 + now, 3).tolist():
        below = fit < np.float32(threshold)
        if high[~below].sum() < KEPT * high.sum():
            break
        lost, gone = (float(part[below & passes].sum() / max(part[passes].sum(), 1e-12)) for part in (high, low))
        if gone > dropped and gone >= FINER * lost:
            best, dropped = threshold, gone
    return best


def kept_by(cues: Cues, threshold: float) -> float:
    """The share of what was called fitting that passes a threshold, by weight; nan where nothing was."""
    fit, high, _low = _judged(cues)
    whole = float(high.sum())
    return float(high[fit >= np.float32(threshold)].sum()) / whole if whole else float("nan")


def _judged(cues: Cues) -> tuple[Floats, Doubles, Doubles]:
    """Fit of each judged row as the engine compares it, and how much says that it fits, and that it does not."""
    of = cues.judged
    value, weight = cues.value[of], cues.weight[of]
    return cues.fit[of], weight * value, weight * (1 - value)
