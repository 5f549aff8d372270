"""Reads of what one conversation recalled: every stored row, and turns against memories as a heat map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate
from typing import Any, overload
from uuid import UUID

from django.db.models import F, Func, IntegerField, QuerySet

from memory.engine.bank import Kind
from memory.life import Life
from memory.models import Event, Memory, Recall
from memory.traces import ranked

EXACT_TURNS = 300  # up to so many, the map shows every stored row; beyond, what was recalled, in bins of turns
MOST_COLUMNS = 200  # bins of turns beyond
MOST_MEMORIES = 60  # rows of the map: those with the largest mass
_CHUNK = 200  # traces read at once
RECALLED, NEAR, BELOW = "recalled", "near", "below"  # handed on; passed the floor without room; below the floor


@dataclass(frozen=True)
class WeightRow:
    """One memory in one recall: a stored row of its trace."""

    turn: int
    at: datetime
    recall: UUID
    rank: int  # from 1
    memory: UUID
    weight: float  # share of all candidates' softmax
    fit: float
    floor: float  # of this recall, for its fit
    logit: float
    what: str  # "recalled", "near" or "below"
    injected: bool
    cited: bool
    adapter: str
    text: str = ""


def traces_of(life: Life, first: int, last: int, adapter: str = "") -> QuerySet[Recall]:
    """The recalls of the present branch's turns `first` to `last`, in order."""
    found = Recall.objects.filter(
        turn__conversation=life.conversation.pk, turn__replaced_at=None,
        turn__ordinal__gte=first, turn__ordinal__lte=last,
    )  # fmt: skip
    if adapter:
        found = found.filter(adapter=adapter)
    return found.annotate(ordinal=F("turn__ordinal")).order_by("turn__ordinal", "at", "pk")


class WeightRows(Sequence[WeightRow]):
    """All stored rows of many recalls, read when they are asked for: a trace is kilobytes, and there are many."""

    def __init__(self, traces: QuerySet[Recall]) -> None:
        self._traces = traces
        size = Func(F("memories"), function="cardinality", output_field=IntegerField())
        sizes = list(traces.annotate(size=size).values_list("pk", "size"))
        self._ids = [pk for pk, _ in sizes]
        self._ends = list(accumulate(size or 0 for _, size in sizes))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, at: int) -> WeightRow: ...

    @overload
    def __getitem__(self, at: slice) -> list[WeightRow]: ...

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, int):
            return self[range(len(self))[at] : range(len(self))[at] + 1][0]
        start, stop, step = at.indices(len(self))
        touched = [i for i, end in enumerate(self._ends) if end > start and (self._ends[i - 1] if i else 0) < stop]
        if not touched:
            return []
        begins = self._ends[touched[0] - 1] if touched[0] else 0
        rows = [row for trace in self._read([self._ids[i] for i in touched]) for row in rows_of(trace)]
        return rows[start - begins : stop - begins : step]

    def __iter__(self) -> Iterator[WeightRow]:
        for start in range(0, len(self._ids), _CHUNK):
            for trace in self._read(self._ids[start : start + _CHUNK]):
                yield from rows_of(trace)

    def _read(self, ids: Sequence[UUID]) -> QuerySet[Recall]:
        return self._traces.filter(pk__in=ids).defer("normalisation", "regretted", "timings_ms")


def rows_of(trace: Recall) -> list[WeightRow]:
    """The stored rows of a trace annotated with its turn's `ordinal`, best first."""
    ordinal: int = trace.ordinal  # type: ignore[attr-defined]
    recalled, injected, cited = set(trace.recalled), set(trace.injected), set(trace.cited)
    return [
        WeightRow(
            ordinal, trace.at, trace.pk, rank, memory, round(weight, 6), round(fit, 5), round(trace.floor, 5),
            round(logit, 5), RECALLED if memory in recalled else NEAR if fit >= trace.floor else BELOW,
            memory in injected, memory in cited, trace.adapter,
        )
        for rank, (memory, (logit, weight, fit)) in enumerate(
            zip(trace.memories, ranked(trace).tolist(), strict=True), 1
        )
    ]  # fmt: skip


@dataclass(frozen=True)
class HeatCell:
    """The largest weight of one memory in one column."""

    column: int
    row: int
    weight: float
    what: str


@dataclass(frozen=True)
class HeatRow:
    """One memory of the map."""

    memory: UUID
    written: int | None  # turn
    mass: float  # the weight that it was recalled with, over all shown turns
    recalls: int
    text: str = ""


