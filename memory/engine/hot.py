"""A bank kept in the process: the fold of its ledger, and of what it holds the texts, vectors and terms.

Recall over it is a few numpy operations; the ledger stays the truth, and `apply` brings a hot bank up to it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.engine import bank
from memory.engine.adapted import AdaptedVectors
from memory.engine.bank import BankEvent, BankState, Kind
from memory.engine.columns import Chosen, Columns, Memories, columns, empty, joined, put, put_mark
from memory.engine.lexical import LexicalIndex, terms
from memory.engine.signals import Candidates
from memory.engine.types import BankError, Cue, Floats, MemoryItem, State
from memory.engine.vector_adapter import VectorAdapter

Indices = npt.NDArray[np.int64]

BLOCK = 512  # vectors that stay in a processor's cache while several are compared with them
_PER_MEMORY_BYTES = 2_000  # the Python objects of one memory beside its text and vector, roughly


@dataclass(frozen=True)
class Loaded:
    """What the ledger does not hold of a memory: its words, vector (E,) and the hash of its content."""

    item: MemoryItem
    vector: Floats
    content: bytes
    words: Sequence[str] | None = None  # the text's terms, where they are at hand


class HotBank:
    """One bank in memory. Not thread-safe by itself: hold `lock` around a read or a change."""

    def __init__(self, width: int) -> None:
        self.lock = threading.RLock()
        self.state = BankState()
        self.index = LexicalIndex()
        self.by_content: dict[bytes, UUID] = {}
        self.width = width
        self._slot: dict[UUID, int] = {}
        self._items: list[MemoryItem | None] = []
        self._words: list[list[str]] = []
        self._content: list[bytes] = []
        self._free: list[int] = []
        self._vectors: Floats = np.zeros((0, width), dtype=np.float32)
        self._adapted = AdaptedVectors()
        self._columns: Columns = empty(0)
        self._used: npt.NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)  # slots that hold a memory
        self._sessions: dict[tuple[UUID, int], int] = {}
        self._session: Indices = np.zeros(0, dtype=np.int64)  # of each slot, as numbered in `_sessions`
        self._neighbours: tuple[Indices, Indices, Indices] | None = None
        self._text_bytes = 0

    def __len__(self) -> int:
        return len(self._slot)

    def __iter__(self) -> Iterator[MemoryItem]:
        return (item for item in self._items if item is not None)

    @property
    def size(self) -> int:
        """Bytes held, roughly: vectors exactly, texts and objects by estimate."""
        return self._vectors.nbytes + self._adapted.nbytes + 4 * self._text_bytes + _PER_MEMORY_BYTES * len(self._items)

    def get(self, memory: UUID) -> MemoryItem | None:
        """The held memory of that id, or None."""
        slot = self._slot.get(memory)
        return None if slot is None else self._items[slot]

    def words(self, memory: UUID) -> list[str]:
        return self._words[self._slot[memory]]

    def content(self, memory: UUID) -> bytes:
        """The hash of a held memory's content."""
        return self._content[self._slot[memory]]

    def vectors(self, memories: Sequence[UUID]) -> Floats:
        """The vectors (K, E) of held memories."""
        return self._vectors[[self._slot[memory] for memory in memories]]

    def session_of(self, memory: UUID) -> list[MemoryItem]:
        """The held memories of one's session in the order of its sides, itself among them."""
        session = self._session[self._slot[memory]]
        slots = np.flatnonzero(self._used & (self._session == session))
        order = np.lexsort((self._columns["written"][slots], self._columns["piece"][slots],
                            self._columns["position"][slots]))  # fmt: skip
        return [item for slot in slots[order].tolist() if (item := self._items[slot]) is not None]

    def memories(self, but: Collection[UUID] = ()) -> Memories:
        """The held memories, less some, with their columns, in the order of iteration: good until the bank changes."""
        rows = self._arranged()[0]
        if but:
            rows = np.setdiff1d(rows, [self._slot[memory] for memory in but if memory in self._slot])
        return Memories(self._items, rows, Chosen(self._columns, rows))

    def all_vectors(self) -> Floats:
        """The frozen vectors (N, E) of all held memories, in the same order."""
        return self._vectors[self._arranged()[0]]

    def apply(self, events: Sequence[BankEvent], loaded: Mapping[UUID, Loaded]) -> None:
        """Fold events in; `loaded` brings every memory that they put (back) into the bank and that still exists.

        A memory that came and was erased since has nothing to load: its events are folded, its words are not held.
        """
        for event in events:
            bank.apply(self.state, event)
            if event.kind is Kind.RECALLED:
                for memory in event.data["memories"]:
                    self._refresh(UUID(memory))
            elif event.memory is not None:
                self._settle(event.memory, loaded)

    def become(self, state: BankState, loaded: Mapping[UUID, Loaded]) -> None:
        """Of an empty bank: stand as `state` says, holding what of it is `loaded`. Faster than a fold of all events."""
        self.state = state
        for memory in loaded:
            self._settle(memory, loaded)

    def best_cosine(self, vector: Floats) -> tuple[float, MemoryItem | None]:
        """The held memory nearest to `vector` (E,), and its cosine; (0, None) for an empty bank."""
        return self.best_cosines(vector[None])[0]

    def best_cosines(self, vectors: Floats) -> list[tuple[float, MemoryItem | None]]:
        """The same for each of `vectors` (K, E), in one pass over the bank: reading its vectors is what costs."""
        if not self._slot:
            return [(0.0, None)] * len(vectors)
        scores = np.empty((len(vectors), len(self._items)), dtype=np.float32)
        for start in range(0, len(self._items), BLOCK):  # half the time of one product of matrices
            block = self._vectors[start : min(start + BLOCK, len(self._items))]
            for vector, of_vector in zip(vectors, scores, strict=True):
                np.dot(block, vector, out=of_vector[start : start + len(block)])
        return [(float(row[slot]), self._items[slot]) for row, slot in zip(scores, scores.argmax(axis=1), strict=True)]

    def candidates(
        self, cue: Cue, cue_terms: Sequence[str], archive: Sequence[Loaded] = (), by: VectorAdapter | None = None
    ) -> Candidates:
        """Every held memory, and the given archived ones after them, with their raw scores for the cue.

        `by` is the vector part of the adapter that recalls, if it has one. Good until the bank changes: hold `lock`
        while they are read.
        """
        slots = len(self._items)
        alive, previous, following = self._arranged()
        cosine = (self._vectors[:slots] @ cue.vector)[alive]
        lexical, coverage = (found[alive] for found in self.index.scores_and_coverage(cue_terms, slots))
        items = self.memories()
        nobody = np.full(len(archive), -1, dtype=np.int64)
        outside = [self.index.score_outside(cue_terms, terms(found.item.text)) for found in archive]
        return Candidates(
            items=items.with_others([found.item for found in archive]),
            cosine=_joined(cosine, [float(found.vector @ cue.vector) for found in archive]),
            adapted=self._adapted_cosines(cue, alive, archive, by),
            lexical=_joined(lexical, [score for score, _ in outside]),
            coverage=_joined(coverage, [share for _, share in outside]),
            previous=np.concatenate([previous, nobody]),
            next=np.concatenate([following, nobody]),
            archived=np.arange(len(items) + len(archive)) >= len(items),
        )

    def _adapted_cosines(
        self, cue: Cue, alive: Indices, archive: Sequence[Loaded], by: VectorAdapter | None
    ) -> Floats | None:
        if by is None:
            self._adapted.clear()
            return None
        apart = by.adapted(np.stack([cue.vector, *(found.vector for found in archive)]))
        held = self._adapted.of(by, self._vectors[: len(self._items)]) @ apart[0]
        return np.concatenate([held[alive], apart[1:] @ apart[0]])

    def _settle(self, memory: UUID, loaded: Mapping[UUID, Loaded]) -> None:
        """Bring what is held of one memory into line with its mark."""
        mark = self.state.marks[memory]
        if mark.state is not State.HELD:
            self._drop(memory)
        elif memory in self._slot:
            self._refresh(memory)
        elif memory in loaded:
            self._hold(loaded[memory])
            self._refresh(memory)

    def _hold(self, found: Loaded) -> None:
        slot = self._free.pop() if self._free else self._grow()
        item = found.item
        words = list(found.words) if found.words is not None else terms(item.text)
        self._items[slot], self._words[slot], self._content[slot] = item, words, found.content
        self._vectors[slot] = found.vector
        self._adapted.changed(slot)
        put(self._columns, slot, item)
        place = (item.place.conversation, item.place.session)
        self._session[slot] = self._sessions.setdefault(place, len(self._sessions))
        self._used[slot] = True
        self._slot[item.id] = slot
        self.by_content[found.content] = item.id
        self.index.add(slot, words)
        self._text_bytes += len(item.text)
        self._neighbours = None

    def _grow(self) -> int:
        slot = len(self._items)
        if slot == len(self._vectors):
            more = max(64, slot)
            self._vectors = np.concatenate([self._vectors, np.zeros((more, self.width), dtype=np.float32)])
            self._columns = joined(self._columns, empty(more))
            self._session = np.concatenate([self._session, np.zeros(more, dtype=np.int64)])
            self._used = np.concatenate([self._used, np.zeros(more, dtype=np.bool_)])
        self._items.append(None)
        self._words.append([])
        self._content.append(b"")
        return slot

    def _drop(self, memory: UUID) -> None:
        slot = self._slot.pop(memory, None)
        if slot is None:
            return
        item = self._items[slot]
        assert item is not None
        self.index.discard(slot, self._words[slot])
        if self.by_content.get(self._content[slot]) == memory:
            del self.by_content[self._content[slot]]
        self._text_bytes -= len(item.text)
        self._items[slot], self._words[slot], self._content[slot] = None, [], b""
        self._vectors[slot] = 0.0
        self._adapted.changed(slot)
        self._used[slot] = False
        self._free.append(slot)
        self._neighbours = None

    def _refresh(self, memory: UUID) -> None:
        slot, mark = self._slot.get(memory), self.state.marks[memory]
        if slot is None:
            return
        item = self._items[slot]
        assert item is not None
        self._items[slot] = item = bank.as_marked(item, mark)
        put_mark(self._columns, slot, item)

    def _arranged(self) -> tuple[Indices, Indices, Indices]:
        """Slots in use, and for each (as rows among them) the sides just before and after it in its session."""
        if self._neighbours is None:
            alive = np.flatnonzero(self._used)
            position, piece = self._columns["position"][alive], self._columns["piece"][alive]
            self._neighbours = (alive, *_linked(self._session[alive], position, piece))
        return self._neighbours


