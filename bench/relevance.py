"""Relevance: what judgements of recalled memories teach the recall head, on conversations it did not learn from.

The champion recalls for every question of a set. What it hands on is judged as people would: what holds evidence fits,
the rest does not, and one judgement in ten is wrong. A training run learns from the questions of half of the
conversations; champion and challenger are measured on the other half. LoCoMo is read for measuring alone: nothing
learned here is kept.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from uuid import UUID

import numpy as np
import numpy.typing as npt

from bench.adapt import read_banks
from bench.recall import Asked, ranks
from bench.streams import VECTORS
from bench.table import Row, mean_of
from memory.engine import attention
from memory.engine.adapter import Adapter
from memory.engine.encoder import Encoder, SentenceEncoder
from memory.engine.types import RecallLimits, Recollection
from training.learner.banks import FilledBank, cue_terms
from training.learner.cues import Cues
from training.learner.dataset import Dataset
from training.learner.failures import ClassMissing, TooFewConversations, TooFewLabels
from training.learner.recall_examples import MODES, RecallExample, recall_examples
from training.learner.recall_training import logits_of
from training.learner.shared_head import HowToLearn
from training.learner.training import Outcome, train
from training.learner.vectors import DiskCachedEncoder

TOKENS = 800  # that a recall hands on
A_CONVERSATION = 5  # questions that count as one conversation: a set has few, a run wants ten
CONFIDENCE = 0.95
DEPTH = 10


@dataclass(frozen=True)
class Question:
    """One question of a bank: the signals of all memories, and what the champion's recall made of them."""

    example: RecallExample
    bank: FilledBank
    sides_of: Sequence[Sequence[int]]
    found: Recollection
    fitting: npt.NDArray[np.bool_]  # of its rows
    champion: float  # share of evidence among its first ten


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    parser.add_argument(
        "--set", action="append", nargs="+", required=True, metavar=("FORMAT", "FILE"), dest="sets",
        help="a set: its format, its files, and with without=FOLDER the adapter that was trained without it",
    )  # fmt: skip
    parser.add_argument("--cues", type=int, nargs="+", default=[100, 1_000_000], help="judged questions of a run")
    parser.add_argument("--flipped", type=float, default=0.1, help="share of the judgements that is wrong")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--sample", type=int, metavar="N", help="of every set only so many conversations")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: Namespace) -> list[Row]:
    """Measure every set; prints a line for each number of cues."""
    encoder = DiskCachedEncoder(SentenceEncoder(), VECTORS)
    rows: list[Row] = []
    for words in arguments.sets:
        name, adapter, banks = read_banks(words, encoder, arguments.sample, arguments.seed)
        asked = [one for bank in banks for one in questions_of(bank, adapter, encoder)]
        for size in arguments.cues:
            for control in (False, True):
                found = measure(
                    asked, adapter, size=size, flipped=arguments.flipped, draws=arguments.draws, seed=arguments.seed,
                    control=control, data=name,
                )  # fmt: skip
                print("\n".join(shown(found)), flush=True)
                rows += found
    return rows


def questions_of(bank: FilledBank, adapter: Adapter, encoder: Encoder) -> list[Question]:
    """Every question of a bank as the champion recalls for it."""
    out: list[Question] = []
    for example in recall_examples(bank, encoder):
        candidates = bank.hot.candidates(example.cue, cue_terms(example.cue))
        place = {item.id: number for number, item in enumerate(candidates.items)}
        sides_of: list[list[int]] = [[] for _ in place]
        for side, memories in enumerate(bank.memories_of):
            for memory in memories:
                sides_of[place[memory]].append(side)
        found = attention.recall(example.cue, candidates, adapter, RecallLimits(TOKENS))
        fitting = np.array([example.target[place[item.id]] > 0 for item in found.items], dtype=bool)
        before = among_first(example, bank, sides_of, adapter)
        out.append(Question(example, bank, sides_of, found, fitting, before))
    return out


