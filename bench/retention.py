"""Retention: how much of the evidence for later questions is still in a bank that could hold only a share of its past.

Sides are ranked by the engine's importance at the moment they were written, and leave by the engine's own eviction.
Of a long side, told in pieces, the most important piece counts, and the length of all. For agents' dialogues a bank of
five messages is filled message by message; a later use is a hit when what it passes on is still there.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np
import numpy.typing as npt

from bench.recall import DEPTHS, Asked, figures
from bench.streams import Key, Measured, add_stream_arguments, cross_fitted, measured, told_apart
from bench.table import Row, mean_of
from memory.engine.adapting import ranking
from memory.engine.features import NAMES as FEATURES
from memory.engine.features import identifiers
from memory.engine.importance import ImportanceHead, kind_of
from memory.engine.retention import RetentionPolicy, choose_evictions, policy_named
from memory.engine.types import Budget, Floats, MemoryItem, Role
from training.learner.banks import FilledBank, Piece, fill, pieces_of
from training.learner.importance_examples import ImportanceExamples, importance_examples
from training.learner.importance_training import train_importance
from training.learner.recall_examples import recall_examples
from training.learner.recall_training import logits_of
from training.learner.streams import Stream

BUDGETS = (0.1, 0.2, 0.3, 0.5)
WITHOUT_LIMIT = 2**40
MESSAGES, FAR = 5, 6  # of an agent's bank; how many messages back a far use looks
FACTS = ("numbers", "date_words", "proper_nouns", "first_person", "identifiers", "amounts")
AGAIN = ("agora", "random", "fifo", "longest")  # after whose evictions recall is measured


@dataclass(frozen=True)
class Ranked(RetentionPolicy):
    """A baseline: ranks worked out beforehand, by memory."""

    ranks: Mapping[UUID, float]
    kind = "ranked"

    @property
    def name(self) -> str:
        return self.kind

    def rank(self, memories: Sequence[MemoryItem], now: object) -> Floats:
        return np.array([self.ranks[memory.id] for memory in memories], dtype=np.float32)


@dataclass(frozen=True)
class Told:
    """A stream in a bank without limit, a memory a side, and what each method thinks of every side."""

    stream: Stream
    pieces: Sequence[Piece]
    bank: FilledBank
    sides: Sequence[MemoryItem]
    examples: ImportanceExamples
    policies: Mapping[str, RetentionPolicy]


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    add_stream_arguments(parser)
    parser.add_argument("--policy", help="of the method agora: importance, and latest for agents' dialogues")


def run(arguments: Namespace) -> list[Row]:
    """Measure, print the pooled figures, return all rows."""
    what = measured(arguments)
    rows = measure(what, arguments.policy)
    print(f"{what.encoder.encoded} texts encoded in {what.encoder.seconds:.0f} s, the others were at hand")
    print(shown(rows))
    return rows


def measure(what: Measured, policy: str | None = None) -> list[Row]:
    """The rows of all methods over what is measured."""
    kept: dict[Key, tuple[list[Piece], FilledBank, ImportanceExamples]] = {}

    def told_of(stream: Stream) -> tuple[list[Piece], FilledBank, ImportanceExamples]:
        key = told_apart(stream)
        if key not in kept:
            pieces = pieces_of(stream, what.encoder)
            bank = fill(stream, pieces, what.adapter)
            kept[key] = pieces, bank, importance_examples(bank)
        return kept[key]

    def learn(streams: Sequence[Stream]) -> ImportanceHead:
        examples = [told_of(stream)[2] for stream in streams if stream.evidence]
        return train_importance(examples, what.adapter.importance, _kind(told_of(streams[0])[1]))

    heads = cross_fitted(what, learn) if what.train else {}
    told = []
    for stream in what.test:
        head = heads.get(stream.group, what.adapter.importance)
        told.append(_told(stream, *told_of(stream), head, policy))
    adapter = f"trained on {len(what.train)}" if what.train else what.adapter.version
    about = {"data": what.data, "adapter": adapter}
    if any(stream.uses for stream in what.test):
        return _agent_rows(told, **about)
    return _kept_rows(told, **about) + _recall_rows(told, what, **about)


def _kind(bank: FilledBank) -> str:
    return kind_of(bank.hot.state.statistics)


def _told(
    stream: Stream, pieces: Sequence[Piece], bank: FilledBank, examples: ImportanceExamples, head: ImportanceHead,
    policy: str | None,
) -> Told:  # fmt: skip
    importance = _importance(bank, examples, head)
    number = {memory: row for row, memory in enumerate(_in_order(bank))}
    sides: list[MemoryItem] = []
    for place, memories in enumerate(bank.memories_of):
        first = bank.hot.get(memories[0])
        assert first is not None  # nothing has left
        said = stream.sides[place]
        tokens = sum(item.tokens for memory in memories if (item := bank.hot.get(memory)) is not None)
        best = max(float(importance[number[memory]]) for memory in memories)
        sides.append(
            replace(first, id=UUID(int=place), text=said.text, importance=best, tokens=tokens, written=place + 1)
        )
    return Told(stream, pieces, bank, sides, examples, _policies(sides, examples, policy, bool(stream.uses)))


def _in_order(bank: FilledBank) -> list[UUID]:
    marks = bank.hot.state.marks
    return sorted({memory for memories in bank.memories_of for memory in memories}, key=lambda m: marks[m].written)


def _importance(bank: FilledBank, examples: ImportanceExamples, head: ImportanceHead) -> npt.NDArray[np.float64]:
    """As the head would have scored each memory when it was written, in the order of writing."""
    kind = _kind(bank)
    prior = head.priors[kind]
    logits = examples.standardised(head, kind) @ prior.weights + prior.bias
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))


def _policies(
    sides: Sequence[MemoryItem], examples: ImportanceExamples, policy: str | None, agents: bool
) -> dict[str, RetentionPolicy]:
    """Our policy and the baselines; `density` counts facts, `user_first` keeps the user's longest."""
    facts = np.zeros(len(sides))
    columns = [FEATURES.index(name) for name in FACTS]
    for side, counts in zip(examples.side, np.expm1(examples.raw[:, columns]).sum(axis=1), strict=True):
        facts[side] += counts
    roles = [side.role for side in sides]
    others = {
        "random": policy_named("random"), "fifo": policy_named("fifo"), "longest": policy_named("longest"),
        "density": Ranked({side.id: float(facts[number]) for number, side in enumerate(sides)}),
    }  # fmt: skip
    if len(set(roles)) > 1 and Role.USER in roles and Role.OTHER not in roles:
        others["user_first"] = Ranked(
            {side.id: (1e6 if side.role is Role.USER else 0.0) + side.tokens for side in sides}
        )
    if agents:
        others["identifiers"] = Ranked({side.id: float(len(identifiers(side.text))) for side in sides})
    return {"agora": policy_named(policy or ("latest" if agents else "importance")), **others}