@dataclass(frozen=True)
class Heat:
    """Turns against memories. A column is `width` turns from its first; of one turn it names the recall."""

    first: int
    last: int
    width: int
    columns: Sequence[int]  # the first turn of each
    recalls: Sequence[UUID | None]  # where a column is one turn
    rows: Sequence[HeatRow]
    cells: Sequence[HeatCell]
    others: int = 0  # recalled memories that the map has no room for

    @property
    def exact(self) -> bool:
        """Whether every stored row of the shown memories is in it."""
        return self.width == 1


@dataclass
class _Mass:
    mass: float = 0.0
    recalls: int = 0
    first: int = 0
    cells: dict[int, tuple[int, float, str]] = field(default_factory=dict)  # column: order of kind, weight, kind

    def add(self, column: int, turn: int, weight: float, what: str) -> None:
        if what == RECALLED:
            self.mass += weight
            self.recalls += 1
            self.first = self.first or turn
        order = (RECALLED, NEAR, BELOW).index(what)
        known = self.cells.get(column)
        if known is None or (-order, weight) > (-known[0], known[1]):
            self.cells[column] = (order, weight, what)


def with_labels(heat: Heat, rows: Sequence[HeatRow]) -> Heat:
    """The map with these rows, which have their words now."""
    return replace(heat, rows=rows)


def heat_of(life: Life, first: int, last: int, *, order: str = "time", adapter: str = "") -> Heat:
    """The map of turns `first` to `last`: only memories that were recalled there; by "time" or by "mass"."""
    turns = last - first + 1
    width = 1 if turns <= EXACT_TURNS else -(-turns // MOST_COLUMNS)
    columns = list(range(first, last + 1, width))
    recalls: list[UUID | None] = [None] * len(columns)
    found: dict[UUID, _Mass] = defaultdict(_Mass)
    if width == 1:
        for trace in traces_of(life, first, last, adapter).defer("normalisation", "regretted", "timings_ms"):
            for row in rows_of(trace):
                found[row.memory].add(row.turn - first, row.turn, row.weight, row.what)
            recalls[trace.ordinal - first] = trace.pk  # type: ignore[attr-defined]
    else:
        for turn, memory, weight in _handed_on(life, first, last, adapter):
            found[memory].add((turn - first) // width, turn, weight, RECALLED)
    return _laid_out(life, Heat(first, last, width, columns, recalls, [], []), found, order)


def _handed_on(life: Life, first: int, last: int, adapter: str) -> Iterator[tuple[int, UUID, float]]:
    """What was recalled, from the ledger: traces of thousands of turns would be too much to read at once."""
    turns = dict(traces_of(life, first, last, adapter).values_list("pk", F("turn__ordinal")))
    events = Event.objects.filter(bank=life.conversation.bank_id, kind=Kind.RECALLED, turn__in=list(life.ordinals))
    if len(turns) * 2 > life.turns:  # most of them: the whole ledger is read faster than looked up turn by turn
        events = Event.objects.filter(bank=life.conversation.bank_id, kind=Kind.RECALLED)
    for data in events.order_by("seq").values_list("data", flat=True).iterator(5_000):
        turn = turns.get(UUID(data["recall"]))
        if turn is not None:
            for memory, weight in zip(data["memories"], data["weights"], strict=True):
                yield turn, UUID(memory), weight


def _laid_out(life: Life, empty: Heat, found: dict[UUID, _Mass], order: str) -> Heat:
    recalled = {memory: mass for memory, mass in found.items() if mass.recalls}
    there = set(Memory.objects.filter(pk__in=list(recalled)).exclude(state="forgotten").values_list("pk", flat=True))
    ranked_memories = sorted(there, key=lambda memory: (-recalled[memory].mass, str(memory)))
    chosen = ranked_memories[:MOST_MEMORIES]
    if order == "time":
        chosen.sort(key=lambda memory: (life.written.get(memory, 0), recalled[memory].first, str(memory)))
    rows = [
        HeatRow(memory, life.written.get(memory), round(recalled[memory].mass, 6), recalled[memory].recalls)
        for memory in chosen
    ]
    cells = [
        HeatCell(column, number, weight, what)
        for number, memory in enumerate(chosen)
        for column, (_, weight, what) in sorted(recalled[memory].cells.items())
    ]
    return Heat(
        empty.first, empty.last, empty.width, empty.columns, empty.recalls, rows, cells, len(there) - len(chosen)
    )
