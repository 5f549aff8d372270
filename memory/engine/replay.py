"""The policy lab: a stored conversation told again to private banks, one a policy, beside one that never evicts.

What the unbounded bank recalls for a turn is what the turn needs; what of it a policy's bank does not hold any more is
a miss. The needs are found once, by one adapter: banks under other adapters are counted against the same. Nothing
outside the private banks changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memory.engine import attention
from memory.engine.adapter import Adapter
from memory.engine.bank import BankEvent, Kind
from memory.engine.features import Context
from memory.engine.hot import HotBank, Loaded
from memory.engine.lexical import terms
from memory.engine.remember import Planner
from memory.engine.retention import RetentionPolicy, policy_named
from memory.engine.types import Budget, Cue, MemoryItem, NewSide, RecallLimits, Recollected, State

UNBOUNDED = Budget(2**31, 2**53)
CUE_TERMS = 256

Step = Callable[[float], None]  # told the share of the work that is done; what it raises ends the work


def unheard(share: float) -> None:
    """Nobody wants to know how far it is."""


@dataclass(frozen=True)
class ReplayTurn:
    """One turn of the conversation: what it asks the bank (None for nothing), and what it tells it."""

    turn: UUID
    ordinal: int
    at: datetime
    cue: Cue | None
    sides: Sequence[tuple[NewSide, Context]]


@dataclass(frozen=True)
class Need:
    """A memory that a bank which never forgets recalled for a turn."""

    memory: MemoryItem
    fit: float
    weight: float
    sides: tuple[UUID, ...]  # that had told it by then


@dataclass(frozen=True)
class Miss:
    """A memory that a turn would have recalled, had it not left before."""

    ordinal: int  # of the turn that would have recalled it
    memory: MemoryItem
    fit: float
    weight: float
    left: int  # ordinal of the turn that made it leave


@dataclass
class Replayed:
    """What became of the conversation under one policy."""

    policy: RetentionPolicy
    kept: list[MemoryItem] = field(default_factory=list)
    written: int = 0
    evicted: int = 0
    merged: int = 0  # of the written, those that are parts of merged memories and no longer held by themselves
    recalled: int = 0  # memories that the unbounded bank recalled, over all turns
    wanted: float = 0.0  # the weight that these had, over all turns
    misses: list[Miss] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        return sum(memory.tokens for memory in self.kept)

    @property
    def regretted(self) -> int:
        """How many memories left and were missed later, each counted once."""
        return len({miss.memory.id for miss in self.misses})


class PrivateBank:
    """A bank of nobody's: it is told turns, and recalls, as any bank."""

    def __init__(
        self, width: int, budget: Budget, policy: RetentionPolicy, adapter: Adapter, began: datetime,
        evict_at: float = 1.0,
    ) -> None:  # fmt: skip
        self.hot, self.policy, self._adapter = HotBank(width), policy, adapter
        self.memory_of: dict[UUID, UUID] = {}  # side told (by its id): the memory that holds it
        self.told_by: dict[UUID, list[UUID]] = {}  # the other way round
        self.left: dict[UUID, int] = {}  # memory: ordinal of the turn at which it left last
        self._known: dict[UUID, Loaded] = {}
        self._archived: dict[bytes, MemoryItem] = {}
        configuration = {
            "memories": budget.memories, "tokens": budget.tokens, "policy": policy.name, "evict_at": evict_at,
            "unit": policy.unit,
        }  # fmt: skip
        self.hot.apply([BankEvent(1, Kind.CONFIGURED, began, None, configuration)], {})

    @property
    def marked_by_recalls(self) -> bool:
        """Whether what it recalls can change what it keeps: merged memories are numbered by the events before them."""
        return self.policy.by_use or self.policy.merging is not None

    def holds(self, side: UUID) -> bool:
        """Whether what was told in that side is in the bank."""
        return self.holding(side) is not None

    def holding(self, side: UUID) -> UUID | None:
        """The held memory that has what was told in that side: its own, or one that it was merged into."""
        memory = self.memory_of.get(side)
        if memory is None:
            return None
        merged = self.hot.state.marks[memory].into
        return next((one for one in (memory, merged) if one is not None and self.hot.get(one) is not None), None)

    def left_at(self, side: UUID) -> int:
        """Ordinal of the turn at which what was told in that side left the bank last, 0 for never."""
        memory = self.memory_of[side]
        merged = self.hot.state.marks[memory].into
        return max(self.left.get(memory, 0), self.left.get(merged, 0) if merged else 0)

    def tell(self, turn: ReplayTurn) -> None:
        """Remember a turn, and evict what then is too much."""
        planner = Planner(self.hot, self._adapter, self.policy, turn.at)
        planner.look_up([side for side, _context in turn.sides])
        for side, context in turn.sides:
            planner.take(side, context, self._archived)
        gone = planner.evict()
        for write in planner.plan.writes:
            self._known[write.item.id] = Loaded(write.item, write.new.vector, write.new.content, write.words)
        for memory, side, _how in planner.plan.sources:
            self.memory_of[side.id] = memory
            self.told_by.setdefault(memory, []).append(side.id)
        self.hot.apply(planner.plan.events, self._known)
        self._follow(planner.plan.events, gone, turn.ordinal)

    def _follow(self, events: Sequence[BankEvent], gone: Mapping[bytes, MemoryItem], ordinal: int) -> None:
        """Keep in mind what left and what came back. By what has happened alone: the archive grows with every turn."""
        marks = self.hot.state.marks
        self._archived |= gone
        self.left |= {one.memory: ordinal for one in events if one.kind is Kind.EVICTED and one.memory}
        touched = {self._known[one.memory].content for one in events if one.memory is not None}
        for content in touched | gone.keys():
            item = self._archived.get(content)
            if item is not None and marks[item.id].state is not State.ARCHIVED:
                del self._archived[content]

    def recall(self, cue: Cue, words: Sequence[str], limits: RecallLimits) -> list[Recollected]:
        """What the cue, of these `words`, recalls, best first; the bank notes it, as policies that look at use need."""
        candidates = self.hot.candidates(cue, words, by=self._adapter.vector)
        found = attention.recall(cue, candidates, self._adapter, limits).injected
        if found:
            data = {"memories": [str(row.item.id) for row in found], "weights": [row.weight for row in found]}
            self.hot.apply([BankEvent(self.hot.state.seq + 1, Kind.RECALLED, cue.at, None, data)], {})
        return list(found)


