"""A challenger's importance heads from what people and hindsight judged, one kind of conversation at a time.

The weights are a Gaussian around those that serve (or around the untrained ones) that moves as far as the judgements
go. How far they are trusted is found by leaving out conversations in turn; what would lose too much on the public slice
is not taken. Beside a Gaussian that is alike in all directions one is tried that is stiff where the public slice says
that it matters and loose elsewhere (Kirkpatrick et al. 2017), so that less is forgotten of what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from memory.engine.importance import KINDS, ImportanceHead, ImportancePrior
from memory.engine.posterior import Posterior, believed, judged
from training.learner.dataset import Dataset, Doubles, Flags
from training.learner.failures import ClassMissing, Diverged, NotANumber, TooFewConversations, TooFewLabels
from training.learner.public_slice import Slice
from training.learner.ranking import Ranked

STRENGTHS: tuple[float, ...] = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # precision of the weights that it starts from
LOOSE = 0.1  # of that, in directions that do not matter on the public slice
FOLDS = 5
HELD_OUT = 0.3  # of a kind's conversations
LEAST_CONVERSATIONS = 10  # of a kind: fewer say nothing of the next one
LEAST_CUES = 40
FAR = 50.0  # a standardised feature whose weight is larger than that has run away

Told = Callable[[str, float], None]  # a curve's name and its next value


@dataclass(frozen=True)
class HowToLearn:
    """What a run is told."""

    seed: int = 1
    least: int = 100  # judgements of a kind
    least_cues: int = LEAST_CUES  # judgements of the fit of memories to cues of one mode
    most_lost: float = 0.02
    from_scratch: bool = False


@dataclass(frozen=True)
class Split:
    """Which conversations are learned from and which are held out, and the kinds that have enough of both."""

    kinds: Sequence[str]
    train: Flags  # (N,)
    held_out: Flags
    missing: Mapping[str, int]  # judgements that other kinds lack


@dataclass(frozen=True)
class KindLearned:
    """What was learned for one kind."""

    kind: str
    head: ImportancePrior
    strength: float
    moved: bool  # else its weights are the champion's
    better: float  # confidence, over conversations that were left out in turn, that it is better than the champion
    labels: int


@dataclass(frozen=True)
class Learned:
    """The challenger's head, and how each kind came to its weights."""

    head: ImportanceHead
    kinds: Sequence[KindLearned] = field(default_factory=tuple)


def split(data: Dataset, how: HowToLearn) -> Split:
    """Hold out conversations of each kind that has enough judgements. The same seed holds out the same ones.

    Raises `NotANumber`, `TooFewLabels`, `TooFewConversations`.
    """
    if not all(np.isfinite(part).all() for part in (data.z, data.value, data.weight)):
        raise NotANumber("A row of the snapshot holds what is no number.")
    counts = {kind: data.judgements(kind) for kind in KINDS}
    missing = {kind: how.least - count for kind, count in counts.items() if count < how.least}
    kinds = [kind for kind in KINDS if kind not in missing]
    if not kinds:
        raise TooFewLabels(missing)
    held_out = np.zeros(len(data), dtype=bool)
    learned: list[str] = []
    most = 0
    for kind in kinds:
        rows = data.of_kind(kind)
        groups = np.unique(data.group[rows & (data.weight > 0)])
        most = max(most, len(groups))
        if len(groups) >= LEAST_CONVERSATIONS:
            learned.append(kind)
            random = np.random.default_rng([how.seed, KINDS.index(kind)])
            chosen = random.permutation(groups)[: max(3, round(HELD_OUT * len(groups)))]
            held_out |= rows & np.isin(data.group, chosen)
    if not learned:
        raise TooFewConversations(most, LEAST_CONVERSATIONS)
    of_learned = np.isin(data.kind, [KINDS.index(kind) for kind in learned])
    return Split(learned, of_learned & ~held_out, held_out, missing)


def learn_heads(
    data: Dataset, parts: Split, champion: ImportanceHead, start: ImportanceHead, how: HowToLearn,
    public: Slice, told: Told = lambda name, value: None, step: Callable[[float], None] = lambda share: None,
) -> Learned:  # fmt: skip
    """Learn from the training conversations of each kind; `start` is the head whose weights are believed at first.

    `told` gets the curves as they grow, `step` the share that is done. Raises `ClassMissing`, `Diverged`.
    """
    priors = dict(champion.priors)
    found: list[KindLearned] = []
    for number, kind in enumerate(parts.kinds):
        rows = _whole(data, parts.train & data.of_kind(kind))

        def done(share: float, before: int = number) -> None:
            step((before + share) / len(parts.kinds))

        one = _learn_kind(data.rows(rows), kind, champion, start, how, public, told, done)
        priors[kind] = one.head
        found.append(one)
    return Learned(ImportanceHead(priors), tuple(found))


