"""Summaries: what a bank still holds and hands on once the sessions that left it are summed up, each in one memory.

Each stream is told turn by turn to a bank under a budget; at its end each session's evicted memories are summed up, and
the policy brings the bank under its budget again. The figures are those of the bench `merge`.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import defaultdict

from bench.merge import BUDGETS, SHOWN, figures_of, held_of, shown
from bench.streams import Measured, add_stream_arguments, measured
from bench.table import Row, mean_of
from memory.engine.bank import BankEvent, Kind
from memory.engine.hot import Loaded
from memory.engine.lexical import terms
from memory.engine.replay import UNBOUNDED
from memory.engine.retention import RetentionPolicy, choose_evictions, policy_named
from memory.engine.summaries import can_sum_up, new_item, new_side, summary_of
from memory.engine.types import Budget, MemoryItem
from training.learner.banks import FilledBank, fill, pieces_of

METHODS = ("evicted", "summed up")


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    add_stream_arguments(parser)


def run(arguments: Namespace) -> list[Row]:
    """Measure, print the figures, return all rows."""
    rows = measure(measured(arguments))
    print(shown(rows))
    return rows


def measure(what: Measured) -> list[Row]:
    """The rows with and without summaries under budgets in turns and in tokens."""
    policy = policy_named("importance")
    streams = [(stream, pieces_of(stream, what.encoder)) for stream in what.test]
    full = [fill(stream, pieces, what.adapter) for stream, pieces in streams]
    rows: list[Row] = []
    for unit in ("turns", "tokens"):
        for share in BUDGETS:
            for method in METHODS:
                found, groups = [], []
                for (stream, pieces), whole in zip(streams, full, strict=True):
                    state = whole.hot.state
                    budget = (
                        Budget(round(share * state.held), UNBOUNDED.tokens)
                        if unit == "turns"
                        else Budget(UNBOUNDED.memories, round(share * state.held_tokens))
                    )
                    bank = fill(stream, pieces, what.adapter, policy=policy, budget=budget)
                    if method == "summed up":
                        bank = summed_up(bank, whole, budget, policy)
                    held = held_of(bank, bank.hot.state.held_tokens / state.held_tokens)
                    found += [figures_of(held, question, what) for question in stream.questions]
                    groups += [stream.group] * len(stream.questions)
                line = {"method": method, "level": "turn", "unit": unit, "budget": share, "data": what.data,
                        "adapter": what.adapter.version}  # fmt: skip
                rows += [mean_of(metric, [one[metric] for one in found], groups, **line) for metric in SHOWN]
    return rows


def summed_up(bank: FilledBank, whole: FilledBank, budget: Budget, policy: RetentionPolicy) -> FilledBank:
    """The bank with a summary of what has left of each session, as far as the policy keeps it; `whole` has all."""
    hot, seq = bank.hot, bank.hot.state.seq
    now = max(item.at for item in whole.hot)
    events: list[BankEvent] = []
    loaded: dict[object, Loaded] = {}
    made: list[tuple[MemoryItem, tuple[MemoryItem, ...]]] = []
    for items in _left(bank, whole):
        summary = summary_of(items, whole.hot.vectors([item.id for item in items]))
        if summary is None:
            continue
        parts = summary.run.parts
        side = new_side(summary, whole.hot.vectors([part.id for part in parts]), seq + len(events) + 1)
        item = new_item(summary, side)
        data = {"tokens": item.tokens, "importance": item.importance, "adapter": "", "role": item.role.value}
        events.append(BankEvent(seq + len(events) + 1, Kind.WRITTEN, now, item.id, data))
        loaded[item.id] = Loaded(item, side.vector, side.content, terms(side.text))
        made.append((item, parts))
    hot.apply(events, loaded)  # type: ignore[arg-type]
    leaving = {one.memory for one in choose_evictions(list(hot), budget, policy, now)}
    first = hot.state.seq + 1
    hot.apply([BankEvent(first + n, Kind.EVICTED, now, one, {"reason": "budget"}) for n, one in enumerate(leaving)], {})
    memories_of = [[memory for memory in memories if memory not in leaving] for memories in bank.memories_of]
    side_of = {memory: side for side, memories in enumerate(whole.memories_of) for memory in memories}
    for item, parts in made:
        if item.id not in leaving:
            for part in parts:
                memories_of[side_of[part.id]].append(item.id)
    return FilledBank(bank.stream, hot, memories_of)


def _left(bank: FilledBank, whole: FilledBank) -> list[list[MemoryItem]]:
    sessions: dict[int, list[MemoryItem]] = defaultdict(list)
    for item in whole.hot.memories():
        if bank.hot.get(item.id) is None and can_sum_up(item):
            sessions[item.place.session].append(item)
    return [sorted(items, key=lambda item: (item.place.position, item.piece)) for items in sessions.values()]
