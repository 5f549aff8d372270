"""Adaptation: how far an agent's few labels take it from the shipped prior towards a head trained on everything.

Labels come from half of the conversations, what they are worth is measured on the other half; a dozen draws or more.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.streams import VECTORS, adapter_at
from bench.table import Row, mean_of
from memory.engine.adapter import Adapter
from memory.engine.adapting import adapted, own_head, worth_labelling
from memory.engine.encoder import SentenceEncoder
from memory.engine.importance import kind_of
from memory.engine.posterior import Posterior, rated
from training.learner.banks import FilledBank, fill, pieces_of
from training.learner.formats import FORMATS, read_streams
from training.learner.importance_examples import importance_examples
from training.learner.streams import Stream
from training.learner.vectors import DiskCachedEncoder

SIZES = (100, 200, 500, 1_000)
SHARE = 0.2  # of the sides are kept
LEAST_GAIN = 0.03  # of full training, for a set to count towards the share
ALL_AT_ONCE = 10.0  # precision of the prior when everything is labelled


@dataclass(frozen=True)
class Labelled:
    """One stream's memories as examples, by side."""

    stream: Stream
    z: npt.NDArray[np.float64]  # (N, F), in the order of writing
    needed: npt.NDArray[np.bool_]
    side: npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelSet:
    """One set with the prior that was trained without it."""

    name: str
    prior: Posterior
    streams: Sequence[Labelled]


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    parser.add_argument(
        "--set", action="append", nargs="+", required=True, metavar=("FORMAT", "FILE"), dest="sets",
        help="a set: its format, its files, and with without=FOLDER the adapter that was trained without it",
    )  # fmt: skip
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--sample", type=int, metavar="N", help="of every set only so many conversations")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: Namespace) -> list[Row]:
    """Measure every set, then pool; prints the shares."""
    encoder = DiskCachedEncoder(SentenceEncoder(), VECTORS)
    sets = [read_set(words, encoder, arguments.sample, arguments.seed) for words in arguments.sets]
    rows = measure(sets, draws=arguments.draws, seed=arguments.seed)
    print(shown(rows))
    return rows


def read_set(words: Sequence[str], encoder: DiskCachedEncoder, sample: int | None, seed: int) -> LabelSet:
    """Read one set as the command line names it."""
    format, adapter, banks = read_banks(words, encoder, sample, seed)
    labelled = [labelled_in(bank, adapter) for bank in banks]
    prior = adapter.importance.priors[kind_of(banks[-1].hot.state.statistics)]
    return LabelSet(format, own_head(prior.weights, prior.bias), labelled)


def read_banks(
    words: Sequence[str], encoder: DiskCachedEncoder, sample: int | None, seed: int
) -> tuple[str, Adapter, list[FilledBank]]:
    """The format that `words` name, the adapter that was trained without the set, and a bank for each conversation
    of which something is needed later."""
    format, *rest = words
    if format not in FORMATS:
        raise SystemExit(f"There is no format {format}. There are: {', '.join(FORMATS)}.")
    folders = [word.removeprefix("without=") for word in rest if word.startswith("without=")]
    files = [Path(word) for word in rest if not word.startswith("without=")]
    adapter = adapter_at(Path(folders[0]) if folders else None)
    streams = read_streams(format, files)
    if sample:
        np.random.default_rng(seed).shuffle(streams)
    streams = [stream for stream in streams if stream.evidence][:sample]
    return format, adapter, [fill(stream, pieces_of(stream, encoder), adapter) for stream in streams]


def labelled_in(bank: FilledBank, adapter: Adapter) -> Labelled:
    """A bank's memories as the adapter saw them when they were written, and which were needed."""
    examples = importance_examples(bank)
    z = examples.standardised(adapter.importance, kind_of(bank.hot.state.statistics)).astype(np.float64)
    return Labelled(bank.stream, z, examples.needed, examples.side)


