"""Training the vector adapter: the loss by hand, something hidden that it must find, the same weights each time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
import torch

from memory.engine import signals
from memory.engine.encoder import Encoder
from memory.engine.prior import prior
from memory.engine.types import Floats
from memory.engine.vector_adapter import VectorAdapter
from tests.toy import WIDTH, toy_encoder
from tests.training.learner.toy_streams import facts
from training.learner import vector_training
from training.learner.banks import FilledBank, fill, pieces_of
from training.learner.failures import TrainingFailed
from training.learner.recall_examples import recall_examples
from training.learner.vector_training import (
    VectorExamples,
    VectorTraining,
    info_nce,
    learn_with_vectors,
    train_vectors,
    vector_examples,
)

HOW = VectorTraining(rank=4, steps=40, rate=0.02)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def hidden(count: int = 6, width: int = 8, seed: int = 1) -> list[VectorExamples]:
    """Cues whose memory has the same second half and nothing else in common with them: the first half misleads."""
    chance, half, out = np.random.default_rng(seed), width // 2, []
    for number in range(count):
        memories = chance.standard_normal((20, width))
        cues = np.concatenate([3 * chance.standard_normal((20, half)), memories[:, half:]], axis=1)
        memories[:, :half] *= 3
        out.append(VectorExamples(unit(memories), unit(cues), np.eye(20, dtype=np.float32), str(number)))
    return out


def found(banks: list[VectorExamples], by: VectorAdapter | None) -> float:
    """In which share of cues the memory that was needed is the nearest."""
    hits = []
    for bank in banks:
        memories, cues = (by.adapted(bank.memories), by.adapted(bank.cues)) if by else (bank.memories, bank.cues)
        hits += [int(row.argmax()) == number for number, row in enumerate(cues @ memories.T)]
    return float(np.mean(hits))


def test_the_loss_is_worked_by_hand() -> None:
    cosines = torch.tensor([[0.6, 0.2, -0.2], [0.5, 0.5, 0.5]])
    targets = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    loss = info_nce(cosines, targets, temperature=0.2)
    assert loss.tolist() == pytest.approx([log(exp(3) + exp(1) + exp(-1)) - 3, log(3)], abs=1e-6)


def test_what_is_trained_with_is_what_the_engine_computes() -> None:
    (bank, *_) = hidden()
    chance = torch.Generator().manual_seed(3)
    down, up = torch.randn(4, 8, generator=chance), torch.randn(8, 4, generator=chance)
    theirs = vector_training._adapted(torch.from_numpy(bank.memories), down, up).numpy()
    ours = VectorAdapter(down.numpy(), up.numpy(), "toy").adapted(bank.memories)
    assert theirs == pytest.approx(ours, abs=1e-5)


def test_training_finds_what_is_hidden_in_cues_it_has_not_seen() -> None:
    banks = hidden(12)
    by = train_vectors(banks[:9], "toy", replace(HOW, steps=150))
    assert found(banks[9:], None) < 0.4
    assert found(banks[9:], by) > found(banks[9:], None) + 0.25


def test_before_any_step_the_vectors_are_the_frozen_ones() -> None:
    (bank, *_) = banks = hidden()
    untrained = train_vectors(banks, "toy", replace(HOW, steps=0))
    assert untrained.down.any()
    assert np.array_equal(untrained.adapted(bank.memories), bank.memories)


def test_one_seed_gives_the_same_weights_and_another_others() -> None:
    one, again, other = (train_vectors(hidden(), "toy", replace(HOW, seed=seed)) for seed in (1, 1, 2))
    assert one.is_same(again)
    assert not one.is_same(other)
    assert (one.down.shape, one.up.shape, one.revision) == ((4, 8), (8, 4), "toy")


def test_the_weights_fit_into_16_bits() -> None:
    one = train_vectors(hidden(), "toy", HOW)
    for weights in (one.down, one.up):
        assert np.array_equal(weights, weights.astype(np.float16).astype(np.float32))


def test_without_cues_and_with_numbers_that_run_away_training_says_so() -> None:
    with pytest.raises(TrainingFailed, match="no labelled cues"):
        train_vectors([], "toy", HOW)
    (bank, *_) = hidden()
    with pytest.raises(TrainingFailed, match="no labelled cues"):
        train_vectors([replace(bank, cues=bank.cues[:0], targets=bank.targets[:0])], "toy", HOW)
    with pytest.raises(TrainingFailed, match="no number any more"):
        train_vectors([replace(bank, memories=bank.memories * np.float32("nan"))], "toy", HOW)


# --- beside a recall head -------------------------------------------------------------------------------------------


def told(name: str) -> FilledBank:
    return fill(facts(name), pieces_of(facts(name), toy_encoder()), prior())


def test_a_banks_examples_are_its_vectors_its_cues_and_where_their_evidence_is() -> None:
    bank, encoder = told("one"), toy_encoder()
    one = vector_examples(bank, recall_examples(bank, encoder))
    assert one.memories == pytest.approx(np.stack([p.new.vector for p in pieces_of(bank.stream, encoder)]))
    assert one.cues == pytest.approx(encoder.encode([question.text for question in bank.stream.questions]))
    assert one.targets.sum(axis=1) == pytest.approx([1, 1, 1])
    assert np.flatnonzero(one.targets[2]).tolist() == [6, 10]
    silent = vector_examples(bank, [])
    assert (silent.cues.shape, silent.targets.shape) == ((0, WIDTH), (0, 12))


def test_the_head_learns_from_vectors_that_have_not_seen_their_cues(monkeypatch: pytest.MonkeyPatch) -> None:
    banks = [told(name) for name in ("a", "b", "c")]
    seen: list[list[str]] = []
    used: list[tuple[str, VectorAdapter | None]] = []
    train, read = train_vectors, recall_examples

    def training(some: list[VectorExamples], revision: str, how: VectorTraining) -> VectorAdapter:
        seen.append([one.group for one in some])
        return train(some, revision + "".join(seen[-1]), how)

    def reading(bank: FilledBank, encoder: Encoder, by: VectorAdapter | None = None) -> object:
        used.append((bank.stream.group, by))
        return read(bank, encoder, by)

    monkeypatch.setattr(vector_training, "train_vectors", training)
    monkeypatch.setattr(vector_training, "recall_examples", reading)
    vector, examples = learn_with_vectors(banks, toy_encoder(), replace(HOW, steps=2))
    assert seen == [["b"], ["a", "c"], ["a", "b", "c"]]
    assert vector.revision == "1abc"
    through = {group: by.revision[1:] for group, by in used if by is not None}
    assert through == {"a": "b", "c": "b", "b": "ac"}
    assert sorted(one.group for one in examples) == ["a"] * 3 + ["b"] * 3 + ["c"] * 3


def test_a_single_group_has_no_other() -> None:
    vector, examples = learn_with_vectors([told("a")], toy_encoder(), HOW)
    assert len(examples) == 3
    plain = recall_examples(told("a"), toy_encoder())
    cosine, similarity = signals.NAMES.index("cosine"), signals.NAMES.index("similarity")
    assert not np.allclose(examples[0].values[:, cosine], plain[0].values[:, cosine], atol=1e-3)
    assert np.array_equal(examples[0].values[:, similarity], plain[0].values[:, similarity])
    assert vector.up.any()
