"""Reads of what one conversation recalled: every stored row, and turns against memories as a heat map."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, overload
from uuid import UUID

from django.db import connection
from django.db.models import F, Func, IntegerField, QuerySet, Sum

from memory.engine.types import State
from memory.life import Life
from memory.models import Memory, Recall
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
    masses = _masses(life, first, last, width, adapter)
    best = sorted(masses, key=lambda memory: (-masses[memory].mass, memory.int))
    chosen = best[:MOST_MEMORIES]
    if order == "time":
        chosen.sort(key=lambda memory: (life.written.get(memory, 0), masses[memory].first, memory.int))
    rows = [
        HeatRow(memory, life.written.get(memory), round(masses[memory].mass, 6), masses[memory].recalls)
        for memory in chosen
    ]
    if width == 1:
        places = {memory: place for place, memory in enumerate(chosen)}
        cells = _exact_cells(traces_of(life, first, last, adapter), first, places, recalls)
    else:
        cells = [
            HeatCell(column, place, weight, RECALLED)
            for place, memory in enumerate(chosen)
            for column, weight in sorted(masses[memory].best.items())
        ]
    return Heat(first, last, width, columns, recalls, rows, cells, len(best) - len(chosen))


@dataclass
class _Mass:
    mass: float = 0.0
    recalls: int = 0
    first: int = 0  # turn
    best: dict[int, float] = field(default_factory=dict)  # column: the largest weight


def _masses(life: Life, first: int, last: int, width: int, adapter: str) -> dict[UUID, _Mass]:
    """What was recalled in these turns. Forgotten and erased memories are left out, as everywhere."""
    found: dict[str, _Mass] = {}
    for turn, memories, weights in _handed_on(life, first, last, adapter):
        column = (turn - first) // width
        for memory, weight in zip(memories, weights, strict=True):
            mass = found.get(memory)
            if mass is None:
                mass = found[memory] = _Mass(first=turn)
            mass.mass += weight
            mass.recalls += 1
            mass.best[column] = max(weight, mass.best.get(column, 0.0))
    known = Memory.objects.filter(pk__in=list(found)).exclude(state=State.FORGOTTEN)
    return {memory: found[str(memory)] for memory in known.values_list("pk", flat=True)}


def _handed_on(life: Life, first: int, last: int, adapter: str) -> Iterator[tuple[int, Sequence[str], Sequence[float]]]:
    """Turn, memories and weights of each recall that handed something on: from the ledger, since the traces of
    thousands of turns would be too much to read at once."""
    turns = {str(turn): ordinal for turn, ordinal in life.present.items() if first <= ordinal <= last}
    by = {str(pk) for pk in traces_of(life, first, last, adapter).values_list("pk", flat=True)} if adapter else None
    started = [life.history.first_of[turn] for turn in life.present if turn in life.history.first_of]
    with connection.cursor() as cursor:
        for start in range(min(started, default=0), life.history.seq + 1, _EVENTS):
            cursor.execute(_HANDED_ON, [life.conversation.bank_id, start, start + _EVENTS])
            for turn, recall, memories, weights in json.loads(cursor.fetchone()[0] or "[]"):
                if turn in turns and (by is None or recall in by):
                    yield turns[turn], memories, weights


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


# By the ledger's own order: a join would leave it to the planner how, and a bank just filled has told it nothing yet.
_EVENTS = 10_000
_HANDED_ON = (
    "SELECT json_agg(json_build_array(turn, data->>'recall', data->'memories', data->'weights') ORDER BY seq)::text "
    "FROM memory_event WHERE bank_id = %s AND seq >= %s AND seq < %s AND kind = 'recalled'"
)