def divided(streams: Sequence[Labelled], random: np.random.Generator) -> set[str]:
    """The groups that are learned from: half of them, at random."""
    groups = sorted({labelled.stream.group for labelled in streams})
    return set(random.permutation(groups)[: max(1, len(groups) // 2)].tolist())


def measure(sets: Sequence[LabelSet], *, draws: int, seed: int) -> list[Row]:
    """Rows `evidence_kept` by number of labels (0: the prior, -1: all of them), and `share_of_full_training`."""
    rows: list[Row] = []
    means: dict[str, dict[int, float]] = {}
    for one in sets:
        found: dict[int, list[float]] = {}
        for draw in range(draws):
            for size, value in _draw(one, np.random.default_rng([seed, draw])).items():
                found.setdefault(size, []).append(value)
        means[one.name] = {size: float(np.mean(values)) for size, values in found.items()}
        names = [str(draw) for draw in range(draws)]
        rows += [
            mean_of("evidence_kept", values, names, data=one.name, category=one.name, size=size, budget=SHARE,
                    unit="turns", level="turn")
            for size, values in found.items()
        ]  # fmt: skip
    return rows + _shares(means, draws)


def _shares(means: Mapping[str, Mapping[int, float]], draws: int) -> list[Row]:
    counted = {name: of for name, of in means.items() if of[-1] - of[0] >= LEAST_GAIN}
    rows: list[Row] = []
    for size in SIZES:
        for name, of in means.items():
            full = of[-1] - of[0]
            if full > 0:
                share = (of[size] - of[0]) / full
                rows.append(Row("share_of_full_training", round(share, 4), category=name, size=size, n=draws))
        full = sum(of[-1] - of[0] for of in counted.values())
        gained = sum(of[size] - of[0] for of in counted.values())
        if full > 0:
            rows.append(Row("share_of_full_training", round(gained / full, 4), category="all", size=size, n=draws))
    return rows


def _draw(one: LabelSet, random: np.random.Generator) -> dict[int, float]:
    """One division of the conversations: evidence kept on the unseen half, by number of labels."""
    seen = divided(one.streams, random)
    known = [labelled for labelled in one.streams if labelled.stream.group in seen]
    tested = [labelled for labelled in one.streams if labelled.stream.group not in seen]
    z = np.concatenate([labelled.z for labelled in known])
    needed = np.concatenate([labelled.needed for labelled in known]).astype(np.float64)
    first = np.cumsum([0, *(len(labelled.stream.sides) for labelled in known[:-1])])
    side = np.concatenate([labelled.side + at for labelled, at in zip(known, first, strict=True)])
    out = {0: kept(tested, one.prior)}
    whole = Posterior(one.prior.mean, np.eye(len(one.prior.mean)) * ALL_AT_ONCE)
    out[-1] = kept(tested, rated(whole, z, needed, 1.0 / np.bincount(side)[side]))
    numbers, place = np.unique(side, return_inverse=True)
    best = np.full(len(numbers), -np.inf)
    np.maximum.at(best, place, one.prior.logits(z))
    for size in SIZES:
        chosen = np.isin(place, worth_labelling(best, size, random))
        posterior = adapted(one.prior, z[chosen], needed[chosen], place[chosen].tolist())
        out[size] = kept(tested, posterior)
    return out


def kept(streams: Sequence[Labelled], head: Posterior) -> float:
    """Mean evidence kept at 20 % of the sides, over questions; over dialogues where nothing is asked."""
    values: list[float] = []
    for one in streams:
        sides = len(one.stream.sides)
        best = np.full(sides, -np.inf)
        np.maximum.at(best, one.side, head.logits(one.z))
        stays = np.argsort(-best, kind="stable")[: round(SHARE * sides)]
        ids = {one.stream.sides[number].id for number in stays}
        asked = [question.evidence for question in one.stream.questions] or [one.stream.evidence]
        values += [len(evidence & ids) / len(evidence) for evidence in asked]
    return float(np.mean(values))


def shown(rows: Sequence[Row]) -> str:
    """A line a set: evidence kept by the prior, by number of labels, by full training; then the pooled shares."""
    kept_by = {(row.category, row.size): row.value for row in rows if row.metric == "evidence_kept"}
    shares = {row.size: row.value for row in rows if row.category == "all"}
    head = ["prior", *(f"{size:,}" for size in SIZES), "all"]
    lines = ["labels".ljust(14) + "".join(cell.rjust(9) for cell in head)]
    for name in dict.fromkeys(row.data for row in rows if row.metric == "evidence_kept"):
        lines.append(name.ljust(14) + "".join(f"{kept_by[name, size]:9.3f}" for size in (0, *SIZES, -1)))
    lines.append("share".ljust(23) + "".join(f"{shares[size]:9.2f}" for size in SIZES if size in shares))
    return "\n".join(lines)
