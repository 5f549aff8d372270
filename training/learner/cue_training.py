"""A challenger's recall head from what was said of recalled memories' fit, one mode of cues at a time.

As with the importance heads: the weights are a Gaussian around those that serve (or around the untrained ones), how
far it is left is found by leaving conversations out in turn, and what would lose too much on the public cues is not
taken. A mode of which too little was said keeps the weights that serve; an interplay stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from memory.engine.adapter import RecallHead
from training.learner.cue_likelihood import Prior, most_probable, offsets
from training.learner.cue_ranking import RankedCues
from training.learner.cues import Cues
from training.learner.dataset import Doubles, Flags
from training.learner.failures import ClassMissing, Diverged, NotANumber, TooFewConversations, TooFewLabels
from training.learner.public_cues import PublicCues
from training.learner.recall_examples import MODES
from training.learner.shared_head import FAR, FOLDS, HELD_OUT, LEAST_CONVERSATIONS, STRENGTHS, HowToLearn, Told

# Cues that the encoder cannot read are frozen and not learned from: few of their memories pass the floor, so what is
# judged is a narrow part, no public cue guards them, and what it teaches recalls worse (docs/lab-log.md).
LEARNED = ("asking", "telling")
RECALL = "recall"  # a code beside the kinds of conversation: what is missing of it


@dataclass(frozen=True)
class CueSplit:
    """Which cues are learned from and which are held out, and the modes that have enough of both."""

    modes: Sequence[str]
    train: Flags  # (C,)
    held_out: Flags
    missing: int  # judgements that the mode nearest to enough lacks, where none has enough


@dataclass(frozen=True)
class ModeLearned:
    """What was learned for one mode."""

    mode: str
    weights: Doubles  # (S,)
    strength: float
    moved: bool  # else they are the champion's
    better: float  # confidence, over conversations that were left out in turn, that it is better than the champion
    labels: int
    cues: Cues  # those it was learned from
    left_out: Doubles  # (R,): their logits by what the other conversations teach


@dataclass(frozen=True)
class CuesLearned:
    """The challenger's recall head, and how each mode came to its weights."""

    head: RecallHead
    modes: Sequence[ModeLearned] = field(default_factory=tuple)

    @property
    def moved(self) -> bool:
        """Whether any mode has other weights than the champion's."""
        return any(one.moved for one in self.modes)


def split_cues(cues: Cues, how: HowToLearn) -> CueSplit:
    """Hold out conversations of each mode that has enough judgements. The same seed holds out the same ones.

    Raises `NotANumber`, `TooFewLabels`, `TooFewConversations`, `ClassMissing`.
    """
    if not all(np.isfinite(part).all() for part in (cues.signals, cues.fit, cues.value, cues.weight)):
        raise NotANumber("A cue of the snapshot holds what is no number.")
    counts = {mode: cues.judgements(mode) for mode in LEARNED}
    enough = [mode for mode in LEARNED if counts[mode] >= how.least_cues]
    if not enough:
        raise TooFewLabels({RECALL: how.least_cues - max(counts.values())})
    conversations = {mode: np.unique(cues.group[cues.of_mode(mode)]) for mode in enough}
    wide = [mode for mode in enough if len(conversations[mode]) >= LEAST_CONVERSATIONS]
    if not wide:
        raise TooFewConversations(max(map(len, conversations.values())), LEAST_CONVERSATIONS)
    modes = [mode for mode in wide if _paired(cues.part(cues.of_mode(mode)))]
    if not modes:
        of = cues.of_mode(wide[0])[cues.cue] & cues.judged
        raise ClassMissing(wide[0], bool((cues.value[of] >= 0.5).all()))
    held_out = np.zeros(len(cues), dtype=bool)
    for mode in modes:
        groups = conversations[mode]
        random = np.random.default_rng([how.seed, 100 + MODES.index(mode)])
        chosen = random.permutation(groups)[: max(3, round(HELD_OUT * len(groups)))]
        held_out |= cues.of_mode(mode) & np.isin(cues.group, chosen)
    of_learned = np.isin(cues.mode, [MODES.index(mode) for mode in modes])
    return CueSplit(modes, of_learned & ~held_out, held_out, 0)


