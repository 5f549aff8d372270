"""The public cues: packed without words, read as they were, and shipped small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memory.engine.adapter_file import SHIPPED as ADAPTER
from memory.engine.adapter_file import load_adapter
from memory.engine.signals import NAMES
from tests.training.learner.test_training import example
from training.learner import public_cues
from training.learner.public_cues import hardest, packed_cues, read_cues, shipped_cues

HEAD = load_adapter(ADAPTER).recall


def questions(seed: int = 1, size: int = 200) -> list[public_cues.RecallExample]:
    random = np.random.default_rng(seed)
    out = []
    for mode in ("asking", "telling", "asking"):
        values = random.standard_normal((size, len(NAMES))).astype(np.float32)
        target = np.zeros(size, dtype=np.float32)
        target[random.integers(size)] = 1.0
        out.append(example(values, target, mode))
    return out


def test_what_is_kept_is_the_evidence_what_is_hard_to_tell_from_it_and_some_others() -> None:
    one = questions()[0]
    kept = hardest(one, HEAD, 1)
    assert int(np.argmax(one.target)) in kept
    assert set(np.argsort(-(one.values @ HEAD.asking))[:16].tolist()) <= set(kept)
    assert set(np.argsort(-one.values[:, NAMES.index("lexical")])[:8].tolist()) <= set(kept)
    assert 24 < len(kept) <= 16 + 8 + 8 + 8 + 1
    assert kept == hardest(one, HEAD, 1)


def test_packed_and_read_they_are_the_same_to_sixteen_bits_and_rank_as_before(tmp_path: Path) -> None:
    told = questions()
    file = tmp_path / "cues.npz"
    file.write_bytes(packed_cues(told, HEAD))
    back = read_cues(file)
    assert {mode: len(of) for mode, of in back.cues.items()} == {"asking": 2, "telling": 1}
    signals, evidence = back.cues["asking"][0]
    rows = hardest(told[0], HEAD, 0)
    assert signals == pytest.approx(told[0].values[rows], abs=2e-3)
    assert evidence.tolist() == (told[0].target[rows] > 0).tolist()
    now = np.asarray(HEAD.asking, dtype=np.float64)
    assert back.lost("asking", HEAD, now) == 0.0
    assert back.lost("asking", HEAD, -now) == pytest.approx(
        max(0.0, back.ranking("asking", HEAD, now) - back.ranking("asking", HEAD, -now))
    )
    assert back.lost("unread", HEAD, now) == 0.0, "what there is none of loses nothing"


def test_what_ships_is_small_says_no_word_and_is_ranked_well_by_the_shipped_head() -> None:
    assert public_cues.SHIPPED.stat().st_size < 400 * 1024
    with np.load(public_cues.SHIPPED, allow_pickle=False) as arrays:
        kinds = {name: arrays[name].dtype.kind for name in arrays.files}
        assert arrays["names"].tolist() == list(NAMES)
    assert kinds == {"signals": "f", "evidence": "b", "cue": "u", "mode": "u", "names": "U"}
    shipped = shipped_cues()
    assert len(shipped.cues["asking"]) > 150
    assert shipped.ranking("asking", HEAD, np.asarray(HEAD.asking, dtype=np.float64)) > 0.85
    worse = np.zeros(len(NAMES))
    assert shipped.lost("asking", HEAD, worse) > 0.3
