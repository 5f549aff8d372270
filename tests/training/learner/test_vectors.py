"""Vectors kept on disk: encoded once, read by the next process, whole after a kill."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memory.engine.types import Floats
from tests.toy import WIDTH, ToyEncoder
from training.learner.vectors import DiskCachedEncoder

TEXTS = ["My bike is red", "Anna lives in Lisbon", "My bike is red", "\ud800 odd"]


class Counting(ToyEncoder):
    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> Floats:
        self.asked += texts
        return super().encode(texts)


def test_a_text_is_encoded_once_and_read_by_the_next(tmp_path: Path) -> None:
    inner = Counting()
    cached = DiskCachedEncoder(inner, tmp_path)
    vectors = cached.encode(TEXTS)
    assert np.array_equal(vectors, ToyEncoder().encode(TEXTS))
    assert sorted(inner.asked) == sorted(set(TEXTS))
    assert cached.encoded == 3
    cached.encode(TEXTS[:1])
    following = Counting()
    again = DiskCachedEncoder(following, tmp_path)
    assert np.array_equal(again.encode([*TEXTS, "new"])[:4], vectors)
    assert following.asked == ["new"]


def test_a_record_cut_short_by_a_kill_is_encoded_again(tmp_path: Path) -> None:
    cached = DiskCachedEncoder(Counting(), tmp_path)
    cached.encode(["short"])
    cached.encode(["a longer text"])
    (file,) = tmp_path.rglob("*.bin")
    file.write_bytes(file.read_bytes()[:-5])
    inner = Counting()
    again = DiskCachedEncoder(inner, tmp_path)
    assert np.array_equal(again.encode(["short", "a longer text"]), ToyEncoder().encode(["short", "a longer text"]))
    assert inner.asked == ["a longer text"]


def test_nothing_is_an_array_without_rows(tmp_path: Path) -> None:
    assert DiskCachedEncoder(Counting(), tmp_path).encode([]).shape == (0, WIDTH)
