"""Recall: how much of a question's evidence is among the first memories that its cue recalls, beside baselines.

A memory is one side, or a piece of a long one; sides told in the same words are one memory, for every method alike.
"""

from __future__ import annotations

import random
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf

import numpy as np

from bench.streams import Key, Measured, add_stream_arguments, cross_fitted, measured, told_apart
from bench.table import Row, mean_of
from memory.engine import attention
from memory.engine.adapter import Adapter, RecallHead
from memory.engine.types import Floats, RecallLimits
from memory.engine.vector_adapter import VectorAdapter
from training.learner.banks import FilledBank, cue_terms, fill, pieces_of
from training.learner.recall_examples import RecallExample, recall_examples
from training.learner.recall_training import RecallTraining, logits_of, train_recall
from training.learner.streams import Stream
from training.learner.vector_training import VectorTraining, learn_with_vectors

DEPTHS = (5, 10, 20, 50)
PROMPT_TOKENS = (800, 400)  # what a bank hands on unless it is set otherwise, and half of it


@dataclass(frozen=True)
class Asked:
    """One question of one bank, with the scores of every memory by each method."""

    example: RecallExample
    bank: FilledBank
    sides_of: Sequence[Sequence[int]]  # by memory, in the order of the candidates: the sides that it holds
    scores: Mapping[str, Floats]
    injected: Mapping[int, Sequence[int]] = field(default_factory=dict)  # by budget in tokens: what our method hands on


@dataclass(frozen=True)
class Learned:
    """What a bank is read with."""

    head: RecallHead
    vector: VectorAdapter | None


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    add_stream_arguments(parser)
    parser.add_argument("--hidden", type=int, default=0, help="units of a trained interplay beside the linear head")
    parser.add_argument("--rank", type=int, default=0, help="train a vector adapter of that rank too (with --train)")


def run(arguments: Namespace) -> list[Row]:
    """Measure, print the pooled figures, return all rows."""
    what = measured(arguments)
    rows = measure(what, hidden=arguments.hidden, rank=arguments.rank)
    print(f"{what.encoder.encoded} texts encoded in {what.encoder.seconds:.0f} s, the others were at hand")
    print(shown(rows))
    return rows


def measure(what: Measured, hidden: int = 0, rank: int = 0) -> list[Row]:
    """The rows of all methods over what is measured."""
    asked = asked_of(what, hidden, rank)
    about = {"data": what.data, "adapter": adapter_of(what, rank)}
    return injected_rows(asked, **about) + rows_of(asked, **about)


def adapter_of(what: Measured, rank: int = 0) -> str:
    """How the rows name what recalled."""
    if not what.train:
        return what.adapter.version
    return f"trained on {len(what.train)}" + (f", vectors of rank {rank}" if rank else "")


def asked_of(what: Measured, hidden: int = 0, rank: int = 0) -> list[Asked]:
    """Every question over its own bank, scored by our head and by the baselines."""
    told: dict[Key, FilledBank] = {}

    def bank_of(stream: Stream) -> FilledBank:
        key = told_apart(stream)
        if key not in told:
            told[key] = fill(stream, pieces_of(stream, what.encoder), what.adapter)
        return told[key]

    @cache
    def examples_of(key: Key) -> list[RecallExample]:
        return recall_examples(told[key], what.encoder)

    def learn(streams: Sequence[Stream]) -> Learned:
        start = replace(what.adapter.recall, interplay=None)
        banks = [bank_of(stream) for stream in streams]
        if rank:
            vector, examples = learn_with_vectors(banks, what.encoder, VectorTraining(rank=rank))
        else:
            vector, examples = None, [one for stream in streams for one in examples_of(told_apart(stream))]
        return Learned(train_recall(examples, start, RecallTraining(hidden=hidden)), vector)

    shipped = Learned(what.adapter.recall, what.adapter.in_space(what.encoder.space.revision).vector)
    trained = cross_fitted(what, learn) if what.train else {}
    asked: list[Asked] = []
    for stream in what.test:
        bank, by = bank_of(stream), trained.get(stream.group, shipped)
        examples = recall_examples(bank, what.encoder, by.vector) if by.vector else examples_of(told_apart(stream))
        reader = replace(what.adapter, recall=by.head, vector=by.vector)
        asked += [_asked(one, bank, reader) for one in examples]
    return asked


def _asked(example: RecallExample, bank: FilledBank, reader: Adapter) -> Asked:
    candidates = bank.hot.candidates(example.cue, cue_terms(example.cue), by=reader.vector)
    place = {item.id: number for number, item in enumerate(candidates.items)}
    sides_of: list[list[int]] = [[] for _ in place]
    for side, memories in enumerate(bank.memories_of):
        for memory in memories:
            sides_of[place[memory]].append(side)
    chance = random.Random(example.question.id)
    scores = {
        "agora": logits_of(example, reader.recall),
        "random": np.array([chance.random() for _ in place], dtype=np.float32),
        "bm25": candidates.lexical,
        "cosine": candidates.cosine,
    }
    injected = {}
    for tokens in PROMPT_TOKENS:
        found = attention.recall(example.cue, candidates, reader, RecallLimits(tokens))
        injected[tokens] = [place[found.items[row].id] for row in found.chosen]
    return Asked(example, bank, sides_of, scores, injected)


