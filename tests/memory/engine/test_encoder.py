from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from memory.engine.encoder import (
    CachedEncoder,
    EncoderUnavailable,
    SentenceEncoder,
    Space,
    embedded_text,
    packaged_folder,
)
from memory.engine.types import Floats


class CountingEncoder:
    """One axis a call, so that a vector tells which call made it."""

    space = Space(model="counting", revision="1", width=8)

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> Floats:
        self.asked.append(list(texts))
        out = np.zeros((len(texts), 8), dtype=np.float32)
        out[:, (len(self.asked) - 1) % 8] = 1.0
        return out


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_texts_that_are_held_are_not_encoded_again() -> None:
    inner = CountingEncoder()
    encoder = CachedEncoder(inner)
    first = encoder.encode(["a", "b", "a"])
    again = encoder.encode(["b", "c", "a"])
    assert inner.asked == [["a", "b"], ["c"]]
    assert (encoder.calls, encoder.encoded) == (2, 3)
    assert first.argmax(axis=1).tolist() == [0, 0, 0]
    assert again.argmax(axis=1).tolist() == [0, 1, 0]


def test_nothing_to_encode_is_an_empty_array_of_the_right_width() -> None:
    inner = CountingEncoder()
    assert CachedEncoder(inner).encode([]).shape == (0, 8)
    assert inner.asked == []


def test_a_vector_is_held_for_its_time_and_no_longer() -> None:
    inner, clock = CountingEncoder(), Clock()
    encoder = CachedEncoder(inner, seconds=600, clock=clock)
    encoder.encode(["a"])
    clock.now += 600
    encoder.encode(["a"])
    assert encoder.calls == 1
    clock.now += 1
    encoder.encode(["a"])
    assert encoder.calls == 2


def test_reading_a_vector_does_not_lengthen_its_life() -> None:
    inner, clock = CountingEncoder(), Clock()
    encoder = CachedEncoder(inner, seconds=600, clock=clock)
    encoder.encode(["a"])
    for _ in range(3):
        clock.now += 300
        encoder.encode(["a", "b"])
    assert [texts.count("a") for texts in inner.asked].count(1) == 2


def test_the_oldest_vectors_make_room() -> None:
    inner = CountingEncoder()
    encoder = CachedEncoder(inner, capacity=2)
    assert encoder.encode(["a", "b", "c"]).shape == (3, 8)
    encoder.encode(["b", "c"])
    assert encoder.calls == 1
    encoder.encode(["a"])
    assert inner.asked[-1] == ["a"]


def test_clearing_forgets_every_vector() -> None:
    inner = CountingEncoder()
    encoder = CachedEncoder(inner)
    encoder.encode(["a"])
    encoder.clear()
    encoder.encode(["a"])
    assert inner.asked == [["a"], ["a"]]


def test_a_memory_is_embedded_with_its_speaker_and_day() -> None:
    at = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
    assert embedded_text("Ana", at, "I moved.") == "Ana, 1 March 2026: I moved."


@pytest.fixture(scope="module")
def packaged() -> SentenceEncoder:
    return SentenceEncoder()


def test_the_packaged_encoder_gives_unit_vectors_384_wide(packaged: SentenceEncoder) -> None:
    vectors = packaged.encode(["My sister lives in Lisbon.", "Where does my sister live?", "The bike is red."])
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert vectors[0] @ vectors[1] > vectors[2] @ vectors[1] + 0.2


def test_the_packaged_encoder_names_its_space(packaged: SentenceEncoder) -> None:
    assert packaged.space.width == 384
    assert packaged.space.model == "all-MiniLM-L6-v2"
    assert len(packaged.space.revision) == 16
    assert packaged.loaded


def test_the_packaged_weights_are_found_without_importing_their_package() -> None:
    assert (packaged_folder() / "model.safetensors").exists() or list(packaged_folder().glob("*.json"))


def test_an_encoder_that_is_not_there_is_refused_with_the_setting_to_check(tmp_path: Path) -> None:
    with pytest.raises(EncoderUnavailable, match="AGORA_ENCODER") as raised:
        SentenceEncoder(str(tmp_path / "nothing")).encode(["a"])
    assert not raised.value.retryable
