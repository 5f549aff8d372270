"""Recall by the peers: the memories of each bank told one by one, the first 50 of each cue taken as their ranking."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.peers.environment import PEERS, command_of
from bench.peers.process import Peer, PeerFailed, Told
from bench.recall import Asked, adapter_of, asked_of, rows_of, shown
from bench.streams import Measured
from bench.table import Row
from memory.engine.encoder import Encoder, embedded_text
from memory.engine.types import Floats

LIMIT = 50


def run(what: Measured, python: Path) -> list[Row]:
    """Measure with our head, the baselines and the peers in turn; print and return their rows."""
    rows = measure(what, lambda name: Peer(name, command_of(python, name)))
    print(f"{what.encoder.encoded} texts encoded in {what.encoder.seconds:.0f} s, the others were at hand")
    print(shown(rows))
    return rows


def measure(what: Measured, start: Callable[[str], Peer], names: Sequence[str] = PEERS) -> list[Row]:
    """The rows of `bench.recall`, and the same of every peer that lasts; one that fails is told of in a sentence."""
    asked = asked_of(what)
    versions: dict[str, str] = {}
    for name in names:
        try:
            with start(name) as peer:
                scores = _scores(asked, peer, what.encoder)
        except PeerFailed as failure:
            print(failure, flush=True)
            continue
        versions[name] = peer.version
        asked = [replace(one, scores={**one.scores, name: found}) for one, found in zip(asked, scores, strict=True)]
    rows = rows_of(asked, data=what.data, adapter=adapter_of(what))
    return [replace(row, adapter=versions.get(row.method, row.adapter)) for row in rows]


def _scores(asked: Sequence[Asked], peer: Peer, encoder: Encoder) -> list[Floats]:
    """By question: minus the rank of each memory that the peer returns, -inf for the others."""
    out: list[Floats] = []
    for _, group in itertools.groupby(asked, key=lambda one: id(one.bank)):
        questions = list(group)
        items = questions[0].bank.hot.memories()
        texts = [embedded_text(item.speaker, item.at, item.text) for item in items]
        vectors = encoder.encode(texts)
        peer.open(vectors.shape[1])
        for row, (item, text) in enumerate(zip(items, texts, strict=True)):
            peer.add([Told(str(row), item.role.value, text, vectors[row])])
        for one in questions:
            found, _ = peer.search(one.example.cue.text, one.example.cue.vector, LIMIT)
            scores = np.full(len(items), -np.inf, dtype=np.float32)
            scores[[int(row) for row in found]] = -np.arange(len(found), dtype=np.float32)
            out.append(scores)
    return out