def kept_sides(told: Told, method: str, share: float, unit: str) -> set[int]:
    """Which sides are in the bank at the end, by number, when it could hold that share of all turns or tokens."""
    tokens = sum(side.tokens for side in told.sides)
    budget = (
        Budget(round(share * len(told.sides)), WITHOUT_LIMIT)
        if unit == "turns"
        else Budget(WITHOUT_LIMIT, round(share * tokens))
    )
    gone = choose_evictions(told.sides, budget, told.policies[method], told.sides[-1].at)
    return set(range(len(told.sides))) - {eviction.memory.int for eviction in gone}


def _kept_rows(all_told: Sequence[Told], **about: str) -> list[Row]:
    rows: list[Row] = []
    methods = list(dict.fromkeys(method for told in all_told for method in told.policies))
    for method in methods:
        for unit in ("turns", "tokens"):
            for share in BUDGETS:
                some: list[float] = []
                every: list[float] = []
                groups: list[str] = []
                for told in all_told:
                    if method not in told.policies:
                        continue
                    kept = {told.stream.sides[n].id for n in kept_sides(told, method, share, unit)}
                    for question in told.stream.questions:
                        there = len(question.evidence & kept) / len(question.evidence)
                        some.append(there)
                        every.append(float(there == 1))
                        groups.append(told.stream.group)
                line = {"method": method, "unit": unit, "budget": share, "level": "turn", **about}
                rows += [
                    mean_of("evidence_kept", some, groups, **line),
                    mean_of("all_evidence_kept", every, groups, **line),
                ]
        rows.append(_auc_row(all_told, method, **about))
    return rows


def _auc_row(all_told: Sequence[Told], method: str, **about: str) -> Row:
    values, groups = [], []
    for told in all_told:
        if method in told.policies:
            ranks = told.policies[method].rank(told.sides, told.sides[-1].at)
            needed = np.array([side.id in told.stream.evidence for side in told.stream.sides])
            values.append(ranking(np.asarray(ranks, dtype=np.float64), needed))
            groups.append(told.stream.group)
    return mean_of("auc", values, groups, method=method, level="turn", unit="turns", **about)


