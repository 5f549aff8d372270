"""A run from a frozen dataset to a challenger and what is known of it: one seed, the same weights each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from threadpoolctl import threadpool_limits

from memory.engine.adapter import Adapter
from memory.engine.prior import prior
from training.learner.dataset import Dataset
from training.learner.evaluate import Evaluation, evaluate
from training.learner.public_slice import Slice, slice_for
from training.learner.shared_head import HowToLearn, Learned, Told, learn_heads, split


@dataclass(frozen=True)
class Outcome:
    """What a run comes to. No challenger where the judgements say nothing that the champion does not know."""

    challenger: Adapter | None
    learned: Learned
    evaluation: Evaluation
    missing: Mapping[str, int]  # judgements that the kinds left out lack


def train(
    data: Dataset, champion: Adapter, *, how: HowToLearn, told: Told = lambda name, value: None,
    step: Callable[[float], None] = lambda share: None, evaluating: Callable[[], None] = lambda: None,
    public: Slice | None = None,
) -> Outcome:  # fmt: skip
    """Learn on some conversations, measure on the others. `told` gets the curves, `step` the share of learning done,
    `evaluating` is called between the two. Raises `TrainingFailed` with the reason.

    One thread: the matrices are small, several threads on a busy machine wait for each other, and the order of sums
    would depend on how many there are.
    """
    with threadpool_limits(limits=1):
        parts = split(data, how)
        serving = champion.importance
        start = prior().importance if how.from_scratch else serving
        public = slice_for(serving) if public is None else public
        learned = learn_heads(data, parts, serving, start, how, public, told, step)
        evaluating()
        found = evaluate(data, parts, serving, learned, public, how.most_lost, how.seed)
    challenger = replace(champion, importance=learned.head) if found.moved else None
    return Outcome(challenger, learned, found, parts.missing)