def neighbours(items: Sequence[MemoryItem]) -> tuple[Indices, Indices]:
    """For each item the index of the side just before and just after it in the same session, or -1."""
    sessions: dict[tuple[UUID, int], int] = {}
    places = ((item.place.conversation, item.place.session) for item in items)
    session = np.array([sessions.setdefault(place, len(sessions)) for place in places], dtype=np.int64)
    numbers = columns(items)
    return _linked(session, numbers["position"], numbers["piece"])


def _linked(session: Indices, position: Indices, piece: Indices) -> tuple[Indices, Indices]:
    size = len(session)
    previous, following = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    if size < 2:
        return previous, following
    order = np.lexsort((piece, position, session))
    before, after = order[:-1], order[1:]
    # a piece follows a piece of the same side, or the first piece of the next side follows the last of this one
    step = position[after] - position[before]
    linked = (session[before] == session[after]) & (step <= 1)
    previous[after[linked]] = before[linked]
    following[before[linked]] = after[linked]
    return previous, following


def _joined(scores: Floats, more: Sequence[float]) -> Floats:
    return np.concatenate([scores, np.array(more, dtype=np.float32)]) if more else scores


def check(hot: HotBank) -> None:
    """Raise `BankError` unless what is held agrees with the fold: the same memories, the same token sum."""
    held = {memory for memory, mark in hot.state.marks.items() if mark.state is State.HELD}
    if held != {item.id for item in hot}:
        raise BankError("The hot bank and its ledger disagree about what is held.")
    if sum(item.tokens for item in hot) != hot.state.held_tokens or len(held) != hot.state.held:
        raise BankError("The hot bank and its ledger disagree about its size.")
