"""Planning what a turn does to a bank: write, tell again, merge; then evict to budget. Pure: it changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np

from memory.engine import bank
from memory.engine.adapter import Adapter
from memory.engine.bank import BankEvent, Kind
from memory.engine.features import Context, features, negations
from memory.engine.hot import HotBank
from memory.engine.lexical import terms
from memory.engine.merging import Run, can_merge, item_of, run_round, side_of
from memory.engine.retention import Eviction, RetentionPolicy, choose_evictions
from memory.engine.statistics import STEP, quantised
from memory.engine.text import count_tokens
from memory.engine.types import Budget, Floats, MemoryItem, NewSide

NEAR_DUPLICATE = 0.95


@dataclass(frozen=True)
class Write:
    """A memory to be written: the item, where it came from, and the features that its score came from."""

    item: MemoryItem
    new: NewSide
    features: Floats
    words: Sequence[str]  # the text's terms


@dataclass
class WritingPlan:
    """What to do, in order. `events` continue the bank's ledger; `writes` and `sources` are the rows beside them."""

    events: list[BankEvent] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    sources: list[tuple[UUID, NewSide, str]] = field(default_factory=list)  # memory, side, how
    merged: dict[UUID, tuple[UUID, ...]] = field(default_factory=dict)  # merged memory: its parts, whose sources it has


