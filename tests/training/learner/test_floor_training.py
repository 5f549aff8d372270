"""The floor from what evidence reaches and what foreign memories reach."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from memory.engine import signals
from memory.engine.adapter import Floor
from memory.engine.prior import prior
from memory.engine.types import Cue
from tests.toy import toy_encoder
from tests.training.learner.toy_streams import facts, stream
from training.learner.banks import fill, pieces_of
from training.learner.floor_training import FIRST, fits_of_evidence, fits_of_foreign, fitted_floor
from training.learner.recall_examples import RecallExample
from training.learner.streams import Question

START = Floor(threshold=0.42, highly=0.62, coverage_share=0.5)
SIMILARITY, COVERAGE, COSINE = (signals.NAMES.index(name) for name in ("similarity", "coverage", "cosine"))


def test_the_floor_loses_one_fit_of_evidence_in_twenty_and_one_foreign_in_twenty_looks_highly_relevant() -> None:
    evidence = np.linspace(0.40, 1.40, 21, dtype=np.float32)  # .40, .45, ...: the 5 % quantile is the second
    foreign = np.linspace(0.00, 1.00, 21, dtype=np.float32)  # the 95 % quantile is the last but one
    floor = fitted_floor([evidence[:7], evidence[7:]], [foreign], START)
    assert (floor.threshold, floor.highly, floor.coverage_share) == (0.45, 0.95, 0.5)


def test_highly_relevant_is_never_below_the_floor() -> None:
    floor = fitted_floor([np.full(9, 0.8, np.float32)], [np.full(9, 0.1, np.float32)], START)
    assert floor.highly == floor.threshold == 0.8


@pytest.mark.parametrize(
    ("evidence", "foreign"), [([], [np.ones(3)]), ([np.ones(3)], []), ([np.zeros(0)], [np.ones(3)])]
)
def test_without_either_kind_of_cue_the_floor_stays(evidence: list[np.ndarray], foreign: list[np.ndarray]) -> None:
    assert fitted_floor(evidence, foreign, START) == START


def example(similarity: list[float], coverage: list[float], target: list[float], mode: str = "asking") -> RecallExample:
    values = np.zeros((len(similarity), len(signals.NAMES)), dtype=np.float32)
    values[:, SIMILARITY], values[:, COVERAGE] = similarity, coverage
    values[:, COSINE] = np.arange(len(similarity))[::-1]  # best first
    at = datetime(2026, 3, 2, tzinfo=UTC)
    question = Question("q", "Where?", at, frozenset(), "")
    cue = Cue(text="Where?", vector=np.zeros(3, np.float32), at=at, asking=True, exclude_turns=frozenset())
    return RecallExample(question, cue, values, np.array(target, np.float32), mode, "g")


def head_by_cosine() -> object:
    weights = np.zeros(len(signals.NAMES), dtype=np.float32)
    weights[COSINE] = 1.0
    return replace(prior().recall, asking=weights, telling=weights, interplay=None)


def test_a_fit_is_the_cosine_and_half_the_coverage_of_the_evidence_that_is_found() -> None:
    late = FIRST + 2
    similarity, coverage, target = [0.2] * late, [0.4] * late, [0.0] * late
    similarity[1], coverage[1], target[1] = 0.5, 0.6, 0.5
    similarity[late - 1], target[late - 1] = 0.9, 0.5  # evidence that the head does not find says nothing of the floor
    (fits,) = fits_of_evidence([example(similarity, coverage, target)], head_by_cosine(), START)  # type: ignore[arg-type]
    assert fits.tolist() == pytest.approx([0.8])
    unread = example(similarity, coverage, target, mode="unread")
    assert list(fits_of_evidence([unread], head_by_cosine(), START)) == []  # type: ignore[arg-type]


def test_foreign_fits_are_those_of_the_first_memories_as_the_engine_computes_them() -> None:
    told = facts()
    bank = fill(told, pieces_of(told, toy_encoder()), prior())
    other = stream(
        "other", ["My boat is blue"], asked=[("Which colour has my boat?", ["0:0"]), ("船是什么颜色？", ["0:0"])]
    )
    found = list(fits_of_foreign(bank, other.questions, toy_encoder(), prior().recall, START))
    assert [len(fits) for fits in found] == [FIRST]  # none for the cue that the encoder cannot read
    own = next(iter(fits_of_foreign(bank, told.questions[:1], toy_encoder(), prior().recall, START)))
    assert own.max() > found[0].max()  # a question about this bank fits it better
