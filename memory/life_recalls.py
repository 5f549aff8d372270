"""Reads of what one conversation recalled: every stored row, and turns against memories as a heat map."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, overload
from uuid import UUID

import numpy as np
from django.db.models import F, Func, IntegerField, QuerySet, Sum

from memory.engine.types import State
from memory.handed_on import Ints, Numbers
from memory.life import Life
from memory.models import Recall
from memory.traces import ranked

EXACT_TURNS = 300  # up to so many, the map shows every stored row; beyond, what was recalled, in bins of turns
MOST_COLUMNS = 200  # bins of turns beyond
MOST_MEMORIES = 60  # rows of the map: those with the largest mass
_CHUNK = 200  # traces read at once
_SIZE = Func(F("memories"), function="cardinality", output_field=IntegerField())
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
        self._traces = traces.defer("normalisation", "regretted", "timings_ms")
        self._size = traces.order_by().aggregate(n=Sum(_SIZE))["n"] or 0

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: int) -> WeightRow: ...

    @overload
    def __getitem__(self, at: slice) -> list[WeightRow]: ...

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, int):
            place = range(len(self))[at]
            return self[place : place + 1][0]
        start, stop, step = at.indices(len(self))
        ids: list[UUID] = []
        before = passed = 0
        for pk, size in self._sizes():
            if passed + size > start and passed < stop:
                before = before if ids else passed
                ids.append(pk)
            passed += size
            if passed >= stop:
                break
        rows = [row for trace in self._traces.filter(pk__in=ids) for row in rows_of(trace)]
        return rows[start - before : stop - before : step]

    def __iter__(self) -> Iterator[WeightRow]:
        ids = [pk for pk, _size in self._sizes()]
        for start in range(0, len(ids), _CHUNK):
            for trace in self._traces.filter(pk__in=ids[start : start + _CHUNK]):
                yield from rows_of(trace)

    def _sizes(self) -> Iterator[tuple[UUID, int]]:
        return self._traces.values_list("pk", _SIZE).iterator(1_000)


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


def with_labels(heat: Heat, rows: Sequence[HeatRow]) -> Heat:
    """The map with these rows, which have their words now."""
    return replace(heat, rows=rows)


def heat_of(life: Life, first: int, last: int, *, order: str = "time", adapter: str = "") -> Heat:
    """The map of turns `first` to `last`: only memories that were recalled there; by "time" or by "mass"."""
    turns = last - first + 1
    width = 1 if turns <= EXACT_TURNS else -(-turns // MOST_COLUMNS)
    columns = list(range(first, last + 1, width))
    recalls: list[UUID | None] = [None] * len(columns)
    shown = _shown(life, first, last, adapter)
    chosen = heapq.nsmallest(MOST_MEMORIES, shown, key=lambda one: (-one.mass, one.memory.int))
    if order == "time":
        chosen.sort(key=lambda one: (life.written.get(one.memory, 0), one.first, one.memory.int))
    rows = [HeatRow(one.memory, life.written.get(one.memory), round(one.mass, 6), one.recalls) for one in chosen]
    if width == 1:
        places = {one.memory: place for place, one in enumerate(chosen)}
        cells = _exact_cells(traces_of(life, first, last, adapter), first, places, recalls)
    else:
        cells = [
            HeatCell(column, place, weight, RECALLED)
            for place, one in enumerate(chosen)
            for column, weight in _best(one, first, width)
        ]
    return Heat(first, last, width, columns, recalls, rows, cells, len(shown) - len(chosen))


@dataclass(frozen=True)
class _Recalled:
    """One memory with the turns and weights of all times that it was handed on, in the ledger's order."""

    memory: UUID
    turns: Ints
    weights: Numbers
    mass: float
    first: int  # turn

    @property
    def recalls(self) -> int:
        return len(self.turns)


def _best(one: _Recalled, first: int, width: int) -> list[tuple[int, float]]:
    """The largest weight of each column that has any, by column."""
    best: dict[int, float] = {}
    for turn, weight in zip(one.turns.tolist(), one.weights.tolist(), strict=True):
        column = (turn - first) // width
        best[column] = max(weight, best.get(column, 0.0))
    return sorted(best.items())


def _shown(life: Life, first: int, last: int, adapter: str) -> list[_Recalled]:
    """What was recalled in these turns. Forgotten and erased memories are left out, as everywhere."""
    handed = life.handed_on
    there = (handed.turns >= first) & (handed.turns <= last)
    if adapter:
        by = {str(pk) for pk in traces_of(life, first, last, adapter).values_list("pk", flat=True)}
        there &= np.array([recall in by for recall in handed.recalls], dtype=bool)[handed.at_recall]
    places, turns, weights = handed.at_memory[there], handed.turns[there], handed.weights[there]
    order = np.argsort(places, kind="stable")  # those of one memory beside each other, as they came
    found, starts = np.unique(places[order], return_index=True)
    ends = np.append(starts, len(order))[1:]
    masses = np.bincount(places, weights, len(handed.memories))
    marks, out = life.history.state.marks, []
    for place, start, end in zip(found.tolist(), starts.tolist(), ends.tolist(), strict=True):
        memory = handed.memories[place]
        if marks[memory].state in (State.FORGOTTEN, State.ERASED):
            continue
        own = order[start:end]
        out.append(_Recalled(memory, turns[own], weights[own], float(masses[place]), int(turns[own[0]])))
    return out


def _exact_cells(
    traces: QuerySet[Recall], first: int, places: Mapping[UUID, int], recalls: list[UUID | None]
) -> list[HeatCell]:
    """Every stored row of the memories in `places`; `recalls` is told the recall of each column. A turn that was
    tried again shows its last recall."""
    by_column: dict[int, list[HeatCell]] = {}
    for trace in traces.defer("normalisation", "regretted", "timings_ms"):
        column = trace.ordinal - first  # type: ignore[attr-defined]
        recalls[column] = trace.pk
        by_column[column] = [
            HeatCell(column, places[row.memory], row.weight, row.what) for row in rows_of(trace) if row.memory in places
        ]
    return [cell for cells in by_column.values() for cell in cells]
