"""What a training run costs: time and memory from frozen judgements to a challenger measured beside the champion.

The judgements are made up (a taste of its own for each kind, three kinds, ten to a conversation); encoding and reading
the ledger are not part of it.
"""

from __future__ import annotations

import resource
import time
from argparse import ArgumentParser, Namespace

import numpy as np

from bench.streams import adapter_at
from bench.table import Row
from memory.engine import features
from memory.engine.importance import KINDS
from training.learner.dataset import Dataset, unpacked
from training.learner.shared_head import HowToLearn
from training.learner.training import train

A_CONVERSATION = 10


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 5_000, 50_000], help="judgements")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: Namespace) -> list[Row]:
    """Rows `seconds` and `peak_megabytes` by number of judgements."""
    adapter = adapter_at(None)
    rows: list[Row] = []
    for size in arguments.sizes:
        data, digest = judged(size, arguments.seed).packed()
        began = time.perf_counter()
        outcome = train(unpacked(data, digest), adapter, how=HowToLearn(arguments.seed))
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        kinds = len(outcome.learned.kinds)
        print(
            f"{size:,} judgements, {kinds} kinds: {seconds:.1f} s, {peak:,.0f} MB at most, {len(data):,} bytes frozen"
        )
        rows.append(Row("seconds", round(seconds, 2), unit="judgements", size=size, n=1))
        rows.append(Row("peak_megabytes", round(peak), unit="judgements", size=size, n=1))
    return rows


def judged(size: int, seed: int) -> Dataset:
    """Judgements by a made-up taste for each kind."""
    random = np.random.default_rng(seed)
    width = len(features.NAMES)
    z = random.standard_normal((size, width))
    kind = np.arange(size) // A_CONVERSATION % len(KINDS)
    taste = random.standard_normal((len(KINDS), width)) / 2
    chance = 1 / (1 + np.exp(-((z * taste[kind]).sum(axis=1) - 1)))
    return Dataset(
        z=z, value=(random.random(size) < chance).astype(np.float64), weight=np.ones(size), kind=kind,
        group=np.arange(size) // A_CONVERSATION, other=np.full(size, -1),
        memory=np.frombuffer(random.bytes(16 * size), dtype=np.uint8).reshape(size, 16),
    )  # fmt: skip
