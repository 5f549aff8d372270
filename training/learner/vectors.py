"""Vectors kept on disk between runs: encoding tens of thousands of texts takes half an hour and more."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memory.engine.encoder import Encoder, Space
from memory.engine.types import Floats

CHUNK = 512
HASH_BYTES = 32


class DiskCachedEncoder:
    """An encoder that keeps every vector in files of (sha256 of the text, E x float32) under its revision's name.

    Each process appends to a file of its own, so several may run; what is there at the start is read once.
    """

    def __init__(self, inner: Encoder, folder: Path) -> None:
        self.inner = inner
        self._folder = folder / inner.space.revision
        self._folder.mkdir(parents=True, exist_ok=True)
        self._own = self._folder / f"{os.getpid()}-{time.time_ns()}.bin"
        self._record = np.dtype([("key", f"S{HASH_BYTES * 2}"), ("vector", np.float32, (inner.space.width,))])
        self._held: dict[bytes, Floats] = {}
        for file in sorted(self._folder.glob("*.bin")):
            whole = file.stat().st_size // self._record.itemsize  # a record cut short by a kill is left out
            rows = np.fromfile(file, dtype=self._record, count=whole)
            self._held.update(zip(rows["key"].tolist(), rows["vector"], strict=True))
        self.encoded = 0
        self.seconds = 0.0  # spent in the inner encoder

    @property
    def space(self) -> Space:
        return self.inner.space

    def encode(self, texts: Sequence[str]) -> Floats:
        """As `Encoder.encode`; what is not held yet is encoded in chunks, each written at once."""
        keys = [hashlib.sha256(text.encode("utf-8", "replace")).hexdigest().encode() for text in texts]
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._held}
        missing = sorted(wanted, key=lambda key: len(wanted[key]))  # texts of one length share a batch
        for start in range(0, len(missing), CHUNK):
            chunk = missing[start : start + CHUNK]
            began = time.perf_counter()
            vectors = self.inner.encode([wanted[key] for key in chunk])
            self.seconds += time.perf_counter() - began
            self.encoded += len(chunk)
            self._keep(chunk, vectors)
        if not keys:
            return np.zeros((0, self.space.width), dtype=np.float32)
        return np.stack([self._held[key] for key in keys])

    def _keep(self, keys: Sequence[bytes], vectors: Floats) -> None:
        rows = np.empty(len(keys), dtype=self._record)
        rows["key"], rows["vector"] = keys, vectors
        with self._own.open("ab") as file:
            file.write(rows.tobytes())
        self._held.update(zip(keys, vectors, strict=True))
