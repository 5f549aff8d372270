"""The numbers of many memories as arrays: what a recall or an eviction reads of every memory in a bank.

At 20,000 memories a loop over objects costs more than all arithmetic, so a bank keeps these beside its objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import regex

from memory.engine.features import has_dates, has_numbers, log_words
from memory.engine.types import MemoryItem, Role

Columns = dict[str, npt.NDArray[Any]]  # every array has one entry a memory

TYPES: dict[str, type[np.generic]] = {
    "at": np.float64,  # seconds since 1970
    "tokens": np.int64,
    "importance": np.float64,
    "written": np.int64,
    "position": np.int64,
    "piece": np.int64,
    "turn": np.int64,  # by hash: equal turns, equal numbers
    "speaker": np.int64,  # likewise
    "question": np.bool_,
    "assistant": np.bool_,
    "tool": np.bool_,
    "formed": np.bool_,  # made of others, as a summary is
    "numbers": np.bool_,
    "dated": np.bool_,  # speaks of a day, a month, an hour
    "length": np.float32,  # ln(1 + words), as the importance head sees it
    "pinned": np.bool_,
    "recalls": np.int64,
    "touched": np.float64,  # seconds since 1970: last recalled, else written into the bank
    "strength": np.float64,
    "chance": np.uint64,  # the lower half of the id, which says nothing of the memory
}
_LOWER_HALF = 2**64 - 1
_QUESTION = regex.compile(r"[?？؟]")


def record(item: MemoryItem) -> tuple[Any, ...]:
    """The numbers of one memory, in the order of `TYPES`."""
    return (
        item.at.timestamp(), item.tokens, item.importance, item.written, item.place.position, item.piece,
        hash(item.turn), hash(item.speaker), bool(_QUESTION.search(item.text)), item.role is Role.ASSISTANT,
        item.role is Role.TOOL, item.kind != "side", has_numbers(item.text), has_dates(item.text),
        log_words(item.text),
        item.pinned, item.recalls, item.touched.timestamp(), item.strength,
        item.id.int & _LOWER_HALF,
    )  # fmt: skip


def put_mark(into: Columns, place: int, item: MemoryItem) -> None:
    """Write what events change of a held memory into its place: the rest of its numbers stay as they are."""
    into["importance"][place], into["pinned"][place] = item.importance, item.pinned
    into["written"][place], into["touched"][place] = item.written, item.touched.timestamp()
    into["recalls"][place], into["strength"][place] = item.recalls, item.strength


def empty(size: int) -> Columns:
    """Columns of `size` memories, all zero."""
    return {name: np.zeros(size, dtype=kind) for name, kind in TYPES.items()}


def put(into: Columns, place: int, item: MemoryItem) -> None:
    """Write one memory's numbers into its place."""
    for name, value in zip(TYPES, record(item), strict=True):
        into[name][place] = value


class Chosen(Columns):
    """Some rows of columns, and perhaps others after them: each column is made when it is first read, since few
    readers want all."""

    def __init__(self, columns: Columns, rows: npt.NDArray[np.int64], others: Columns | None = None) -> None:
        super().__init__()
        self._columns, self._rows, self._others = columns, rows, others

    def __missing__(self, name: str) -> npt.NDArray[Any]:
        column = self._columns[name][self._rows]
        self[name] = column = column if self._others is None else np.concatenate([column, self._others[name]])
        return column

    def followed_by(self, others: Columns) -> Chosen:
        """These rows, and the others after them."""
        return Chosen(self._columns, self._rows, others)


def joined(one: Columns, other: Columns) -> Columns:
    """Both, one after the other."""
    return {name: np.concatenate([one[name], other[name]]) for name in TYPES}


class Memories(Sequence[MemoryItem]):
    """Memories with their columns at hand. `items` may hold more: `rows` says which of them, in which order."""

    def __init__(
        self, items: Sequence[MemoryItem | None], rows: npt.NDArray[np.int64], numbers: Chosen,
        others: Sequence[MemoryItem] = (),
    ) -> None:  # fmt: skip
        self._items, self._rows, self._others = items, rows, others
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self._rows) + len(self._others)

    @overload
    def __getitem__(self, index: int) -> MemoryItem: ...

    @overload
    def __getitem__(self, index: slice) -> list[MemoryItem]: ...

    def __getitem__(self, index: int | slice) -> MemoryItem | list[MemoryItem]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        after = (index + len(self) if index < 0 else index) - len(self._rows)
        if after >= 0:
            return self._others[after]
        item: MemoryItem | None = self._items[int(self._rows[after])]
        assert item is not None  # `rows` names none that is gone
        return item

    def with_others(self, others: Sequence[MemoryItem]) -> Memories:
        """These memories, and the others after them."""
        if not others:
            return self
        others = [*self._others, *others]
        return Memories(self._items, self._rows, self.numbers.followed_by(columns(others)), others)


def columns(memories: Sequence[MemoryItem]) -> Columns:
    """The columns of any memories, (N,) each: those at hand, else read off one by one."""
    if isinstance(memories, Memories):
        return memories.numbers
    out = empty(len(memories))
    for place, item in enumerate(memories):
        put(out, place, item)
    return out
