"""Champion and challenger side by side: on conversations that were held out, and on the public slice; recall joins in.

The confidence that the challenger is better is the lesser of two that know nothing of each other: one from
conversations that were left out in turn while learning, one from those that were held out altogether. So a challenger
that has learned chance passes one time in hundreds, not one in twenty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memory.engine.importance import KINDS, ImportanceHead
from training.learner.cue_evaluation import CuesBeside
from training.learner.dataset import Dataset, Doubles
from training.learner.guards import Guard, guard
from training.learner.public_slice import Slice
from training.learner.ranking import CHANCE, Beside, Ranked
from training.learner.shared_head import Learned, Split, logits


@dataclass(frozen=True)
class KindBeside:
    """One kind's figures on held-out conversations."""

    ranking: Beside
    kept: Beside
    pairs: Beside | None
    conversations: int


@dataclass(frozen=True)
class Evaluation:
    """What is known of a challenger beside the champion."""

    by_kind: Mapping[str, KindBeside]
    guards: Sequence[Guard]
    better: float  # confidence, 0..1
    moved: bool  # whether any kind or mode has other weights than the champion's
    recall: CuesBeside

    @property
    def guarded(self) -> bool:
        """Whether a guard stands against it."""
        return not all(one.ok for one in self.guards)

    def verdict(self, confidence: float) -> str:
        """A code: "better", "not better", or "guarded"."""
        if self.better < confidence:
            return "not better"
        return "guarded" if self.guarded else "better"


def evaluate(
    data: Dataset, parts: Split, champion: ImportanceHead, learned: Learned, public: Slice, most_lost: float,
    seed: int, recall: CuesBeside,
) -> Evaluation:  # fmt: skip
    """Measure both heads; kinds that were not learned have the champion's weights and appear in the guards alone.

    What was found of `recall` joins in: its modes count like kinds, and its guards hold like the others.
    """
    by_kind: dict[str, KindBeside] = {}
    guards: list[Guard] = []
    confidence: list[float] = []
    for one in learned.kinds:
        rows = parts.held_out & data.of_kind(one.kind)
        partners = data.other[rows]
        rows[partners[partners >= 0]] = True
        part = data.rows(rows)
        before, after = weights_of(champion, one.kind), weights_of(learned.head, one.kind)
        found = _beside(part, logits(part, before), logits(part, after), seed)
        by_kind[one.kind] = found
        guards.append(guard("own", one.kind, found.ranking.champion, found.ranking.challenger, most_lost))
        if one.moved:
            # a challenger that ranks no better than chance has learned nothing, however bad the champion is
            outer = found.ranking.better if found.ranking.challenger_low > CHANCE else 0.0
            confidence.append(min(one.better, outer))
    for kind in KINDS:
        before, after = weights_of(champion, kind), weights_of(learned.head, kind)
        if public.streams.get(kind):
            was, now = public.ranking(kind, before), public.ranking(kind, after)
            guards.append(guard("public", kind, was, now, most_lost))
    guards += recall.guards
    confidence += recall.confidence
    # With several kinds and modes the surest one decides, corrected for there being several (Bonferroni); the guards
    # see to the others.
    surest = max(0.0, 1.0 - len(confidence) * (1.0 - max(confidence))) if confidence else 0.0
    return Evaluation(by_kind, tuple(guards), surest, bool(confidence), recall)


def _beside(part: Dataset, before: Doubles, after: Doubles, seed: int) -> KindBeside:
    ranked = Ranked(part, before, after)
    held_out = len(np.unique(part.group[part.weight > 0]))
    return KindBeside(ranked.ranking(seed), ranked.kept(seed), ranked.pairs(seed), held_out)


def weights_of(head: ImportanceHead, kind: str) -> Doubles:
    """The weights of a kind and, last, its bias, (F + 1,)."""
    prior = head.priors[kind]
    return np.append(prior.weights.astype(np.float64), prior.bias)