class Planner:
    """Plans one transaction against a hot bank that is up to date with its ledger."""

    def __init__(self, hot: HotBank, adapter: Adapter, policy: RetentionPolicy, now: datetime) -> None:
        self._hot, self._adapter, self._policy, self._now = hot, adapter, policy, now
        self.plan = WritingPlan()
        self._new: dict[UUID, Write] = {}
        self._by_content: dict[bytes, UUID] = {}
        self._back: dict[UUID, MemoryItem] = {}
        self._seen: dict[UUID, tuple[float, MemoryItem | None]] = {}
        self._first = hot.state.seq + 1

    def follow(self, seq: int) -> None:
        """Number the plan from `seq`, where other events of the same transaction come before it."""
        self._first = seq

    def look_up(self, sides: Sequence[NewSide]) -> None:
        """Find the nearest held memories of all sides that are about to be taken, in one pass over the bank."""
        if sides:
            found = self._hot.best_cosines(np.stack([side.vector for side in sides]))
            self._seen = {side.id: nearest for side, nearest in zip(sides, found, strict=True)}

    def event(self, kind: Kind, memory: UUID | None, **data: Any) -> BankEvent:
        """Append one event to the plan, numbered after what the bank and the plan hold so far."""
        made = BankEvent(self._first + len(self.plan.events), kind, self._now, memory, data)
        self.plan.events.append(made)
        return made

    def take(self, side: NewSide, context: Context, archived: Mapping[bytes, MemoryItem]) -> None:
        """Remember one piece of a side: told again, merged into a near-duplicate, or written new.

        `archived` are the bank's archived memories by content: one that is retold comes back into the bank.
        """
        twin = self._hot.by_content.get(side.content) or self._by_content.get(side.content)
        if twin is None and side.content in archived:
            twin = archived[side.content].id
            self.event(Kind.RESTORED, twin, reason="retold")
            self._back[twin] = archived[side.content]
            self._by_content[side.content] = twin
        if twin is not None:
            self._tell(twin, side, "retold", 1.0)
            return
        cosine, nearest = self._nearest(side)
        words = terms(side.text)
        if nearest is not None and cosine >= NEAR_DUPLICATE and _says_the_same(nearest, side, words):
            self._tell(nearest.id, side, "merged", cosine)
            return
        self._write(side, words, context, cosine)

    def evict(self) -> dict[bytes, MemoryItem]:
        """Bring the bank, with what was planned so far, under its limit; returns what leaves, by content.

        First goes what the policy turns away at the door, then what there is no room for.
        """
        state = self._hot.state
        more = {write.item.id: write.item for write in self.plan.writes}
        out: list[UUID] = []
        for item in self._refused(list(more.values())):
            self._evicted(item.id, "threshold", item.importance, "", None, state.budget)
            out.append(more.pop(item.id).id)
        for item in self._back.values():
            mark = state.marks.get(item.id)  # none where it came and went in this very plan
            more[item.id] = item if mark is None else bank.as_marked(item, mark)
        limit = state.limit
        held_tokens = state.held_tokens + sum(item.tokens for item in more.values())
        if state.held + len(more) > limit.memories or held_tokens > limit.tokens:
            for eviction in self._merge_and_choose(more, limit, out):
                self._evicted(eviction.memory, "budget", eviction.score, eviction.over, eviction.instead, limit)
                out.append(eviction.memory)
        return self._by_contents(out)

    def _merge_and_choose(self, more: dict[UUID, MemoryItem], limit: Budget, out: list[UUID]) -> list[Eviction]:
        """What has to leave once runs round it are merged, where the policy wants that. `more` gains what is merged,
        `out` the parts."""
        gone: list[UUID] = []
        tried: set[UUID] = set()
        while True:
            held = self._hot.memories(gone).with_others(list(more.values()))
            leaving = choose_evictions(held, limit, self._policy, self._now)
            found = self._run_of(leaving, held, gone, tried) if self._policy.merging else None
            if found is None:
                out += gone
                return leaving
            one, run = found
            merged = self._merged(run, one, limit)
            more[merged.id] = merged
            gone += [part.id for part in run.parts]

    def _run_of(
        self, leaving: Sequence[Eviction], held: Sequence[MemoryItem], gone: Sequence[UUID], tried: set[UUID]
    ) -> tuple[Eviction, Run] | None:  # fmt: skip
        """The first of those that are to leave round which there is a run, with it; those without are `tried`."""
        merging = self._policy.merging
        assert merging is not None
        if not leaving:
            return None
        spared = {held[int(row)].id for row in np.flatnonzero(self._policy.spared(held, self._now))}
        busy = {*gone, *(memory for memory, _, _ in self.plan.sources)}
        marks = self._hot.state.marks

        def allowed(item: MemoryItem) -> bool:
            """What is whole in the bank since before this turn, and in no merged memory yet."""
            return (
                item.id not in spared and item.id not in busy and marks[item.id].into is None and can_merge(item)
            )  # fmt: skip

        for one in leaving:
            memory = self._hot.get(one.memory)
            if one.memory in tried or memory is None:
                continue
            run = run_round(memory, self._hot, merging, allowed)
            if run is not None:
                return one, run
            tried.add(one.memory)
        return None

    def _merged(self, run: Run, eviction: Eviction, limit: Budget) -> MemoryItem:
        """Plan a merged memory and the leaving of its parts."""
        parts = [part.id for part in run.parts]
        side = side_of(run, self._hot.vectors(parts), self._first + len(self.plan.events))
        item = item_of(run, side)
        mark = self._hot.state.marks[run.best.id]
        self.event(
            Kind.WRITTEN, item.id, tokens=item.tokens, importance=item.importance, adapter=mark.adapter,
            turn=str(side.turn), side=side.side.value, piece=side.piece, role=side.role.value,
            parts=[str(part) for part in parts], written=item.written,
        )  # fmt: skip
        for part in run.parts:
            self._evicted(part.id, "merged", part.importance, eviction.over, None, limit, into=str(item.id))
        values = np.asarray(mark.features, dtype=np.float32) * np.float32(STEP)
        self.plan.writes.append(Write(item, side, values, terms(side.text)))
        self.plan.merged[item.id] = tuple(parts)
        return item

    def _refused(self, written: Sequence[MemoryItem]) -> list[MemoryItem]:
        refused = self._policy.refused(written) if written else ()
        return [item for item, no in zip(written, refused, strict=True) if no]

    def _evicted(
        self, memory: UUID, reason: str, score: float, over: str, instead: UUID | None, limit: Budget, **more: str
    ) -> None:  # fmt: skip
        self.event(
            Kind.EVICTED, memory, reason=reason, policy=self._policy.name, adapter=self._adapter.version,
            score=round(score, 6), over=over, instead=str(instead) if instead else None,
            budget=[limit.memories, limit.tokens], **more,
        )  # fmt: skip

    def _by_contents(self, memories: Sequence[UUID]) -> dict[bytes, MemoryItem]:
        content_of = {memory: content for content, memory in self._by_content.items()}
        planned = {write.item.id: write.item for write in self.plan.writes} | self._back
        gone: dict[bytes, MemoryItem] = {}
        for memory in memories:
            item = planned.get(memory) or self._hot.get(memory)
            if item is not None and memory not in self.plan.merged:  # nobody tells a merged memory again
                gone[content_of.get(memory) or self._hot.content(memory)] = item
        return gone

    def _tell(self, memory: UUID, side: NewSide, how: str, cosine: float) -> None:
        self.event(Kind.TOLD, memory, turn=str(side.turn), side=side.side.value, how=how, cosine=round(cosine, 4))
        self.plan.sources.append((memory, side, how))

    def _write(self, side: NewSide, words: Sequence[str], context: Context, cosine: float) -> None:
        context = replace(context, best_cosine=cosine, position=side.place.position)
        values = features(side.text, words, side.role, context, self._hot.index)
        state = self._hot.state
        importance = self._adapter.importance.importance(values, side.role, state.statistics, state.kind)
        item = MemoryItem(
            id=side.id, text=side.text, role=side.role, speaker=side.speaker, at=side.at,
            tokens=count_tokens(side.text), importance=round(importance, 6),
            turn=side.turn, side=side.side, place=side.place, piece=side.piece,
            written=self._first + len(self.plan.events), written_at=self._now,
        )  # fmt: skip
        self.event(
            Kind.WRITTEN, item.id, tokens=item.tokens, importance=item.importance, adapter=self._adapter.version,
            turn=str(side.turn), side=side.side.value, piece=side.piece, role=side.role.value,
            features=quantised(values),
        )  # fmt: skip
        write = Write(item, side, values, words)
        self.plan.writes.append(write)
        self.plan.sources.append((item.id, side, "written"))
        self._new[item.id] = write
        self._by_content[side.content] = item.id

    def _nearest(self, side: NewSide) -> tuple[float, MemoryItem | None]:
        best, nearest = self._seen.get(side.id) or self._hot.best_cosine(side.vector)
        for write in self._new.values():
            cosine = float(write.new.vector @ side.vector)
            if cosine > best:
                best, nearest = cosine, write.item
        return best, nearest


def _says_the_same(held: MemoryItem, side: NewSide, words: Sequence[str]) -> bool:
    """Near in vector is not enough ("at 5" and "at 6" are near): same speaker, same terms in order, same negations."""
    return (
        held.role is side.role
        and held.speaker == side.speaker
        and terms(held.text) == list(words)
        and negations(held.text) == negations(side.text)
    )
