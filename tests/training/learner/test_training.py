"""Examples and training of both heads, on data in which something is hidden that they must find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from memory.engine import features, signals
from memory.engine.adapter import Interplay, RecallHead
from memory.engine.features import is_asking
from memory.engine.importance import FLAGS
from memory.engine.prior import prior
from memory.engine.types import Cue, Floats, Role
from tests.toy import toy_encoder
from tests.training.learner.toy_streams import LATER, facts, stream
from training.learner.banks import fill, pieces_of
from training.learner.failures import TrainingFailed
from training.learner.importance_examples import ImportanceExamples
from training.learner.importance_training import learn, train_importance
from training.learner.recall_examples import RecallExample, mode_of, recall_examples
from training.learner.recall_training import RecallTraining, fitted_temperature, logits_of, train_recall
from training.learner.streams import Question, Stream

S = len(signals.NAMES)
SHORT = RecallTraining(steps=60, rate=0.05)
PLANTED, NOISE = signals.NAMES.index("dated"), signals.NAMES.index("length")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As in `make adapter`: several threads wait for each other longer than such small sums take."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def examples_of(told: Stream) -> list[RecallExample]:
    return recall_examples(fill(told, pieces_of(told, toy_encoder()), prior()), toy_encoder())


# --- recall examples ------------------------------------------------------------------------------------------------


def test_an_example_has_the_signals_of_every_memory_and_its_evidence_sums_to_one() -> None:
    told = facts()
    found = examples_of(told)
    assert [one.question for one in found] == list(told.questions)
    for one in found:
        assert one.values.shape == (len(told.sides), S)
        assert one.target.sum() == pytest.approx(1.0)
        assert (one.mode, one.group) == ("asking", "facts")
    assert found[0].target.tolist() == [1.0] + [0.0] * 11
    assert np.flatnonzero(found[2].target).tolist() == [6, 10]
    assert found[2].target[[6, 10]].tolist() == [0.5, 0.5]


def test_a_side_in_pieces_shares_its_part_among_them() -> None:
    long = " ".join(f"Sentence number {n} says that the {n}th thing is as it was." for n in range(80))
    (one,) = examples_of(stream("long", ["My bike is red", long], asked=[("What is red?", ["0:0", "0:1"])]))
    pieces = len(one.target) - 1
    assert pieces > 1
    assert one.target == pytest.approx([0.5] + [0.5 / pieces] * pieces)


def test_the_signals_are_those_of_the_engine_for_that_memory() -> None:
    told = facts()
    one = examples_of(told)[1]
    column = one.values[:, signals.NAMES.index("similarity")]
    vector = toy_encoder().encode([told.questions[1].text])[0]
    pieces = pieces_of(told, toy_encoder())
    assert column == pytest.approx([float(piece.new.vector @ vector) for piece in pieces], abs=1e-5)
    assert one.values[:, signals.NAMES.index("assistant_said")].tolist() == [0.0, 1.0] * 6


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("Where is my bike?", "asking"),
        ("I moved to Graz", "telling"),
        ("我的编号是多少？", "unread"),
        ("42", "telling"),
    ],
)
def test_a_cue_is_read_by_the_weights_of_its_mode(text: str, mode: str) -> None:
    assert mode_of(Cue(text, np.zeros(1, dtype=np.float32), LATER, is_asking(text))) == mode


# --- training recall ------------------------------------------------------------------------------------------------


def blank(**more: Any) -> RecallHead:
    zero = np.zeros(S, dtype=np.float32)
    return RecallHead(**{"asking": zero, "telling": zero.copy(), "unread": zero.copy(), "temperature": 1.0, **more})


def example(values: Floats, target: Floats, mode: str = "asking", group: str = "g") -> RecallExample:
    question = Question("q", "?", LATER, frozenset({"x"}), "")
    return RecallExample(question, Cue("?", np.zeros(1, dtype=np.float32), LATER, True), values, target, mode, group)


def planted(count: int = 40, mode: str = "asking", seed: int = 1) -> list[RecallExample]:
    """Banks of different sizes; the evidence is the one memory whose planted signal is 1."""
    chance = np.random.default_rng(seed)
    out = []
    for number in range(count):
        size = 5 + number % 7
        values = chance.standard_normal((size, S)).astype(np.float32)
        values[:, PLANTED] = 0.0
        hit = int(chance.integers(size))
        values[hit, PLANTED] = 1.0
        out.append(example(values, np.eye(size, dtype=np.float32)[hit], mode))
    return out


def first(head: RecallHead, examples: list[RecallExample]) -> float:
    return float(np.mean([one.target[np.argmax(logits_of(one, head))] for one in examples]))


def test_training_finds_the_planted_signal_and_leaves_the_other_modes() -> None:
    head = train_recall(planted(), blank(), SHORT)
    assert int(np.argmax(np.abs(head.asking))) == PLANTED
    assert head.asking[PLANTED] > 1
    assert head.telling.tolist() == head.unread.tolist() == [0.0] * S
    assert first(head, planted(seed=2)) > 0.9 > 0.5 > first(blank(), planted(seed=2))


def test_each_mode_learns_from_its_own_cues() -> None:
    opposite = [replace(one, values=-one.values) for one in planted(mode="unread", seed=3)]
    head = train_recall(planted() + opposite, blank(), SHORT)
    assert head.asking[PLANTED] > 1
    assert head.unread[PLANTED] < -1


def test_a_strong_start_is_not_left() -> None:
    start = blank(asking=np.full(S, 0.25, dtype=np.float32))
    head = train_recall(planted(), start, RecallTraining(steps=20, strength=1e4, decay=0.0, rate=1e-4))
    assert head.asking == pytest.approx(start.asking, abs=0.01)


def test_what_pads_a_small_bank_changes_nothing() -> None:
    large = example(np.zeros((40, S), dtype=np.float32), np.full(40, 1 / 40, dtype=np.float32))
    assert large.target.sum() == pytest.approx(1)
    alone = train_recall(planted(10), blank(), RecallTraining(strength=0.0, decay=0.0, steps=20))
    beside = train_recall([*planted(10), large], blank(), RecallTraining(strength=0.0, decay=0.0, steps=20))
    assert beside.asking == pytest.approx(alone.asking, abs=2e-3)  # a bank of which nothing is known pulls nowhere


def test_one_seed_gives_the_same_weights_to_the_last_bit_whatever_was_drawn_before() -> None:
    def trained(seed: int) -> RecallHead:
        torch.rand(seed + 7)
        return train_recall(planted(12), blank(), RecallTraining(steps=20, hidden=3, seed=seed))

    one, again, other = trained(1), trained(1), trained(2)
    assert one.interplay is not None
    assert again.interplay is not None
    assert other.interplay is not None
    for name in ("inner", "bias", "outer"):
        assert getattr(one.interplay, name).tobytes() == getattr(again.interplay, name).tobytes()
    assert one.asking.tobytes() == again.asking.tobytes() == other.asking.tobytes()
    assert one.interplay.inner.tobytes() != other.interplay.inner.tobytes()


def test_an_interplay_finds_what_two_signals_say_only_together() -> None:
    """The evidence is where two signals agree in sign: no weight of either alone tells it."""
    chance = np.random.default_rng(5)
    told = []
    for _ in range(80):
        values = np.zeros((2, S), dtype=np.float32)
        a, b = chance.choice([-1.0, 1.0], 2)
        values[:, PLANTED] = [a, b]
        values[:, NOISE] = [a, -b]
        told.append(example(values, np.array([1.0, 0.0], dtype=np.float32)))
    linear = train_recall(told, blank(), RecallTraining(rate=0.05))
    deep = train_recall(told, blank(), RecallTraining(rate=0.05, hidden=6))
    assert first(linear, told) < 0.9
    assert first(deep, told) == 1.0
    assert deep.asking.tobytes() == linear.asking.tobytes()


def test_without_cues_training_fails_in_a_sentence() -> None:
    with pytest.raises(TrainingFailed, match="no labelled cues") as failed:
        train_recall([], blank(), RecallTraining())
    assert failed.value.retryable is False


def test_numbers_that_run_away_fail_in_a_sentence() -> None:
    broken = planted(2)
    broken[0].values[0, 0] = np.nan
    with pytest.raises(TrainingFailed, match="lower rate"):
        train_recall(broken, blank(), RecallTraining())
    with pytest.raises(TrainingFailed, match="lower rate"):
        train_recall(planted(4), blank(), RecallTraining(rate=1e30))


def test_logits_are_the_weighted_signals_and_the_interplay_on_top() -> None:
    values = np.zeros((2, S), dtype=np.float32)
    values[:, 0] = [1.0, 2.0]
    weights = np.zeros(S, dtype=np.float32)
    weights[0] = 3.0
    one = example(values, np.array([1.0, 0.0], dtype=np.float32))
    assert logits_of(one, blank(asking=weights)).tolist() == [3.0, 6.0]
    inner = np.zeros((1, S), dtype=np.float32)
    inner[0, 0] = 1.0
    parts = Interplay(inner, np.array([-1.0], dtype=np.float32), np.array([2.0], dtype=np.float32))
    expected = [3.0 + 2 * np.tanh(0.0), 6.0 + 2 * np.tanh(1.0)]
    assert logits_of(one, blank(asking=weights, interplay=parts)) == pytest.approx(expected)


@pytest.mark.parametrize("sharper", [0.5, 1.0, 2.0])
def test_the_temperature_makes_weights_say_how_likely_the_evidence_is(sharper: float) -> None:
    # the evidence is in the first of two in sigmoid(1) of all cases; the head says logit 1 x sharper
    values = np.zeros((2, S), dtype=np.float32)
    values[0, 0] = sharper
    p = 1 / (1 + np.exp(-1))
    weights = np.zeros(S, dtype=np.float32)
    weights[0] = 1.0
    one = example(values, np.array([p, 1 - p], dtype=np.float32))
    assert fitted_temperature([one], blank(asking=weights)) == pytest.approx(sharper, rel=0.03)


# --- training importance --------------------------------------------------------------------------------------------


def judged(needed: list[bool] | None = None, count: int = 120, seed: int = 1) -> ImportanceExamples:
    """One bank: what has many numbers was needed later."""
    chance = np.random.default_rng(seed)
    raw = np.abs(chance.standard_normal((count, len(features.NAMES)))).astype(np.float32)
    raw[:, FLAGS] = 0.0
    of_numbers = raw[:, features.NAMES.index("numbers")]
    hit = of_numbers > np.quantile(of_numbers, 0.7) if needed is None else np.array(needed)
    return ImportanceExamples(
        "tool_use", "g", raw, [Role.TOOL] * count, np.arange(count) // 2, hit, np.arange(count)
    )  # fmt: skip


def test_the_importance_head_learns_what_was_needed_for_one_kind_alone() -> None:
    start = prior().importance
    head = train_importance([judged(), judged(seed=2)], start, "tool_use")
    weights = dict(zip(features.NAMES, head.priors["tool_use"].weights.tolist(), strict=True))
    assert max(weights, key=lambda name: weights[name]) == "numbers"
    for kind in ("two_people", "user_assistant"):
        assert head.priors[kind] is start.priors[kind]
    unseen = judged(seed=3)
    logits = unseen.standardised(head) @ head.priors["tool_use"].weights
    assert logits[unseen.needed].mean() > logits[~unseen.needed].mean() + 1


def test_the_usual_moments_are_learned_with_the_weights() -> None:
    told = judged()
    head = train_importance([told], prior().importance, "tool_use").priors["tool_use"]
    assert head.mean[list(Role).index(Role.TOOL)] == pytest.approx(told.raw.mean(axis=0), abs=1e-5)


def test_the_posterior_is_that_of_the_standardised_features() -> None:
    head = prior().importance
    stone = learn([judged()], head, "tool_use", strength=1e9)
    start = head.priors["tool_use"]
    assert stone.mean == pytest.approx([*start.weights, start.bias], abs=1e-5)
    weak = learn([judged()], head, "tool_use", strength=1.0)
    assert weak.mean[features.NAMES.index("numbers")] > start.weights[features.NAMES.index("numbers")] + 0.5
    assert (np.diag(weak.precision) >= 1.0).all()


@pytest.mark.parametrize("needed", [True, False])
def test_from_banks_of_which_all_or_nothing_was_needed_nothing_can_be_learned(needed: bool) -> None:
    told = judged([needed] * 120)
    with pytest.raises(TrainingFailed, match=f"Of 120 memories {120 if needed else 0} were needed later"):
        train_importance([told], prior().importance, "tool_use")
    with pytest.raises(TrainingFailed, match="Of 0 memories"):
        train_importance([], prior().importance, "tool_use")
