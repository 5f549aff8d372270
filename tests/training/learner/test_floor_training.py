"""The floor from what evidence reaches and what foreign memories reach."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from memory.engine import signals
from memory.engine.adapter import Floor, RecallHead
from memory.engine.prior import prior
from memory.engine.types import Cue
from tests.toy import toy_encoder
from tests.training.learner.toy_streams import facts, stream
from training.learner.banks import fill, pieces_of
from training.learner.floor_training import FIRST, fitted_floor, fitted_levels, foreign_cues
from training.learner.recall_examples import RecallExample
from training.learner.streams import Question

START = Floor(threshold=0.42, highly=0.62, coverage_share=0.5)
SIMILARITY, COVERAGE, COSINE = (signals.NAMES.index(name) for name in ("similarity", "coverage", "cosine"))


def test_the_floor_loses_one_fit_of_evidence_in_twenty_and_one_foreign_in_twenty_looks_highly_relevant() -> None:
    evidence = np.linspace(0.40, 1.40, 21, dtype=np.float32)  # .40, .45, ...: the 5 % quantile is the second
    foreign = np.linspace(0.00, 1.00, 21, dtype=np.float32)  # the 95 % quantile is the last but one
    assert fitted_levels(evidence, foreign) == (0.45, 0.95)


def test_highly_relevant_is_never_below_the_floor() -> None:
    assert fitted_levels(np.full(9, 0.8, np.float32), np.full(9, 0.1, np.float32)) == (0.8, 0.8)


def example(similarity: list[float], coverage: list[float], target: list[float], mode: str = "asking") -> RecallExample:
    values = np.zeros((len(similarity), len(signals.NAMES)), dtype=np.float32)
    values[:, SIMILARITY], values[:, COVERAGE] = similarity, coverage
    values[:, COSINE] = np.arange(len(similarity))[::-1]  # best first
    at = datetime(2026, 3, 2, tzinfo=UTC)
    question = Question("q", "Where?", at, frozenset(), "")
    cue = Cue(text="Where?", vector=np.zeros(3, np.float32), at=at, asking=True, exclude_turns=frozenset())
    return RecallExample(question, cue, values, np.array(target, np.float32), mode, "g")


def head_by_cosine() -> RecallHead:
    weights = np.zeros(len(signals.NAMES), dtype=np.float32)
    weights[COSINE] = 1.0
    return replace(prior().recall, asking=weights, telling=weights, unread=weights, interplay=None)


def test_a_fit_is_the_cosine_and_half_the_coverage_of_the_evidence_that_is_found() -> None:
    late = FIRST + 2
    similarity, coverage, target = [0.2] * late, [0.4] * late, [0.0] * late
    similarity[1], coverage[1], target[1] = 0.5, 0.6, 0.5
    similarity[late - 1], target[late - 1] = 0.9, 0.5  # evidence that the head does not find says nothing of the floor
    one = example(similarity, coverage, target)
    floor = fitted_floor([one], [(True, one.values)], head_by_cosine(), START)
    assert (floor.threshold, floor.unread) == (0.8, 0.6)  # .5 + .6 / 2; the words alone
    assert floor.highly >= floor.threshold
    assert floor.unread_highly >= floor.unread
    assert floor.coverage_share == START.coverage_share


def test_without_evidence_or_without_foreign_cues_the_floor_stays() -> None:
    one = example([0.5, 0.2], [0.5, 0.2], [1.0, 0.0])
    unread = example([0.5, 0.2], [0.5, 0.2], [1.0, 0.0], mode="unread")
    for examples, foreign in (([one], []), ([], [(True, one.values)]), ([unread], [(True, one.values)])):
        assert fitted_floor(examples, foreign, head_by_cosine(), START) == START


def test_foreign_cues_bring_the_signals_of_the_engine_and_leave_out_what_the_encoder_cannot_read() -> None:
    told = facts()
    bank = fill(told, pieces_of(told, toy_encoder()), prior())
    other = stream(
        "other", ["My boat is blue"], asked=[("Which colour has my boat?", ["0:0"]), ("船是什么颜色？", ["0:0"])]
    )
    ((asking, values),) = foreign_cues(bank, other.questions, toy_encoder())
    assert asking
    assert values.shape == (len(told.sides), len(signals.NAMES))
    own = next(iter(foreign_cues(bank, told.questions[:1], toy_encoder())))[1]
    assert own[:, COVERAGE].max() > values[:, COVERAGE].max()  # a question about this bank fits it better
