"""The residual bottleneck, worked by hand; untrained it hands on what it is given, bit by bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memory.engine.prior import prior
from memory.engine.types import Floats
from memory.engine.vector_adapter import BLOCK, VectorAdapter, gelu
from tests.memory.engine.toy_bank import floats

GELU_1 = 0.841192  # .5 (1 + tanh(sqrt(2/pi) 1.044715))


def by_hand() -> VectorAdapter:
    """One hidden unit: the first coordinate, through gelu, is added to the second."""
    return VectorAdapter(np.array([[1, 0]], dtype=np.float32), np.array([[0], [1]], dtype=np.float32), "toy")


def trained(width: int = 6, rank: int = 3, seed: int = 1) -> VectorAdapter:
    chance = np.random.default_rng(seed)
    down = chance.standard_normal((rank, width)).astype(np.float32)
    return VectorAdapter(down, chance.standard_normal((width, rank)).astype(np.float32) / 4, "toy")


def some(count: int, width: int = 6, seed: int = 2) -> Floats:
    vectors = np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_gelu_is_that_of_its_authors() -> None:
    assert gelu(floats(-1, 0, 1, 30)) == pytest.approx([GELU_1 - 1, 0.0, GELU_1, 30.0], abs=1e-5)


def test_the_bottleneck_is_worked_by_hand() -> None:
    moved = by_hand().adapted(np.array([[1, 0], [0, 1]], dtype=np.float32))
    length = (1 + GELU_1**2) ** 0.5
    assert moved[0] == pytest.approx([1 / length, GELU_1 / length], abs=1e-5)
    assert moved[1].tolist() == [0.0, 1.0]  # nothing in the first coordinate, so nothing is added


def test_untrained_is_frozen_exactly() -> None:
    one, vectors = trained(), some(50)
    untrained = VectorAdapter(one.down, np.zeros_like(one.up), "toy")
    assert np.array_equal(untrained.adapted(vectors), vectors)


def test_every_vector_keeps_its_length_and_a_zero_row_stays_zero() -> None:
    vectors = np.concatenate([some(5), np.zeros((1, 6), dtype=np.float32)])
    moved = trained().adapted(vectors)
    assert np.linalg.norm(moved, axis=1) == pytest.approx([1, 1, 1, 1, 1, 0], abs=1e-6)
    assert np.abs(moved - vectors).max() > 0.05
    assert moved.dtype == np.float32


def test_many_vectors_are_adapted_as_each_alone() -> None:
    vectors = some(BLOCK + 3)
    moved = trained().adapted(vectors)
    assert moved.shape == vectors.shape
    for row in (0, BLOCK - 1, BLOCK, BLOCK + 2):
        assert moved[row] == pytest.approx(trained().adapted(vectors[row : row + 1])[0], abs=1e-6)
    assert trained().adapted(vectors[:0]).shape == (0, 6)


def test_two_are_the_same_when_they_give_the_same_vectors_of_the_same_encoder() -> None:
    one = trained()
    assert one.is_same(one)
    assert one.is_same(trained())
    assert not one.is_same(None)
    assert not one.is_same(trained(seed=9))
    assert not one.is_same(trained(rank=2))
    assert not one.is_same(replace(one, revision="other"))


def test_an_adapter_leaves_its_vector_part_behind_in_the_space_of_another_encoder() -> None:
    adapter = replace(prior(), vector=trained())
    assert adapter.in_space("toy") is adapter
    other = adapter.in_space("other")
    assert other.vector is None
    assert (other.version, other.recall) == (adapter.version, adapter.recall)
    assert prior().in_space("other").vector is None
