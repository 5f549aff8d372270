"""Adapters on disk: what is saved is what is read, and what was changed is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load

from memory.engine import adapter_file, features, signals
from memory.engine.adapter import Adapter, Interplay
from memory.engine.adapter_file import MANIFEST, WEIGHTS, AdapterUnreadable, load_adapter, read_manifest, save_adapter
from memory.engine.importance import KINDS
from memory.engine.prior import prior
from memory.engine.vector_adapter import VectorAdapter

SHIPPED = Path(adapter_file.__file__).parent / "shipped"
IMPORTANCE_BYTES, ALL_BYTES = 4 * 1024, 64 * 1024


def with_interplay() -> Adapter:
    chance = np.random.default_rng(1)
    inner = chance.standard_normal((3, len(signals.NAMES))).astype(np.float32)
    interplay = Interplay(inner, np.arange(3, dtype=np.float32), np.ones(3, dtype=np.float32))
    start = prior()
    return replace(start, version="toy-1", recall=replace(start.recall, temperature=0.7, interplay=interplay))


def same(one: Adapter, other: Adapter) -> bool:
    heads = [
        np.array_equal(getattr(one.recall, name), getattr(other.recall, name))
        for name in ("asking", "telling", "unread")
    ]
    for kind in KINDS:
        a, b = one.importance.priors[kind], other.importance.priors[kind]
        heads += [np.array_equal(a.weights, b.weights), np.array_equal(a.mean, b.mean), a.bias == pytest.approx(b.bias)]
        heads.append(np.array_equal(a.deviation, b.deviation))
    plain = (one.version, one.floor, one.recall.temperature) == (other.version, other.floor, other.recall.temperature)
    return all(heads) and plain and set(one.importance.priors) == set(other.importance.priors)


def test_what_is_saved_is_what_is_read(tmp_path: Path) -> None:
    save_adapter(prior(), tmp_path / "a" / "b", {"seed": 3, "licence": "weights, MIT"})
    read = load_adapter(tmp_path / "a" / "b")
    assert same(read, prior())
    assert read.recall.interplay is None
    manifest = read_manifest(tmp_path / "a" / "b")
    assert (manifest["seed"], manifest["licence"], manifest["version"]) == (3, "weights, MIT", prior().version)
    assert manifest["features"] == list(features.NAMES)
    assert manifest["signals"] == list(signals.NAMES)


def test_an_interplay_is_saved_too(tmp_path: Path) -> None:
    saved = with_interplay()
    save_adapter(saved, tmp_path, {})
    read = load_adapter(tmp_path)
    assert same(read, saved)
    assert read.recall.interplay is not None
    values = np.random.default_rng(2).standard_normal((4, len(signals.NAMES))).astype(np.float32)
    assert saved.recall.interplay is not None
    assert np.array_equal(read.recall.interplay.logits(values), saved.recall.interplay.logits(values))


def with_vectors(rank: int = 16, width: int = 384) -> Adapter:
    """As large as the default encoder's, in numbers that 16 bits hold."""
    chance = np.random.default_rng(4)
    down, up = (chance.integers(-99, 99, shape).astype(np.float32) / 64 for shape in ((rank, width), (width, rank)))
    return replace(with_interplay(), version="toy-2", vector=VectorAdapter(down, up, "revision-7"))


def test_a_vector_part_is_saved_too_in_16_bits_with_the_encoder_that_it_is_for(tmp_path: Path) -> None:
    saved = with_vectors()
    save_adapter(saved, tmp_path, {"seed": 1})
    read = load_adapter(tmp_path)
    assert same(read, saved)
    assert saved.vector is not None
    assert saved.vector.is_same(read.vector)
    assert read.vector is not None
    assert read.vector.down.dtype == read.vector.up.dtype == np.float32
    assert read_manifest(tmp_path)["encoder"] == "revision-7"
    assert {one.dtype.name for name, one in load((tmp_path / WEIGHTS).read_bytes()).items() if "vector" in name} == {
        "float16"
    }


def test_an_adapter_without_a_vector_part_is_written_as_before(tmp_path: Path) -> None:
    save_adapter(with_interplay(), tmp_path, {})
    assert load_adapter(tmp_path).vector is None
    assert "encoder" not in read_manifest(tmp_path)
    assert not [name for name in load((tmp_path / WEIGHTS).read_bytes()) if name.startswith("vector.")]


def test_the_same_adapter_is_written_in_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        save_adapter(prior(), tmp_path / name, {"seed": 1})
    for file in (WEIGHTS, MANIFEST):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes()


