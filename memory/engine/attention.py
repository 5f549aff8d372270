"""A recall is an attention over the bank: signals, logits, softmax weights, floor, token budget."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.engine import signals
from memory.engine.adapter import Adapter, RecallHead
from memory.engine.columns import columns
from memory.engine.signals import Candidates
from memory.engine.types import Cue, Floats, RecallLimits, Recollection

TRACED = 64  # rows kept with all their numbers; any other candidate can be recomputed from the ledger
BYPASS_BELOW = 5  # a bank of fewer memories hands all of them on: there is nothing to rank


def softmax(logits: Floats, temperature: float = 1.0) -> Floats:
    """Softmax of (N,) logits; sums to 1 unless empty."""
    if not len(logits):
        return logits
    scaled = (logits - logits.max()) / temperature
    exponentials = np.exp(scaled, dtype=np.float64)
    return np.asarray(exponentials / exponentials.sum(), dtype=np.float32)


def recall(cue: Cue, candidates: Candidates, adapter: Adapter, limits: RecallLimits) -> Recollection:
    """Read the bank: weigh every candidate, drop what lies below the floor, fill the token budget by weight.

    A bank of fewer than five memories is bypassed: all of it is handed on, best first, within the budget. What comes
    from the archive has to pass the floor all the same.
    """
    computed = signals.compute(cue, candidates)
    logits = logits_of(cue, computed.values, adapter.recall)
    fit = fits(cue, candidates, adapter)
    bypassed = int((~candidates.archived).sum()) < BYPASS_BELOW
    # what the prompt shows anyway takes part in the normalisation alone: it gets no weight and is no near miss
    allowed = _without(columns(candidates.items)["turn"], cue.exclude_turns)
    weights = np.zeros_like(logits)
    weights[allowed] = softmax(logits[allowed], adapter.recall.temperature)
    order = np.argsort(-logits, kind="stable")
    order = order[allowed[order]]
    threshold, highly = adapter.floor.levels(signals.reads_like_english(cue.text))
    passing = allowed & ((fit >= threshold) | (~candidates.archived if bypassed else False))
    chosen, over_budget = _fill(order, passing, candidates, limits)
    traced = _traced(order, chosen)
    signals_of = computed.values[traced]
    return Recollection(
        items=[candidates.items[i] for i in traced],
        archived=candidates.archived[traced],
        names=signals.NAMES,
        signals=signals_of,
        contributions=contributions(cue, signals_of, adapter.recall),
        logits=logits[traced],
        weights=weights[traced],
        fit=fit[traced],
        chosen=tuple(row for row, i in enumerate(traced) if i in chosen),
        candidates=int(allowed.sum()),
        below_floor=int((allowed & ~passing).sum()),
        over_budget=over_budget,
        floor=threshold,
        highly=highly,
        adapter=adapter.version,
        bypassed=bypassed,
        normalisation=computed.normalisation,
    )


def fits(cue: Cue, candidates: Candidates, adapter: Adapter) -> Floats:
    """Absolute fit of every candidate to the cue, (N,): what the floor is compared with.

    Cosine plus a share of the coverage; for a cue that the English encoder cannot read, coverage alone.
    """
    if signals.reads_like_english(cue.text):
        return candidates.cosine + np.float32(adapter.floor.coverage_share) * candidates.coverage
    return candidates.coverage


def logits_of(cue: Cue, values: Floats, head: RecallHead) -> Floats:
    """The logits (N,) of signals (N, S)."""
    logits = values @ head.weights(cue.asking, signals.reads_like_english(cue.text))
    return logits if head.interplay is None else logits + head.interplay.logits(values)


def contributions(cue: Cue, values: Floats, head: RecallHead) -> Floats:
    """What each signal (N, S) adds. They sum to the logit, less a trained interplay."""
    return values * head.weights(cue.asking, signals.reads_like_english(cue.text))


def _without(turn: npt.NDArray[np.int64], excluded: Collection[UUID]) -> npt.NDArray[np.bool_]:
    """Which of (N,) hashed turns are none of the `excluded`, which are few."""
    allowed = np.ones(len(turn), dtype=np.bool_)
    for one in excluded:
        allowed &= turn != hash(one)
    return allowed


def _fill(
    order: npt.NDArray[np.int64], passing: npt.NDArray[np.bool_], candidates: Candidates, limits: RecallLimits
) -> tuple[set[int], int]:
    """Take the passing candidates by weight while they fit; one that is too long does not stop the next."""
    chosen: set[int] = set()
    room = limits.tokens
    best = order[passing[order]]
    sizes = columns(candidates.items)["tokens"][best]
    smallest = int(sizes.min(initial=room))
    for i, tokens in zip(best.tolist(), sizes.tolist(), strict=True):
        if len(chosen) >= limits.memories or smallest > room:
            break
        if tokens <= room:
            chosen.add(i)
            room -= tokens
    return chosen, len(best) - len(chosen)


def _traced(order: npt.NDArray[np.int64], chosen: set[int]) -> list[int]:
    best: list[int] = order[:TRACED].tolist()
    further = chosen.difference(best)
    return best + [i for i in order[TRACED:].tolist() if i in further] if further else best
