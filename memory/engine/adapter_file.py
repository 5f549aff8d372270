"""An adapter on disk: weights as safetensors, and beside them a manifest that people can read. Never pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from memory.engine import features, signals
from memory.engine.adapter import Adapter, Floor, Interplay, RecallHead
from memory.engine.importance import KINDS, ImportanceHead, ImportancePrior
from memory.engine.statistics import ROLES
from memory.engine.types import BankError, Floats
from memory.engine.vector_adapter import VectorAdapter

WEIGHTS, MANIFEST = "adapter.safetensors", "manifest.json"
FORMAT = 1
SHIPPED = Path(__file__).parent / "shipped"


class AdapterUnreadable(BankError):
    """A stored adapter does not agree with its manifest, or is of a format that this release does not know."""


def save_adapter(adapter: Adapter, folder: Path, about: Mapping[str, Any]) -> None:
    """Write weights and manifest; `about` says what it was trained on, with which seed, and how well it does."""
    data, manifest = packed(adapter, about)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WEIGHTS).write_bytes(data)
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def packed(adapter: Adapter, about: Mapping[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """An adapter as safetensors, and its manifest."""
    tensors: dict[str, Floats] = {}
    for kind, prior in adapter.importance.priors.items():
        tensors |= {
            f"importance.{kind}.weights": prior.weights,
            f"importance.{kind}.bias": np.array([prior.bias], dtype=np.float32),
            f"importance.{kind}.mean": prior.mean, f"importance.{kind}.deviation": prior.deviation,
        }  # fmt: skip
    head = adapter.recall
    tensors |= {"recall.asking": head.asking, "recall.telling": head.telling, "recall.unread": head.unread}
    if head.interplay is not None:
        parts = head.interplay
        tensors |= {"recall.inner": parts.inner, "recall.inner_bias": parts.bias, "recall.outer": parts.outer}
    stored = {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in tensors.items()}
    if adapter.vector is not None:  # in 16 bits: at rank 16 they are 24 KB
        half = {"vector.down": adapter.vector.down, "vector.up": adapter.vector.up}
        stored |= {name: np.ascontiguousarray(value, dtype=np.float16) for name, value in half.items()}
        about = {"encoder": adapter.vector.revision, **about}
    data = save_tensors(stored)
    manifest = {
        "format": FORMAT,
        "version": adapter.version,
        "features": list(features.NAMES),
        "signals": list(signals.NAMES),
        "roles": [role.value for role in ROLES],
        "temperature": head.temperature,
        "floor": {
            "threshold": adapter.floor.threshold, "highly": adapter.floor.highly,
            "coverage_share": adapter.floor.coverage_share,
            "unread": adapter.floor.unread, "unread_highly": adapter.floor.unread_highly,
        },
        **about,
        "sha256": hashlib.sha256(data).hexdigest(),
    }  # fmt: skip
    return data, manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """What an adapter says of itself. Raises `AdapterUnreadable`."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AdapterUnreadable(f"The adapter in {folder.name} has no readable manifest.") from error
    return manifest


def load_adapter(folder: Path) -> Adapter:
    """Read an adapter and check it against its manifest; features and signals that came later weigh nothing.

    Raises `AdapterUnreadable`.
    """
    data = (folder / WEIGHTS).read_bytes() if (folder / WEIGHTS).exists() else b""
    return unpacked(data, read_manifest(folder), f"in {folder.name}")


def unpacked(data: bytes, manifest: Mapping[str, Any], name: str) -> Adapter:
    """The adapter of weights and manifest, which are checked against each other; `name` tells a person which it is.

    Raises `AdapterUnreadable`.
    """
    if manifest.get("format") != FORMAT or hashlib.sha256(data).hexdigest() != manifest.get("sha256"):
        raise AdapterUnreadable(f"The adapter {name} does not agree with its manifest; install it again.")
    if manifest["roles"] != [role.value for role in ROLES]:  # its moments are stored by role, in this order
        raise AdapterUnreadable(f"The adapter {name} knows other roles than this release; train it again.")
    tensors = load_tensors(data)
    of_features = _places(manifest["features"], features.NAMES)
    of_signals = _places(manifest["signals"], signals.NAMES)
    priors = {kind: _prior(tensors, f"importance.{kind}", of_features) for kind in KINDS}
    interplay = None
    if "recall.inner" in tensors:
        inner = _laid_out(tensors["recall.inner"], of_signals, len(signals.NAMES))
        interplay = Interplay(inner, tensors["recall.inner_bias"], tensors["recall.outer"])
    modes = {mode: _laid_out(tensors[f"recall.{mode}"], of_signals, len(signals.NAMES))
             for mode in ("asking", "telling", "unread")}  # fmt: skip
    return Adapter(
        version=manifest["version"],
        importance=ImportanceHead(priors),
        recall=RecallHead(**modes, temperature=manifest["temperature"], interplay=interplay),
        floor=Floor(**manifest["floor"]),
        vector=_vector(tensors, manifest),
    )


def _vector(tensors: Mapping[str, Floats], manifest: Mapping[str, Any]) -> VectorAdapter | None:
    if "vector.down" not in tensors:
        return None
    down, up = (tensors[name].astype(np.float32) for name in ("vector.down", "vector.up"))
    return VectorAdapter(down, up, manifest["encoder"])


def _prior(tensors: Mapping[str, Floats], name: str, places: Sequence[int]) -> ImportancePrior:
    size = len(features.NAMES)
    deviation = _laid_out(tensors[f"{name}.deviation"], places, size)
    return ImportancePrior(
        weights=_laid_out(tensors[f"{name}.weights"], places, size),
        bias=float(tensors[f"{name}.bias"][0]),
        mean=_laid_out(tensors[f"{name}.mean"], places, size),
        deviation=np.where(deviation > 0, deviation, np.float32(1.0)),
    )


def _places(stored: Sequence[str], now: Sequence[str]) -> list[int]:
    """Where each stored name stands now, -1 for one that is gone."""
    return [now.index(name) if name in now else -1 for name in stored]


def _laid_out(values: Floats, places: Sequence[int], size: int) -> Floats:
    """The last axis in today's order, 0 for what was not stored."""
    out = np.zeros((*values.shape[:-1], size), dtype=np.float32)
    for stored, place in enumerate(places):
        if place >= 0:
            out[..., place] = values[..., stored]
    return out