def no_split(cues: Cues, missing: int) -> CueSplit:
    """Nothing is learned."""
    none = np.zeros(len(cues), dtype=bool)
    return CueSplit((), none, none, missing)


def _paired(cues: Cues) -> bool:
    nowhere = np.zeros(len(cues.cue))
    return RankedCues(cues, nowhere, nowhere, (1.0, 1.0)).paired


def learn_cues(
    cues: Cues, parts: CueSplit, champion: RecallHead, start: RecallHead, how: HowToLearn, public: PublicCues,
    told: Told = lambda name, value: None, step: Callable[[float], None] = lambda share: None,
) -> CuesLearned:  # fmt: skip
    """Learn from the training cues of each mode; `start` is the head whose weights are believed at first.

    `told` gets the curves as they grow, `step` the share that is done. Raises `Diverged`.
    """
    found: list[ModeLearned] = []
    for number, mode in enumerate(parts.modes):

        def done(share: float, before: int = number) -> None:
            step((before + share) / len(parts.modes))

        part = cues.part(parts.train & cues.of_mode(mode))
        found.append(_learn_mode(part, mode, champion, getattr(start, mode), how, public, told, done))
    head = champion
    for one in found:
        if one.moved:
            weights: Any = {one.mode: one.weights.astype(np.float32)}
            head = replace(head, **weights)
    return CuesLearned(head, tuple(found))


def _learn_mode(
    cues: Cues, mode: str, champion: RecallHead, first: Doubles, how: HowToLearn, public: PublicCues, told: Told,
    step: Callable[[float], None],
) -> ModeLearned:  # fmt: skip
    """Choose how far the judgements are trusted by leaving conversations out in turn, then learn from all of them."""
    now = np.asarray(getattr(champion, mode), dtype=np.float64)
    offset = offsets(cues, champion)
    serving = cues.signals @ now + offset
    tried: list[tuple[float, int, RankedCues, Doubles]] = []
    for number, strength in enumerate(STRENGTHS):
        prior = Prior(np.asarray(first, dtype=np.float64), strength)
        out = _left_out(cues, prior, champion, offset, how.seed)
        ranked = RankedCues(cues, serving, out, (champion.temperature, champion.temperature))
        before, after = ranked.now()
        told(f"left_out.{mode}", after)
        whole = _settled(most_probable(cues, prior, champion.temperature, offset), mode)
        if public.lost(mode, champion, whole) <= how.most_lost:
            tried.append((after - before, number, ranked, out))
        step((number + 1) / (len(STRENGTHS) + 1))
    labels = int(cues.judged.sum())
    gain, best, ranked_best, out = max(tried, key=lambda one: one[:2], default=(0.0, 0, None, serving))
    if gain <= 0 or ranked_best is None:
        return ModeLearned(mode, now, 0.0, False, 0.0, labels, cues, serving)
    prior = Prior(np.asarray(first, dtype=np.float64), STRENGTHS[best])
    judgements = float(cues.weight.sum())
    weights = most_probable(
        cues, prior, champion.temperature, offset, lambda value: told(f"loss.{mode}", value / judgements)
    )
    step(1.0)
    better = ranked_best.ranking(how.seed).better
    return ModeLearned(mode, _settled(weights, mode), STRENGTHS[best], True, better, labels, cues, out)


def _left_out(cues: Cues, prior: Prior, head: RecallHead, offset: Doubles, seed: int) -> Doubles:
    """(R,): the logit of each row by what the other folds of conversations teach."""
    groups, place = np.unique(cues.group, return_inverse=True)
    fold = (np.random.default_rng(seed).permutation(len(groups)) % FOLDS)[place]  # (C,)
    out = np.zeros(len(cues.cue))
    for one in range(FOLDS):
        rows = (fold == one)[cues.cue]
        if rows.any():
            rest = cues.part(fold != one)
            taught = most_probable(rest, prior, head.temperature, offset[~rows])
            out[rows] = cues.signals[rows] @ taught + offset[rows]
    return out


def _settled(weights: Doubles, mode: str) -> Doubles:
    if not np.isfinite(weights).all() or np.abs(weights).max() > FAR:
        raise Diverged(f"The weights of cues that are {mode} ran away.")
    return weights