def _recall_rows(all_told: Sequence[Told], what: Measured, **about: str) -> list[Row]:
    """Recall by the same head over the whole bank, and over what is left of it; evidence that is gone is missed."""
    rows: list[Row] = []
    for method, share in (("full", 1.0), *((method, share) for method in AGAIN for share in (0.2, 0.5))):
        values: list[float] = []
        groups: list[str] = []
        for told in all_told:
            kept = set(range(len(told.sides))) if method == "full" else kept_sides(told, method, share, "turns")
            values += _recalled(told, what, kept)
            groups += [told.stream.group] * len(told.stream.questions)
        rows.append(
            mean_of("mean@10", values, groups, method=method, level="turn", unit="turns", budget=share, **about)
        )
    return rows


def _recalled(told: Told, what: Measured, kept: set[int]) -> list[float]:
    """mean@10 of each question of the stream when only the sides in `kept` are in the bank."""
    left = [piece for piece in told.pieces if piece.side in kept]
    ids = {told.stream.sides[number].id for number in kept}
    questions = [replace(question, evidence=question.evidence & ids) for question in told.stream.questions]
    there = [question for question in questions if question.evidence]
    found: dict[str, float] = {}
    if there:
        stream = replace(told.stream, questions=there)
        bank = fill(stream, left, what.adapter)
        for example in recall_examples(bank, what.encoder, what.adapter.in_space(what.encoder.space.revision).vector):
            sides_of: list[list[int]] = [[] for _ in bank.hot.memories()]
            place = {item.id: number for number, item in enumerate(bank.hot.memories())}
            for side, memories in enumerate(bank.memories_of):
                for memory in memories:
                    sides_of[place[memory]].append(side)
            one = Asked(example, bank, sides_of, {"agora": logits_of(example, what.adapter.recall)})
            found[example.question.id] = figures(one, "agora")["turn", f"mean@{DEPTHS[1]}"]
    return [
        found.get(now.id, 0.0) * len(now.evidence) / len(before.evidence)
        for now, before in zip(questions, told.stream.questions, strict=True)
    ]


def _agent_rows(all_told: Sequence[Told], **about: str) -> list[Row]:
    rows: list[Row] = []
    for method in dict.fromkeys(method for told in all_told for method in told.policies):
        hits: list[float] = []
        far: list[float] = []
        groups: list[str] = []
        far_groups: list[str] = []
        for told in all_told:
            for back, hit in used(told, method):
                hits.append(hit)
                groups.append(told.stream.group)
                if back > FAR:
                    far.append(hit)
                    far_groups.append(told.stream.group)
        line = {"method": method, "unit": "messages", "budget": float(MESSAGES), "level": "turn", **about}
        rows.append(mean_of("later_uses_hit", hits, groups, **line))
        if far:
            rows.append(mean_of("far_uses_hit", far, far_groups, **line))
    return rows


def used(told: Told, method: str) -> list[tuple[int, float]]:
    """For each later use: how many messages back its source is, and 1.0 if that is still in the bank of five."""
    sources: dict[int, list[int]] = {}
    for use in told.stream.uses:
        sources.setdefault(use.at, []).append(use.source)
    held: list[MemoryItem] = []
    out: list[tuple[int, float]] = []
    for number, side in enumerate(told.sides):
        there = {memory.id.int for memory in held}
        out += [(number - source, float(source in there)) for source in sources.get(number, ())]
        held.append(side)
        gone = choose_evictions(held, Budget(MESSAGES, WITHOUT_LIMIT), told.policies[method], side.at)
        left = {eviction.memory for eviction in gone}
        held = [memory for memory in held if memory.id not in left]
    return out


def shown(rows: Sequence[Row]) -> str:
    """The main rows as a table for people."""
    main: list[tuple[str, Callable[[Row], bool]]] = [
        ("20 % turns", lambda row: row.metric == "evidence_kept" and row.unit == "turns" and row.budget == 0.2),
        ("20 % tokens", lambda row: row.metric == "evidence_kept" and row.unit == "tokens" and row.budget == 0.2),
        ("auc", lambda row: row.metric == "auc"),
        ("mean@10 at 50 %", lambda row: row.metric == "mean@10" and row.budget in (0.5, 1.0)),
        ("uses", lambda row: row.metric == "later_uses_hit"),
        ("far uses", lambda row: row.metric == "far_uses_hit"),
    ]
    there = [(name, fits) for name, fits in main if any(map(fits, rows))]
    lines = ["method".ljust(12) + "".join(name.rjust(24) for name, _ in there)]
    for method in dict.fromkeys(row.method for row in rows):
        cells = [next((row for row in rows if row.method == method and fits(row)), None) for _, fits in there]
        lines.append(method.ljust(12) + "".join(
            f"{cell.value:.3f} [{cell.low:.3f}, {cell.high:.3f}]".rjust(24) if cell else "".rjust(24)
            for cell in cells))  # fmt: skip
    return "\n".join(lines)
