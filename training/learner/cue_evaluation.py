"""Champion and challenger side by side in recall: on cues that were held out, and on the public ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memory.engine.adapter import Adapter, RecallHead
from training.learner.cue_calibration import UNREAD, Calibration, kept_by
from training.learner.cue_likelihood import offsets
from training.learner.cue_ranking import RankedCues
from training.learner.cue_training import RECALL, CuesLearned, CueSplit
from training.learner.cues import Cues
from training.learner.dataset import Doubles
from training.learner.guards import Guard, guard
from training.learner.public_cues import PublicCues
from training.learner.ranking import CHANCE, Beside
from training.learner.recall_examples import MODES


@dataclass(frozen=True)
class ModeBeside:
    """One mode's figures on held-out conversations."""

    ranking: Beside
    attended: Beside
    conversations: int


@dataclass(frozen=True)
class CuesBeside:
    """What is known of a challenger's recall beside the champion's."""

    by_mode: Mapping[str, ModeBeside] = field(default_factory=dict)
    guards: Sequence[Guard] = ()
    confidence: Sequence[float] = ()  # that a mode's weights are better, one for each that moved


def evaluate_cues(
    cues: Cues, parts: CueSplit, champion: Adapter, learned: CuesLearned, calibration: Calibration, public: PublicCues,
    most_lost: float, seed: int,
) -> CuesBeside:  # fmt: skip
    """Measure both; modes that were not learned have the champion's weights and appear in the guards alone."""
    by_mode: dict[str, ModeBeside] = {}
    guards: list[Guard] = []
    confidence: list[float] = []
    temperatures = champion.recall.temperature, calibration.temperature
    for one in learned.modes:
        part = cues.part(parts.held_out & cues.of_mode(one.mode))
        before, after = (_logits(part, head, one.mode) for head in (champion.recall, learned.head))
        ranked = RankedCues(part, before, after, temperatures)
        found = ModeBeside(ranked.ranking(seed), ranked.attended(seed), len(np.unique(part.group)))
        by_mode[one.mode] = found
        if ranked.paired:
            guards.append(guard("own", one.mode, found.ranking.champion, found.ranking.challenger, most_lost))
        if one.moved:
            # a challenger that ranks no better than chance has learned nothing, however bad the champion is
            outer = found.ranking.better if found.ranking.challenger_low > CHANCE else 0.0
            confidence.append(min(one.better, outer))
    if parts.modes and calibration.floor.threshold > champion.floor.threshold:
        held_out = cues.part(parts.held_out & ~cues.of_mode(UNREAD))
        kept = [kept_by(held_out, floor.threshold) for floor in (champion.floor, calibration.floor)]
        guards.append(guard("floor", RECALL, kept[0], kept[1], most_lost))
    for mode in MODES if parts.modes else ():
        if public.cues.get(mode):
            was, now = (
                public.ranking(mode, head, np.asarray(getattr(head, mode), dtype=np.float64))
                for head in (champion.recall, learned.head)
            )
            guards.append(guard("public", mode, was, now, most_lost))
    return CuesBeside(by_mode, tuple(guards), tuple(confidence))


def _logits(cues: Cues, head: RecallHead, mode: str) -> Doubles:
    return np.asarray(cues.signals @ np.asarray(getattr(head, mode), dtype=np.float64) + offsets(cues, head))