def judged(asked: Sequence[Question], flipped: float, random: np.random.Generator) -> Cues:
    """What somebody says of all that was handed on for these questions."""
    sizes = [len(one.found.items) for one in asked]
    shown = np.concatenate([_chosen(one.found) for one in asked])
    truth = np.concatenate([one.fitting for one in asked])
    value = truth ^ (random.random(len(truth)) < flipped)
    streams = sorted({one.example.group for one in asked})
    numbers: dict[str, int] = {}
    group = []
    for one in asked:
        number = numbers[one.example.group] = numbers.get(one.example.group, -1) + 1
        group.append(streams.index(one.example.group) * 10_000 + number // A_CONVERSATION)
    ids = [item.id.bytes for one in asked for item in one.found.items]
    return Cues(
        signals=np.concatenate([one.found.signals for one in asked]),
        fit=np.concatenate([one.found.fit for one in asked]),
        value=value * shown * 1.0, weight=shown * 1.0, shown=shown, cue=np.repeat(np.arange(len(asked)), sizes),
        memory=np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(-1, 16),
        mode=np.array([MODES.index(one.example.mode) for one in asked]), group=np.array(group),
        turn=np.array([list(UUID(int=number).bytes) for number in range(len(asked))], dtype=np.uint8),
    )  # fmt: skip


def _chosen(found: Recollection) -> npt.NDArray[np.bool_]:
    return np.isin(np.arange(len(found.items)), list(found.chosen))


def measure(
    asked: Sequence[Question], adapter: Adapter, *, size: int, flipped: float, draws: int, seed: int, control: bool,
    data: str,
) -> list[Row]:  # fmt: skip
    """Rows `mean@10` of champion, challenger (where one was learned) and what would serve, on unseen conversations;
    `gain` of the latter two, also where the champion handed anything on (a cue of which nothing was shown is never
    judged); and `promoted`, in how many draws. The interval is over conversations.

    With `control` the judgements are shuffled among what was handed on: nothing may be promoted.
    """
    values: dict[str, list[float]] = {"champion": [], "challenger": [], "served": []}
    groups: list[str] = []
    answered: list[bool] = []
    promoted = 0
    for draw in range(draws):
        random = np.random.default_rng([seed, draw])
        names = sorted({one.example.group for one in asked})
        seen = set(random.permutation(names)[: max(1, len(names) // 2)].tolist())
        known = [one for one in asked if one.example.group in seen and one.found.chosen]
        chosen = sorted(random.permutation(len(known))[:size].tolist())
        cues = judged([known[at] for at in chosen], flipped, random)
        if control:
            value = cues.value.copy()
            value[cues.judged] = random.permutation(value[cues.judged])
            cues = replace(cues, value=value)
        outcome = learned(cues, adapter, draw)
        better = outcome is not None and outcome.evaluation.verdict(CONFIDENCE) == "better"
        challenger = outcome.challenger if outcome is not None and outcome.challenger is not None else adapter
        promoted += better
        tested = [one for one in asked if one.example.group not in seen]
        before = [one.champion for one in tested]
        after = before if challenger is adapter else [
            among_first(one.example, one.bank, one.sides_of, challenger) for one in tested
        ]  # fmt: skip
        values["champion"] += before
        values["challenger"] += after
        values["served"] += after if better else before
        groups += [one.example.group for one in tested]
        answered += [bool(one.found.chosen) for one in tested]
    about = {"data": data, "size": size, "category": "shuffled" if control else "all", "level": "turn"}
    rows = [mean_of(f"mean@{DEPTH}", of, groups, method=method, unit="cues", **about) for method, of in values.items()]
    for method in ("challenger", "served"):
        gain = [after - before for before, after in zip(values["champion"], values[method], strict=True)]
        rows.append(mean_of("gain", gain, groups, method=method, unit="cues", **about))
        part = [(one, group) for one, group, given in zip(gain, groups, answered, strict=True) if given]
        names = [group for _one, group in part]
        rows.append(mean_of("gain_where_shown", [one for one, _ in part], names, method=method, unit="cues", **about))
    return [*rows, Row("promoted", promoted / draws, n=draws, unit="cues", **about)]  # type: ignore[arg-type]


def learned(cues: Cues, adapter: Adapter, seed: int) -> Outcome | None:
    """A run from these cues alone; None where there are too few."""
    none = np.zeros(0)
    width = len(next(iter(adapter.importance.priors.values())).weights)
    whole = np.zeros(0, dtype=np.int64)
    nothing = Dataset(np.zeros((0, width)), none, none, whole, whole, whole, np.zeros((0, 16), dtype=np.uint8))
    try:
        return train(nothing, adapter, how=HowToLearn(seed), cues=cues)
    except (TooFewLabels, TooFewConversations, ClassMissing):
        return None


def among_first(example: RecallExample, bank: FilledBank, sides_of: Sequence[Sequence[int]], adapter: Adapter) -> float:
    """The share of a question's evidence among the first ten sides that the adapter ranks."""
    at, _order = ranks(Asked(example, bank, sides_of, {"": logits_of(example, adapter.recall)}), "", lambda side: side)
    number_of = {side.id: number for number, side in enumerate(bank.stream.sides)}
    return float(np.mean([at.get(number_of[side], inf) <= DEPTH for side in sorted(example.question.evidence)]))


def shown(rows: Sequence[Row]) -> list[str]:
    """A line for people."""
    of = {(row.metric, row.method): row for row in rows}
    gains = [of[metric, method] for method in ("challenger", "served") for metric in ("gain", "gain_where_shown")]
    told = ", ".join(
        f"{gain.method} {gain.metric} {gain.value:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]" for gain in gains
    )
    first = rows[0]
    return [
        f"{first.data} {first.category}, up to {first.size:,} cues: champion {first.value:.4f}; {told}; "
        f"promoted in {of['promoted', 'agora'].value:.0%} of {of['promoted', 'agora'].n}"
    ]
