"""The queue's order: whether labels in it teach an agent more than as many random ones.

Gold evidence answers for the labeller: 4 for a side that was needed later, 0 for another, 15 % of the answers flipped.
Both orders have the same conversations, the same count of labels and the same learning (weights drawn to the shipped
ones, a free bias); what is compared is the evidence that the learned heads keep on the other half of the conversations.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.adapt import SHARE, LabelSet, divided, kept, read_set
from bench.streams import VECTORS
from bench.table import Row, mean_of
from memory.engine.encoder import SentenceEncoder
from memory.engine.posterior import Posterior, rated
from training import shipped
from training.learner.choosing import LEAVING, RANDOM, UNCERTAIN, chosen
from training.learner.self_taught import FREE
from training.learner.vectors import DiskCachedEncoder

SHARES = {UNCERTAIN: 0.4, LEAVING: 0.3, RANDOM: 0.3}  # as the rules begin with
SETS = (("locomo", "locomo/*.json"), ("memdaily", "memdaily/*.json"))
LABELS = 200
STRENGTH = 100.0  # precision of the shipped weights, against answers of which one in seven is wrong
FLIPPED = 0.15
BEST, WORST = 4, 0  # ratings


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    parser.add_argument("--data", type=Path, default=shipped.HERE.parent / "shared" / "data", metavar="FOLDER")
    parser.add_argument(
        "--set", action="append", nargs="+", metavar=("FORMAT", "FILE"), dest="sets",
        help="as of `adapt`, instead of LoCoMo and MemDaily below the data folder",
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sample", type=int, metavar="N", help="of every set only so many conversations")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: Namespace) -> list[Row]:
    """Measure every set; prints the differences."""
    encoder = DiskCachedEncoder(SentenceEncoder(), VECTORS)
    found = [[format, *map(str, sorted(arguments.data.glob(files)))] for format, files in SETS]
    sets = [read_set(words, encoder, arguments.sample, arguments.seed) for words in arguments.sets or found]
    rows = measure(sets, seeds=arguments.seeds)
    for row in rows:
        print(f"{row.category} {row.metric} {row.method}: {row.value:.4f} [{row.low:.4f}, {row.high:.4f}]")
    return rows


def measure(sets: Sequence[LabelSet], *, seeds: int) -> list[Row]:
    """Rows `evidence_kept` by the prior and by both orders, and `queue_minus_random` with its interval over seeds: of
    each set, and of all, a seed's difference being its mean over the sets."""
    names = [str(seed) for seed in range(seeds)]
    rows: list[Row] = []
    differences: list[list[float]] = []
    for one in sets:
        found = [_draw(one, seed) for seed in range(seeds)]
        for order in ("prior", "queue", "random"):
            rows.append(_row("evidence_kept", [of[order] for of in found], names, one.name, order))
        differences.append([of["queue"] - of["random"] for of in found])
        rows.append(_row("queue_minus_random", differences[-1], names, one.name))
    mean = np.mean(differences, axis=0).tolist()
    return [*rows, _row("queue_minus_random", mean, names, "all")]


def _row(metric: str, values: Sequence[float], names: Sequence[str], category: str, method: str = "queue") -> Row:
    return mean_of(metric, values, names, data="" if category == "all" else category, category=category, method=method,
                   size=LABELS, budget=SHARE, unit="turns", level="turn")  # fmt: skip


def _draw(one: LabelSet, seed: int) -> dict[str, float]:
    """Evidence kept on one half of the conversations by heads that learned from labels of the other."""
    random = np.random.default_rng([7, seed])
    seen = divided(one.streams, random)
    known = [labelled for labelled in one.streams if labelled.stream.group in seen]
    tested = [labelled for labelled in one.streams if labelled.stream.group not in seen]
    z = np.concatenate([labelled.z for labelled in known])
    needed = np.concatenate([labelled.needed for labelled in known])
    flipped = random.random(len(needed)) < FLIPPED
    ratings = np.where(needed ^ flipped, BEST, WORST)  # the same answers in both orders
    ranks = np.concatenate([places_from_leaving(one.prior.logits(labelled.z)) for labelled in known])
    orders = {
        "queue": queued(one.prior, z, ranks, random),
        "random": random.permutation(len(z))[:LABELS],
    }
    precision = np.full(len(one.prior.mean), STRENGTH)
    precision[-1] = FREE
    start = Posterior(one.prior.mean, np.diag(precision))
    heads = {order: rated(start, z[rows], ratings[rows] / BEST) for order, rows in orders.items()}
    return {order: kept(tested, head) for order, head in {"prior": one.prior, **heads}.items()}


def queued(
    prior: Posterior, z: npt.NDArray[np.float64], ranks: npt.NDArray[np.float64], random: np.random.Generator
) -> npt.NDArray[np.int64]:
    """The rows of (N, F) that the queue asks about first, `LABELS` of them."""
    choices = chosen(prior.logits(z), prior.uncertainty(z) ** 2, ranks, LABELS, SHARES, random)
    return np.array([choice.index for choice in choices])


def places_from_leaving(logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How many places each of N memories is from the line, in a bank that keeps the best fifth: 0 leaves next."""
    place = np.empty(len(logits))
    place[np.argsort(-logits, kind="stable")] = np.arange(len(logits))
    return np.asarray(round(SHARE * len(logits)) - 1 - place)