@pytest.mark.parametrize("place", [0, 200, -1])
def test_one_changed_byte_is_refused_in_a_sentence(tmp_path: Path, place: int) -> None:
    save_adapter(prior(), tmp_path, {})
    data = bytearray((tmp_path / WEIGHTS).read_bytes())
    data[place] ^= 1
    (tmp_path / WEIGHTS).write_bytes(data)
    with pytest.raises(AdapterUnreadable, match="does not agree with its manifest; install it again"):
        load_adapter(tmp_path)


def test_missing_files_are_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(AdapterUnreadable, match="has no readable manifest"):
        load_adapter(tmp_path)
    save_adapter(prior(), tmp_path, {})
    (tmp_path / WEIGHTS).unlink()
    with pytest.raises(AdapterUnreadable, match="does not agree"):
        load_adapter(tmp_path)
    (tmp_path / MANIFEST).write_text("{not json")
    with pytest.raises(AdapterUnreadable, match="has no readable manifest"):
        load_adapter(tmp_path)


def test_a_format_of_a_later_release_is_refused(tmp_path: Path) -> None:
    save_adapter(prior(), tmp_path, {})
    manifest = read_manifest(tmp_path) | {"format": 99}
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(AdapterUnreadable):
        load_adapter(tmp_path)


def test_what_came_later_weighs_nothing_and_what_moved_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An adapter of an older release: its names stood in another order, one is gone, one of today it never knew."""
    of_features, of_signals = features.NAMES, signals.NAMES
    old = with_interplay()
    with monkeypatch.context() as older:
        older.setattr(features, "NAMES", (*reversed(of_features[1:]), "gone_since"))
        older.setattr(signals, "NAMES", (*reversed(of_signals[1:]), "gone_since"))
        ramp = {
            name: np.arange(1, len(names) + 1, dtype=np.float32)
            for name, names in (("f", features.NAMES), ("s", signals.NAMES))
        }
        one = replace(old.importance.priors["tool_use"], weights=ramp["f"])
        importance = replace(old.importance, priors={**old.importance.priors, "tool_use": one})
        save_adapter(replace(old, importance=importance, recall=replace(old.recall, asking=ramp["s"])), tmp_path, {})
        stored = {name: float(number) for number, name in enumerate(features.NAMES, start=1)}
        stored_signals = {name: float(number) for number, name in enumerate(signals.NAMES, start=1)}
    read = load_adapter(tmp_path)
    prior_read = read.importance.priors["tool_use"]
    assert prior_read.weights.tolist() == [stored.get(name, 0.0) for name in of_features]
    assert read.recall.asking.tolist() == [stored_signals.get(name, 0.0) for name in of_signals]
    assert prior_read.weights[0] == read.recall.asking[0] == 0.0
    assert (prior_read.deviation > 0).all()


def test_a_signal_in_another_order_gives_the_same_logits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = with_interplay()
    save_adapter(saved, tmp_path, {})
    values = np.random.default_rng(3).standard_normal((5, len(signals.NAMES))).astype(np.float32)
    monkeypatch.setattr(signals, "NAMES", signals.NAMES[::-1])
    read = load_adapter(tmp_path)
    assert read.recall.interplay is not None
    assert saved.recall.interplay is not None
    turned = values[:, ::-1]
    assert turned @ read.recall.asking == pytest.approx(values @ saved.recall.asking, rel=1e-4)
    assert read.recall.interplay.logits(turned) == pytest.approx(saved.recall.interplay.logits(values), rel=1e-4)


def test_an_adapter_is_small(tmp_path: Path) -> None:
    """The importance part (weights, biases and usual moments of all kinds) and the whole, of a saved prior, of
    one with a vector part of rank 16, and of the shipped adapter."""
    save_adapter(prior(), tmp_path / "prior", {})
    save_adapter(with_vectors(), tmp_path / "vectors", {})
    folders = [tmp_path / "prior", tmp_path / "vectors", *([SHIPPED] if SHIPPED.is_dir() else [])]
    for folder in folders:
        tensors = load((folder / WEIGHTS).read_bytes())
        of_importance = sum(value.nbytes for name, value in tensors.items() if name.startswith("importance."))
        assert 0 < of_importance <= IMPORTANCE_BYTES
        assert sum((folder / name).stat().st_size for name in (WEIGHTS, MANIFEST)) <= ALL_BYTES
        load_adapter(folder)


def test_an_adapter_of_other_roles_is_refused(tmp_path: Path) -> None:
    save_adapter(prior(), tmp_path, {})
    file = tmp_path / MANIFEST
    file.write_text(file.read_text().replace('"tool"', '"robot"'))
    with pytest.raises(AdapterUnreadable, match="other roles"):
        load_adapter(tmp_path)
