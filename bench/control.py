"""A control: with labels shuffled no challenger may be found better; with the real ones it is shown beside.

The memories and the evidence are those of a public set (LoCoMo is read for measuring alone: nothing learned here is
kept). Every conversation's sessions are told as conversations of their own, since that is what a run holds out.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from bench.streams import VECTORS, adapter_at
from bench.table import Row
from memory.engine.adapter import Adapter
from memory.engine.encoder import SentenceEncoder
from memory.engine.importance import KINDS
from training.learner.banks import fill, pieces_of
from training.learner.dataset import Dataset
from training.learner.formats import FORMATS, read_streams
from training.learner.importance_examples import importance_examples
from training.learner.shared_head import HowToLearn
from training.learner.training import Outcome, train
from training.learner.vectors import DiskCachedEncoder

CONFIDENCE = 0.95


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    parser.add_argument("--format", choices=[*FORMATS], default="locomo")
    parser.add_argument("--data", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many streams")
    parser.add_argument("--labels", type=int, default=1000, help="judgements drawn for a run")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--adapter", type=Path, metavar="FOLDER", help="the champion, in place of the shipped one")


def run(arguments: Namespace) -> list[Row]:
    """Rows `promoted` for shuffled and for real labels: in how many of the seeds a challenger was found better."""
    encoder, adapter = DiskCachedEncoder(SentenceEncoder(), VECTORS), adapter_at(arguments.adapter)
    data = labelled(arguments.format, arguments.data, encoder, adapter, arguments.sample)
    rows: list[Row] = []
    for category in ("shuffled", "real"):
        promoted, gains = 0, []
        for seed in range(arguments.seeds):
            part = drawn(data, arguments.labels, seed)
            outcome = train(shuffled(part, seed) if category == "shuffled" else part, adapter, how=HowToLearn(seed))
            verdict = outcome.evaluation.verdict(CONFIDENCE)
            promoted += verdict == "better"
            gains.append(gain_of(outcome))
            print(f"{category} {seed}: {verdict}, {outcome.evaluation.better:.3f}, gain {gains[-1]:+.4f}", flush=True)
        about = {"data": arguments.format, "category": category, "n": arguments.seeds, "size": arguments.labels}
        rows.append(Row("promoted", float(promoted), **about))
        rows.append(Row("gain_held_out", round(float(np.mean(gains)), 4), **about))
    return rows


def labelled(
    format: str, files: Sequence[Path], encoder: DiskCachedEncoder, adapter: Adapter, sample: int | None
) -> Dataset:
    """Every memory of the set with its evidence as a judgement."""
    parts: list[Dataset] = []
    streams = [stream for stream in read_streams(format, files) if stream.evidence][:sample]
    groups = 0
    for stream in streams:
        examples = importance_examples(fill(stream, pieces_of(stream, encoder), adapter))
        session = np.array([stream.sides[side].session for side in examples.side])
        _, place = np.unique(session, return_inverse=True)
        size = len(examples.needed)
        _, of_side = np.unique(examples.side, return_inverse=True)
        ids = [uuid5(NAMESPACE_URL, f"{stream.name} {number}").bytes for number in range(size)]
        parts.append(Dataset(
            z=examples.standardised(adapter.importance, stream.kind).astype(np.float64),
            value=examples.needed.astype(np.float64), weight=1.0 / np.bincount(of_side)[of_side],
            kind=np.full(size, KINDS.index(stream.kind)), group=place + groups, other=np.full(size, -1),
            memory=np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(size, 16),
        ))  # fmt: skip
        groups += int(place.max()) + 1
    names = ("z", "value", "weight", "kind", "group", "other", "memory")
    return Dataset(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def drawn(data: Dataset, labels: int, seed: int) -> Dataset:
    """So many judgements at random."""
    chosen = np.zeros(len(data), dtype=bool)
    chosen[np.random.default_rng(seed).permutation(len(data))[:labels]] = True
    return data.rows(chosen)


def shuffled(data: Dataset, seed: int) -> Dataset:
    """The same memories with one another's judgements."""
    return replace(data, value=np.random.default_rng([seed, 1]).permutation(data.value))


def gain_of(outcome: Outcome) -> float:
    """How much better the challenger ranks held-out conversations, as the mean over kinds."""
    found = [one.ranking.challenger - one.ranking.champion for one in outcome.evaluation.by_kind.values()]
    return float(np.mean(found)) if found else 0.0
