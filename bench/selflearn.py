"""Self-supervision: how far a bank's own past takes its head from the shipped prior, beside what gold evidence would.

From half of the conversations hindsight learns what later replies used: each question is lived as a turn, and the
set's answer is the reply that followed. What was learned is measured on the other half. Evidence is read to measure,
and by the head that is trained on it to compare with; never by hindsight.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.adapt import ALL_AT_ONCE, LEAST_GAIN, SHARE, Labelled, divided, kept, labelled_in, read_banks
from bench.streams import VECTORS
from bench.table import Row, mean_of
from memory.engine.adapter import Adapter
from memory.engine.attention import logits_of
from memory.engine.encoder import Encoder, SentenceEncoder
from memory.engine.importance import kind_of
from memory.engine.posterior import Posterior, believed, rated
from memory.engine.signals import compute
from memory.engine.types import Role
from training import shipped
from training.learner.banks import FilledBank, cue_of, cue_terms
from training.learner.hindsight import MOST, Credit, Lived, Told, credited, passed_on
from training.learner.self_taught import FREE, STRENGTH, Lesson, self_taught
from training.learner.vectors import DiskCachedEncoder

SETS: Mapping[str, str] = {
    "locomo": "locomo/locomo_dev.json",
    "longmemeval": "longmemeval/dev_s.jsonl.gz",
    "tau": "trajectories/tau_airline/gpt-4o-airline.json",
}
TRAINED_ON = frozenset(shipped.TRAINABLE)  # by what is shipped: a twin without the set takes its place
PRIOR, SELF, SUPERVISED = METHODS = ("prior", "self", "supervised")


@dataclass(frozen=True)
class SelfSet:
    """One set with the prior that was trained without it: its conversations, and what hindsight makes of each."""

    name: str
    prior: Posterior
    streams: Sequence[Labelled]
    lessons: Sequence[Lesson]


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    parser.add_argument("--data", type=Path, default=shipped.HERE.parent / "shared" / "data", metavar="FOLDER")
    parser.add_argument(
        "--set", action="append", nargs="+", metavar=("FORMAT", "FILE"), dest="sets",
        help="as of `adapt`, instead of LoCoMo, LongMemEval and tau-bench below the data folder",
    )  # fmt: skip
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--sample", type=int, metavar="N", help="of every set only so many conversations")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: Namespace) -> list[Row]:
    """Measure every set, then pool; prints the figures."""
    encoder = DiskCachedEncoder(SentenceEncoder(), VECTORS)
    words = arguments.sets or [_words(name, arguments.data) for name in SETS]
    rows = measure(
        [read_set(one, encoder, arguments.sample, arguments.seed) for one in words],
        draws=arguments.draws, seed=arguments.seed,
    )  # fmt: skip
    print(shown(rows))
    return rows


def _words(name: str, data: Path) -> list[str]:
    """A set as the command line would name it, with the twin of the shipped adapter that has not seen it."""
    words = [name, str(data / SETS[name])]
    if name not in TRAINED_ON:
        return words
    twin = shipped.HERE / "bench" / "out" / f"{shipped.VERSION}-without-{name}"
    if not twin.exists():
        shipped.main(["--data", str(data), "--without", name])
    return [*words, f"without={twin}"]


def read_set(words: Sequence[str], encoder: DiskCachedEncoder, sample: int | None, seed: int) -> SelfSet:
    """Read one set as the command line names it."""
    format, adapter, banks = read_banks(words, encoder, sample, seed)
    prior = adapter.importance.priors[kind_of(banks[-1].hot.state.statistics)]
    believes = believed(prior.weights, prior.bias, STRENGTH)
    streams = [labelled_in(bank, adapter) for bank in banks]
    lessons = [
        Lesson(one.z, one.side, credits_of(bank, one, adapter, believes, encoder), bank.stream.group)
        for bank, one in zip(banks, streams, strict=True)
    ]
    return SelfSet(format, believes, streams, lessons)


def credits_of(
    bank: FilledBank, labelled: Labelled, adapter: Adapter, prior: Posterior, encoder: Encoder
) -> list[Credit]:
    """What hindsight makes of one bank: its questions and their replies, and what its actions passed on."""
    stream = bank.stream
    written = sorted(bank.hot.memories(), key=lambda item: item.written)
    row_of = {item.id: row for row, item in enumerate(written)}
    texts = [item.text for item in written]
    sessions = [stream.sides[number].session for number in labelled.side.tolist()]
    told = Told(texts, sessions)
    importance = prior.logits(labelled.z)
    out: list[Credit] = []
    for question in stream.questions:
        cue = cue_of(question, encoder)
        candidates = bank.hot.candidates(cue, cue_terms(cue))
        logits = logits_of(cue, compute(cue, candidates).values, adapter.recall) / adapter.recall.temperature
        first = np.argsort(-logits, kind="stable")[:MOST]
        rows = np.array([row_of[candidates.items[place].id] for place in first.tolist()])
        lived = Lived(question.text, question.reply, rows, logits[first].astype(np.float64))
        if (credit := credited(told, lived, importance)) is not None:
            out.append(credit)
    if stream.kind == "tool_use":
        actions = {number for number, side in enumerate(stream.sides) if side.role is Role.ASSISTANT}
        said = [side.text for side in stream.sides]
        out += passed_on(texts, labelled.side.tolist(), said, actions, [side.session for side in stream.sides])
    return out


def measure(sets: Sequence[SelfSet], *, draws: int, seed: int) -> list[Row]:
    """Rows `evidence_kept` by prior, self and supervised, and `share_of_supervised_gain`."""
    rows: list[Row] = []
    means: dict[str, dict[str, float]] = {}
    names = [str(draw) for draw in range(draws)]
    for one in sets:
        found = [_draw(one, np.random.default_rng([seed, draw])) for draw in range(draws)]
        values = {method: [of[method] for of in found] for method in found[0]}
        drawn, free = (float(np.mean(values[name])) for name in ("drawn", "free"))
        values[SUPERVISED] = values["drawn" if drawn >= free else "free"]  # whichever does better: the stricter measure
        means[one.name] = {method: float(np.mean(values[method])) for method in METHODS}
        rows += [
            mean_of("evidence_kept", values[method], names, data=one.name, category=one.name, method=method,
                    budget=SHARE, unit="turns", level="turn")
            for method in METHODS
        ]  # fmt: skip
    return rows + _shares(means, draws)


def _shares(means: Mapping[str, Mapping[str, float]], draws: int) -> list[Row]:
    """Of each set with anything to gain; pooled, over those where evidence gains enough to be told from chance."""
    gains = {name: (of[SELF] - of[PRIOR], of[SUPERVISED] - of[PRIOR]) for name, of in means.items()}
    counted = [gain for gain in gains.values() if gain[1] >= LEAST_GAIN]
    pooled = {"all": (sum(gain for gain, _ in counted), sum(full for _, full in counted))}
    return [
        Row("share_of_supervised_gain", round(gain / full, 4), category=name, method=SELF, budget=SHARE, n=draws)
        for name, (gain, full) in (gains | pooled).items()
        if full > 0
    ]


def _draw(one: SelfSet, random: np.random.Generator) -> dict[str, float]:
    """One division of the conversations: evidence kept on the unseen half, by each head.

    What learns from evidence is drawn to the prior as in `adapt` ("drawn"), or as hindsight is ("free").
    """
    seen = divided(one.streams, random)
    known = [labelled for labelled in one.streams if labelled.stream.group in seen]
    tested = [labelled for labelled in one.streams if labelled.stream.group not in seen]
    z = np.concatenate([labelled.z for labelled in known])
    needed = np.concatenate([labelled.needed for labelled in known]).astype(np.float64)
    trust = np.concatenate([1.0 / np.bincount(labelled.side)[labelled.side] for labelled in known])
    size = len(one.prior.mean)
    strengths = {"drawn": np.full(size, ALL_AT_ONCE), "free": np.append(np.full(size - 1, STRENGTH), FREE)}
    learned = {
        name: rated(Posterior(one.prior.mean, np.diag(strength)), z, needed, trust)
        for name, strength in strengths.items()
    }
    lessons = [lesson for lesson in one.lessons if lesson.group in seen]
    heads = {PRIOR: one.prior, SELF: self_taught(one.prior, lessons), **learned}
    return {name: kept(tested, head) for name, head in heads.items()}


def shown(rows: Sequence[Row]) -> str:
    """A line a set: evidence kept by prior, self and supervised, and the share of the gain; then the pooled share."""
    of = {(row.category, row.method): row.value for row in rows if row.metric == "evidence_kept"}
    shares = {row.category: row.value for row in rows if row.metric == "share_of_supervised_gain"}
    lines = ["kept at 20 %".ljust(14) + "".join(cell.rjust(12) for cell in (*METHODS, "share"))]
    for name in dict.fromkeys(category for category, _ in of):
        share = f"{shares[name]:12.2f}" if name in shares else "-".rjust(12)
        lines.append(name.ljust(14) + "".join(f"{of[name, method]:12.3f}" for method in METHODS) + share)
    lines.append("all".ljust(14 + 36) + (f"{shares['all']:12.2f}" if "all" in shares else "-".rjust(12)))
    return "\n".join(lines)
