"""A run from a frozen dataset to a challenger and what is known of it: one seed, the same weights each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from memory.engine.adapter import Adapter
from memory.engine.prior import prior
from training.learner.cue_calibration import Calibration, calibrated
from training.learner.cue_evaluation import evaluate_cues
from training.learner.cue_training import RECALL, CuesLearned, CueSplit, learn_cues, no_split, split_cues
from training.learner.cues import Cues, nothing
from training.learner.dataset import Dataset
from training.learner.evaluate import Evaluation, evaluate
from training.learner.failures import ClassMissing, TooFewConversations, TooFewLabels, TrainingFailed
from training.learner.public_cues import PublicCues, shipped_cues
from training.learner.public_slice import Slice, slice_for
from training.learner.shared_head import HowToLearn, Learned, Split, Told, learn_heads, split


@dataclass(frozen=True)
class Outcome:
    """What a run comes to. No challenger where the judgements say nothing that the champion does not know."""

    challenger: Adapter | None
    learned: Learned
    evaluation: Evaluation
    missing: Mapping[str, int]  # judgements that the kinds left out lack, and recall
    recalled: CuesLearned
    calibration: Calibration


@dataclass(frozen=True)
class Public:
    """What no challenger may lose: public conversations and public cues."""

    slice: Slice
    cues: PublicCues


def train(
    data: Dataset, champion: Adapter, *, how: HowToLearn, cues: Cues | None = None,
    told: Told = lambda name, value: None, step: Callable[[float], None] = lambda share: None,
    evaluating: Callable[[], None] = lambda: None, public: Slice | Public | None = None, base: Adapter | None = None,
) -> Outcome:  # fmt: skip
    """Learn on some conversations, measure on the others. `told` gets the curves, `step` the share of learning done,
    `evaluating` is called between the two. Raises `TrainingFailed` with the reason.

    A challenger is `base` but for what is learned: the champion, or where that must not be gone on from another, with
    which the champion is then compared all the same.

    One thread: the matrices are small, several threads on a busy machine wait for each other, and the order of sums
    would depend on how many there are.
    """
    cues = nothing() if cues is None else cues
    base = base or champion
    with threadpool_limits(limits=1):
        parts, cue_parts = divided(data, cues, how)
        start = prior() if how.from_scratch else base
        guarding = _public(public, champion)
        heads = len(parts.kinds) / (len(parts.kinds) + len(cue_parts.modes))
        learned = learn_heads(
            data, parts, base.importance, start.importance, how, guarding.slice, told,
            lambda share: step(heads * share),
        )  # fmt: skip
        recalled = learn_cues(
            cues, cue_parts, base.recall, start.recall, how, guarding.cues, told,
            lambda share: step(heads + (1 - heads) * share),
        )  # fmt: skip
        evaluating()
        calibration = calibrated(recalled.modes, base, cues.part(cue_parts.held_out), how.most_lost)
        beside = evaluate_cues(cues, cue_parts, champion, recalled, calibration, guarding.cues, how.most_lost, how.seed)
        found = evaluate(data, parts, champion.importance, learned, guarding.slice, how.most_lost, how.seed, beside)
    challenger = None
    if found.moved:
        challenger = calibration.applied(replace(base, importance=learned.head, recall=recalled.head))
    missing = {**parts.missing, **({RECALL: cue_parts.missing} if cue_parts.missing else {})}
    return Outcome(challenger, learned, found, missing, recalled, calibration)


def _public(public: Slice | Public | None, champion: Adapter) -> Public:
    if isinstance(public, Public):
        return public
    if public is not None:
        return Public(public, PublicCues({}))
    return Public(slice_for(champion.importance), shipped_cues())


def divided(data: Dataset, cues: Cues, how: HowToLearn) -> tuple[Split, CueSplit]:
    """Both divisions; where there is too little for one of them, the other is enough.

    Raises what `split` and `split_cues` raise when there is too little for both.
    """
    try:
        parts: Split | TrainingFailed = split(data, how)
    except (TooFewLabels, TooFewConversations) as error:
        parts = error
    try:
        cue_parts: CueSplit | TrainingFailed = split_cues(cues, how)
    except (TooFewLabels, TooFewConversations, ClassMissing) as error:
        cue_parts = error
    if isinstance(parts, Split):
        lacking = cue_parts.missing.get(RECALL, 0) if isinstance(cue_parts, TooFewLabels) else 0
        return parts, cue_parts if isinstance(cue_parts, CueSplit) else no_split(cues, lacking)
    if isinstance(cue_parts, CueSplit):
        missing = parts.missing if isinstance(parts, TooFewLabels) else {}
        none = np.zeros(len(data), dtype=bool)
        return Split((), none, none, missing), cue_parts
    if isinstance(parts, TooFewLabels) and isinstance(cue_parts, TooFewLabels):
        raise TooFewLabels({**parts.missing, **cue_parts.missing})
    raise parts if isinstance(parts, TooFewConversations) else cue_parts
