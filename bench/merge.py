"""Merging: what a bank that merges runs still holds of later questions' evidence, and what reaches the reader.

Each stream is told turn by turn to a bank under a budget, as the chat tells one. A merged memory counts for all of its
parts (`evidence_kept`, `mean@10`); since it costs more tokens to hand on and leaves words out, there are also the
`tokens@10`, the evidence among what fits 500 tokens, and how much of the evidence's own words is kept and handed on.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.streams import Measured, add_stream_arguments, measured
from bench.table import Row, mean_of
from memory.engine import signals
from memory.engine.attention import logits_of
from memory.engine.lexical import terms
from memory.engine.replay import UNBOUNDED
from memory.engine.retention import policy_named
from memory.engine.types import Budget, MemoryItem
from training.learner.banks import FilledBank, cue_of, cue_terms, fill, pieces_of
from training.learner.streams import Question

POLICIES = ("importance", "merge+importance", "merge(similarity=0.5)+importance", "merge(share=1.0)+importance")
BUDGETS = (0.2, 0.5)
FIRST, TOKENS = 10, 500
SHOWN = ("evidence_kept", "words_kept", "mean@10", "tokens@10", "mean@500t", "words@500t", "bank_tokens")


@dataclass(frozen=True)
class Held:
    """A bank at the end of its stream: by side number the held memories with its words, and the items in order."""

    bank: FilledBank
    items: Sequence[MemoryItem]
    of_side: Sequence[Sequence[int]]
    tokens: float  # share of all


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    add_stream_arguments(parser)
    parser.add_argument("--policies", nargs="+", default=POLICIES, metavar="POLICY")


def run(arguments: Namespace) -> list[Row]:
    """Measure, print the figures, return all rows."""
    what = measured(arguments)
    rows = measure(what, arguments.policies)
    print(shown(rows))
    return rows


def measure(what: Measured, policies: Sequence[str]) -> list[Row]:
    """The rows of all policies under budgets in turns and in tokens."""
    streams = [(stream, pieces_of(stream, what.encoder)) for stream in what.test]
    full = [fill(stream, pieces, what.adapter) for stream, pieces in streams]
    rows: list[Row] = []
    for unit in ("turns", "tokens"):
        for share in BUDGETS:
            for name in policies:
                found: list[Mapping[str, float]] = []
                groups: list[str] = []
                for (stream, pieces), whole in zip(streams, full, strict=True):
                    state = whole.hot.state
                    budget = (
                        Budget(round(share * state.held), UNBOUNDED.tokens)
                        if unit == "turns"
                        else Budget(UNBOUNDED.memories, round(share * state.held_tokens))
                    )
                    bank = fill(stream, pieces, what.adapter, policy=policy_named(name), budget=budget)
                    held = held_of(bank, bank.hot.state.held_tokens / state.held_tokens)
                    found += [figures_of(held, question, what) for question in stream.questions]
                    groups += [stream.group] * len(stream.questions)
                line = {"method": name, "level": "turn", "unit": unit, "budget": share, "data": what.data,
                        "adapter": what.adapter.version}  # fmt: skip
                rows += [mean_of(metric, [one[metric] for one in found], groups, **line) for metric in SHOWN]
    return rows


def held_of(bank: FilledBank, tokens: float) -> Held:
    items = list(bank.hot.memories())
    place = {item.id: number for number, item in enumerate(items)}
    return Held(bank, items, [[place[m] for m in memories if m in place] for memories in bank.memories_of], tokens)


def figures_of(held: Held, question: Question, what: Measured) -> dict[str, float]:
    sides = held.bank.stream.sides
    evidence = [number for number, side in enumerate(sides) if side.id in question.evidence]
    cue = cue_of(question, what.encoder)
    candidates = held.bank.hot.candidates(cue, cue_terms(cue))
    logits = logits_of(cue, signals.compute(cue, candidates).values, what.adapter.recall)
    order: list[int] = np.argsort(-logits, kind="stable").tolist()
    first, fitting = set(order[:FIRST]), _fitting(held.items, order)
    words = [_share_of_words(held, sides[side].text, side) for side in evidence]
    there = [float(any(memory in fitting for memory in held.of_side[side])) for side in evidence]
    return {
        "evidence_kept": float(np.mean([bool(held.of_side[side]) for side in evidence])),
        "words_kept": float(np.mean(words)),
        "mean@10": float(np.mean([any(memory in first for memory in held.of_side[side]) for side in evidence])),
        "tokens@10": float(sum(held.items[memory].tokens for memory in first)),
        "mean@500t": float(np.mean(there)),
        "words@500t": float(np.mean(np.array(there) * words)),
        "bank_tokens": held.tokens,
    }


def _fitting(items: Sequence[MemoryItem], order: Sequence[int]) -> set[int]:
    """The best that fit the tokens; one that is too long does not stop the next."""
    chosen: set[int] = set()
    room = TOKENS
    for memory in order:
        if items[memory].tokens <= room:
            chosen.add(memory)
            room -= items[memory].tokens
    return chosen


def _share_of_words(held: Held, text: str, side: int) -> float:
    own = set(terms(text))
    kept = {word for memory in held.of_side[side] for word in terms(held.items[memory].text)}
    return len(own & kept) / max(1, len(own))


def shown(rows: Sequence[Row]) -> str:
    """The figures as a table for people."""
    lines = ["budget".ljust(14) + "policy".ljust(44) + "".join(metric.rjust(15) for metric in SHOWN)]
    for unit, budget, method in dict.fromkeys((row.unit, row.budget, row.method) for row in rows):
        cells = {row.metric: row.value for row in rows if (row.unit, row.budget, row.method) == (unit, budget, method)}
        figures = (f"{cells[metric]:.3f}" if cells[metric] < 10 else f"{cells[metric]:.0f}" for metric in SHOWN)
        lines.append(f"{budget:.0%} {unit}".ljust(14) + method.ljust(44) + "".join(one.rjust(15) for one in figures))
    return "\n".join(lines)