def _whole(data: Dataset, rows: Flags) -> Flags:
    """The rows with those that they are compared with."""
    out = rows.copy()
    partners = data.other[rows]
    out[partners[partners >= 0]] = True
    return out


def _learn_kind(
    data: Dataset, kind: str, champion: ImportanceHead, start: ImportanceHead, how: HowToLearn,
    public: Slice, told: Told, step: Callable[[float], None],
) -> KindLearned:  # fmt: skip
    """Choose how far the judgements are trusted by leaving conversations out in turn, then learn from all of them."""
    _both_classes(data, kind)
    serving = champion.priors[kind]
    now = np.append(serving.weights.astype(np.float64), serving.bias)
    priors = _priors(start.priors[kind], public.matters(kind, now))
    tried: list[tuple[float, int, Ranked]] = []
    for number, (_strength, prior) in enumerate(priors):
        ranked = Ranked(data, logits(data, now), _left_out(data, prior, how.seed))
        before, after = ranked.now()
        told(f"left_out.{kind}", after)
        if public.lost(kind, now, _settled(_learned(data, prior), kind).mean) <= how.most_lost:
            tried.append((after - before, number, ranked))
        step((number + 1) / (len(priors) + 1))
    count = int((data.weight > 0).sum())
    gain, best, ranked_best = max(tried, key=lambda one: one[:2], default=(0.0, 0, None))
    if gain <= 0 or ranked_best is None:
        return KindLearned(kind, serving, 0.0, False, 0.0, count)
    strength, prior = priors[best]
    posterior = _watched(data, kind, prior, told)
    step(1.0)
    moved = replace(serving, weights=posterior.mean[:-1].astype(np.float32), bias=float(posterior.mean[-1]))
    return KindLearned(kind, moved, strength, True, ranked_best.ranking(how.seed).better, count)


def _priors(first: ImportancePrior, matters: Doubles) -> list[tuple[float, Posterior]]:
    """The Gaussians that are tried, each with its strength: alike in all directions, and stiff where it matters."""
    out: list[tuple[float, Posterior]] = []
    for strength in STRENGTHS:
        alike = believed(first.weights, first.bias, strength)
        stiff = strength * (LOOSE * np.eye(len(matters)) + matters)
        out += [(strength, alike), (strength, Posterior(alike.mean, stiff))]
    return out


def _both_classes(data: Dataset, kind: str) -> None:
    rated = data.rated
    if data.compared.any() or not rated.any():
        return
    high = data.value[rated] >= 0.5
    if high.all() or not high.any():
        raise ClassMissing(kind, bool(high.all()))


def _left_out(data: Dataset, prior: Posterior, seed: int) -> Doubles:
    """(N,): the logit of each row by what the other folds of conversations teach."""
    groups, place = np.unique(data.group, return_inverse=True)
    fold = (np.random.default_rng(seed).permutation(len(groups)) % FOLDS)[place]
    out = np.zeros(len(data))
    for one in range(FOLDS):
        rows = fold == one
        if rows.any():
            taught = _whole(data, ~rows & (data.weight > 0))
            out[rows] = logits(data, _learned(data.rows(taught), prior).mean)[rows]
    return out


def logits(data: Dataset, weights: Doubles) -> Doubles:
    """(N,) from weights and, last, the bias."""
    return np.asarray(data.z @ weights[:-1] + weights[-1])


def _learned(data: Dataset, prior: Posterior, watch: Callable[[Doubles, float], None] | None = None) -> Posterior:
    rated, compared = data.rated, data.compared
    return judged(
        prior, data.z[rated], data.value[rated], data.weight[rated],
        data.z[compared], data.z[data.other[compared]], data.weight[compared], watch,
    )  # fmt: skip


def _watched(data: Dataset, kind: str, prior: Posterior, told: Told) -> Posterior:
    """Learn once more, telling the loss by step; the same weights, since nothing here is drawn."""
    judgements = float(data.weight.sum())
    return _settled(_learned(data, prior, lambda _, value: told(f"loss.{kind}", value / judgements)), kind)


def _settled(posterior: Posterior, kind: str) -> Posterior:
    if not np.isfinite(posterior.mean).all() or np.abs(posterior.mean).max() > FAR:
        raise Diverged(f"The weights of {kind} ran away.")
    return posterior