def ranks(one: Asked, method: str, of: Callable[[int], int]) -> tuple[dict[int, int], list[int]]:
    """At which place each unit (a side, a session: `of` a side) is found first, and the memory that takes each place.

    The second piece of a side takes no place of its own. What a method never returns (its score is -inf) has no place.
    """
    at: dict[int, int] = {}
    order: list[int] = []
    taken: set[int] = set()
    for memory in np.argsort(-one.scores[method], kind="stable").tolist():
        sides = one.sides_of[memory]
        if not sides or np.isneginf(one.scores[method][memory]):
            continue
        if of(sides[0]) not in taken:
            taken.add(of(sides[0]))
            order.append(memory)
        for side in sides:
            at.setdefault(of(side), len(order))
    return at, order


def figures(one: Asked, method: str) -> dict[tuple[str, str], float]:
    """The question's metrics by (level, metric)."""
    stream = one.bank.stream
    number_of = {side.id: number for number, side in enumerate(stream.sides)}
    evidence = [number_of[side] for side in one.example.question.evidence]
    out: dict[tuple[str, str], float] = {}
    items = one.bank.hot.memories()
    for level, of in (("turn", lambda side: side), ("session", lambda side: stream.sides[side].session)):
        at, order = ranks(one, method, of)
        wanted = sorted({of(side) for side in evidence})
        places = [at.get(unit, inf) for unit in wanted]
        for depth in DEPTHS:
            hit = [place <= depth for place in places]
            out[level, f"any@{depth}"] = float(any(hit))
            out[level, f"all@{depth}"] = float(all(hit))
            out[level, f"mean@{depth}"] = float(np.mean(hit))
        out[level, "mrr"] = 1.0 / min(places)
        out[level, "ndcg@10"] = ndcg(places, 10)
        if level == "turn":
            out[level, "tokens@10"] = float(sum(items[memory].tokens for memory in order[:10]))
    return out


def ndcg(places: Sequence[float], depth: int) -> float:
    """Normalised discounted cumulative gain with binary gains (Järvelin and Kekäläinen 2002)."""
    gain = sum(1.0 / np.log2(place + 1) for place in places if place <= depth)
    best = sum(1.0 / np.log2(place + 1) for place in range(1, min(len(places), depth) + 1))
    return float(gain / best)


def rows_of(asked: Sequence[Asked], **about: str) -> list[Row]:
    """All metrics of all methods, pooled first, then by category."""
    groups = [one.example.group for one in asked]
    categories = sorted({one.example.question.category for one in asked})
    pooled: list[Row] = []
    by_category: list[Row] = []
    for method in asked[0].scores:
        found = [figures(one, method) for one in asked]
        for level, metric in found[0]:
            values = [figure[level, metric] for figure in found]
            pooled.append(mean_of(metric, values, groups, method=method, level=level, unit="turns", **about))
            for category in categories:
                rows = [i for i, one in enumerate(asked) if one.example.question.category == category]
                by_category.append(
                    mean_of(metric, [values[i] for i in rows], [groups[i] for i in rows], method=method, level=level,
                            unit="turns", category=category, **about)
                )  # fmt: skip
    return pooled + by_category


def injected_rows(asked: Sequence[Asked], **about: str) -> list[Row]:
    """How much of the evidence reaches the prompt within a budget in tokens, past the floor, in how many memories."""
    rows: list[Row] = []
    groups = [one.example.group for one in asked]
    for tokens in asked[0].injected:
        there: dict[str, list[float]] = {"mean": [], "all": [], "memories": []}
        for one in asked:
            held = {one.bank.stream.sides[side].id for row in one.injected[tokens] for side in one.sides_of[row]}
            evidence = one.example.question.evidence
            there["mean"].append(len(evidence & held) / len(evidence))
            there["all"].append(float(evidence <= held))
            there["memories"].append(float(len(one.injected[tokens])))
        for metric, values in there.items():
            line = mean_of(metric, values, groups, method="agora", level="injected", unit="tokens", **about)
            rows.append(replace(line, budget=tokens))
    return rows


SHOWN = (("turn", "mean@5"), ("turn", "mean@10"), ("turn", "all@10"), ("turn", "mrr"), ("turn", "tokens@10"),
         ("session", "any@5"), ("session", "all@5"))  # fmt: skip


def shown(rows: Sequence[Row]) -> str:
    """The pooled rows as a table for people."""
    pooled = {(row.method, row.level, row.metric): row for row in rows if row.category == "all"}
    lines = ["method".ljust(12) + "".join(f"{level} {metric}".rjust(25) for level, metric in SHOWN)]
    for method in dict.fromkeys(row.method for row in rows):
        cells = [pooled[method, level, metric] for level, metric in SHOWN]
        lines.append(method.ljust(12) + "".join(
            f"{cell.value:.3f} [{cell.low:.3f}, {cell.high:.3f}]".rjust(25) if cell.value < 10 else
            f"{cell.value:.0f}".rjust(25) for cell in cells))  # fmt: skip
    for row in rows:
        if row.level == "injected":
            within = f"[{row.low:.3f}, {row.high:.3f}]"
            lines.append(f"injected within {row.budget} tokens: {row.metric} {row.value:.3f} {within}")
    return "\n".join(lines)