def needs_of(
    turns: Sequence[ReplayTurn], *, adapter: Adapter, width: int, limits: RecallLimits, step: Step = unheard
) -> list[list[Need]]:
    """What each of `turns` needs, told in their order: what a bank that never evicts recalls for it by `adapter`."""
    if not turns:
        return []
    everything = PrivateBank(width, UNBOUNDED, policy_named("fifo"), adapter, turns[0].at)
    needs: list[list[Need]] = []
    for number, turn in enumerate(turns, 1):
        found = everything.recall(turn.cue, _words(turn.cue), limits) if turn.cue is not None else []
        needs.append(
            [Need(row.item, row.fit, row.weight, tuple(everything.told_by[row.item.id]))
             for row in found if row.group != "below"]
        )  # fmt: skip
        everything.tell(turn)
        step(number / len(turns))
    return needs


def replay_turns(
    turns: Sequence[ReplayTurn], policies: Sequence[RetentionPolicy], budget: Budget, *, adapter: Adapter, width: int,
    limits: RecallLimits, evict_at: float = 1.0,
) -> list[Replayed]:  # fmt: skip
    """Tell `turns` in their order to a bank of each policy; vectors are (`width`,). Their needs are by `adapter`."""
    needs = needs_of(turns, adapter=adapter, width=width, limits=limits)
    banks = [(policy, budget) for policy in policies]
    return replay_banks(turns, needs, banks, adapter=adapter, width=width, limits=limits, evict_at=evict_at)


def replay_banks(
    turns: Sequence[ReplayTurn], needs: Sequence[Sequence[Need]], asked: Sequence[tuple[RetentionPolicy, Budget]], *,
    adapter: Adapter, width: int, limits: RecallLimits, evict_at: float = 1.0, step: Step = unheard,
) -> list[Replayed]:  # fmt: skip
    """Tell `turns` in their order to one bank each of the policies and budgets `asked`, and see what of each turn's
    `needs` it holds. `step` is told after each turn which share of the work is done."""
    if not turns:
        return [Replayed(policy) for policy, _budget in asked]
    banks = [PrivateBank(width, budget, policy, adapter, turns[0].at, evict_at) for policy, budget in asked]
    reports = [Replayed(policy) for policy, _budget in asked]
    for number, (turn, needed) in enumerate(zip(turns, needs, strict=True), 1):
        words = _words(turn.cue) if turn.cue is not None else []
        weight = sum(need.weight for need in needed)
        for bank, report in zip(banks, reports, strict=True):
            report.recalled += len(needed)
            report.wanted += weight
            report.misses += _missed(turn, needed, bank)
            if turn.cue is not None and bank.marked_by_recalls:
                bank.recall(turn.cue, words, limits)
            bank.tell(turn)
        step(number / len(turns))
    for bank, report in zip(banks, reports, strict=True):
        _account(bank, report)
    return reports


def _words(cue: Cue) -> list[str]:
    return list(dict.fromkeys(terms(cue.text)))[:CUE_TERMS]


def _account(bank: PrivateBank, report: Replayed) -> None:
    """What the bank holds in the end, and what became of the rest."""
    report.kept = sorted(bank.hot, key=lambda memory: memory.written)
    marks = bank.hot.state.marks.values()
    archived = [mark for mark in marks if mark.state is State.ARCHIVED]
    report.written = sum(not mark.parts for mark in marks)
    report.merged = sum(mark.reason == "merged" for mark in archived)
    report.evicted = len(archived) - report.merged


def _missed(turn: ReplayTurn, needed: Sequence[Need], bank: PrivateBank) -> list[Miss]:
    """What is `needed` and `bank` holds in no form: under none of the sides that told it."""
    out: list[Miss] = []
    for need in needed:
        if not any(map(bank.holds, need.sides)):
            left = max(map(bank.left_at, need.sides))
            out.append(Miss(turn.ordinal, need.memory, need.fit, need.weight, left))
    return out
