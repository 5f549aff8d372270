"""Calibrating the floor on cues that the head has not seen: how good a fit must be to be worth handing on.

Two things are known of a fit: which one the evidence for a cue reaches, and which one memories reach for cues about
something else, which the bank knows nothing of. The floor may lose a small share of the former; "highly relevant" is
what only the same small share of the latter reaches. What a cue that the encoder cannot read would need is asked of the
same cues, read by their words alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from memory.engine import signals
from memory.engine.adapter import Floor, RecallHead
from memory.engine.encoder import Encoder
from memory.engine.types import Floats
from memory.engine.vector_adapter import VectorAdapter
from training.learner.banks import FilledBank, cue_of, cue_terms
from training.learner.recall_examples import RecallExample, mode_of
from training.learner.streams import Question

FIRST = 10  # memories a cue, best first, that the floor decides about
LOST = 0.05  # the share of evidence that it may lose, and of foreign memories that may look highly relevant

_SIMILARITY, _COVERAGE = signals.NAMES.index("similarity"), signals.NAMES.index("coverage")


def fitted_floor(
    examples: Sequence[RecallExample], foreign: Sequence[tuple[bool, Floats]], head: RecallHead, start: Floor
) -> Floor:
    """The floor that held-out `examples` and `foreign` cues (asking or not, and the signals (N, S) of a bank that knows
    nothing of them) ask for. The share of the coverage in a fit stays; without either kind the floor stays."""
    levels = []
    for readable in (True, False):
        found = _joined(_fits_of_evidence(examples, head, start, readable))
        others = _joined(_first_fits(asking, values, head, start, readable) for asking, values in foreign)
        if not len(found) or not len(others):
            return start
        levels.append(fitted_levels(found, others))
    (threshold, highly), (unread, unread_highly) = levels
    return replace(start, threshold=threshold, highly=highly, unread=unread, unread_highly=unread_highly)


def fitted_levels(found: Floats, others: Floats) -> tuple[float, float]:
    """From which fit on a memory is relevant, and from which on highly so, by the fits of found evidence (K,) and of
    foreign memories (M,)."""
    threshold = round(float(np.quantile(found, LOST)), 3)
    return threshold, max(threshold, round(float(np.quantile(others, 1 - LOST)), 3))


def foreign_cues(
    bank: FilledBank, questions: Sequence[Question], encoder: Encoder, by: VectorAdapter | None = None
) -> Iterator[tuple[bool, Floats]]:
    """Cues about something that `bank` does not know, with the signals of its memories; none that nobody can read."""
    for question in questions:
        cue = cue_of(question, encoder)
        if mode_of(cue) != "unread":
            yield cue.asking, signals.compute(cue, bank.hot.candidates(cue, cue_terms(cue), by=by)).values


def _fits_of_evidence(
    examples: Sequence[RecallExample], head: RecallHead, floor: Floor, readable: bool
) -> Iterator[Floats]:
    for one in examples:
        if one.mode != "unread":
            first = _first(one.cue.asking, one.values, head, readable)
            yield _fits(one.values[first[one.target[first] > 0]], floor, readable)


def _first_fits(asking: bool, values: Floats, head: RecallHead, floor: Floor, readable: bool) -> Floats:
    return _fits(values[_first(asking, values, head, readable)], floor, readable)


def _first(asking: bool, values: Floats, head: RecallHead, readable: bool) -> npt.NDArray[np.int64]:
    """The first memories by the linear head, best first."""
    return np.argsort(-(values @ head.weights(asking, readable)), kind="stable")[:FIRST]


def _fits(values: Floats, floor: Floor, readable: bool) -> Floats:
    """As `attention.fits` computes them."""
    coverage = values[:, _COVERAGE]
    return values[:, _SIMILARITY] + np.float32(floor.coverage_share) * coverage if readable else coverage


def _joined(parts: Iterable[Floats]) -> Floats:
    return np.concatenate([np.zeros(0, dtype=np.float32), *parts])
