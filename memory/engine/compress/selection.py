"""Which steps stay within a token budget, with the markers that stand for the others paid for."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from memory.engine.text import count_tokens

TokenCounter = Callable[[str], int]


def marker_text(dropped: int) -> str:
    """The line that stands where `dropped` steps stood."""
    return f"[{dropped} earlier step{'' if dropped == 1 else 's'} left out]"


class Kept:
    """A growing choice among numbered steps and the tokens it takes, markers included."""

    def __init__(self, tokens: Sequence[int], always: Iterable[int], count: TokenCounter = count_tokens) -> None:
        self._count = count
        self._marker: dict[int, int] = {0: 0}
        self._sizes = tokens
        self._at = [-1, *sorted(always), len(tokens)]  # with the borders of the list
        gaps = (right - left - 1 for left, right in pairwise(self._at))
        self.tokens = sum(tokens[at] for at in self.steps) + sum(self._marker_tokens(gap) for gap in gaps)

    @property
    def steps(self) -> list[int]:
        """The chosen steps, in order."""
        return self._at[1:-1]

    def size(self, at: int) -> int:
        """The tokens of a step alone."""
        return self._sizes[at]

    def cost(self, at: int) -> int:
        """What one step more would add; the markers around it can become fewer."""
        place = bisect_left(self._at, at)
        left, right = at - self._at[place - 1] - 1, self._at[place] - at - 1
        before = self._marker_tokens(left + right + 1)
        return self._sizes[at] + self._marker_tokens(left) + self._marker_tokens(right) - before

    def add(self, at: int) -> None:
        """Choose one step more."""
        self.tokens += self.cost(at)
        insort(self._at, at)

    def close_gaps(self) -> None:
        """Keep what takes no more tokens than the marker that would stand for it."""
        for left, right in list(pairwise(self._at)):
            gap = range(left + 1, right)
            if gap and sum(self._sizes[at] for at in gap) <= self._marker_tokens(len(gap)):
                for at in gap:
                    self.add(at)

    def _marker_tokens(self, dropped: int) -> int:
        if dropped not in self._marker:
            self._marker[dropped] = self._count(marker_text(dropped))
        return self._marker[dropped]


def choose(
    kept: Kept,
    budget: int,
    names: Sequence[frozenset[str]],
    chances: Mapping[str, float],
    own: Sequence[float],
    power: float,
) -> float:
    """Add steps to `kept` while they fit, best gain per token^power first; returns what they gain in all.

    A step's gain is its own worth and the chances of those identifiers that no kept step shows yet. As gains only
    fall while the choice grows, each is computed again only when it comes up (lazy greedy, Minoux 1978).
    """
    covered: set[str] = set().union(*(names[at] for at in kept.steps))

    def gain(at: int) -> float:
        return own[at] + sum(chances[name] for name in names[at] - covered)

    def rank(at: int) -> tuple[float, int]:
        return -gain(at) / max(1, kept.size(at)) ** power, -at  # of two alike the later

    heap = [rank(at) for at in set(range(len(names))) - set(kept.steps)]
    heapq.heapify(heap)
    worth = 0.0
    while heap:
        at = -heapq.heappop(heap)[1]
        fresh = rank(at)
        if heap and fresh > heap[0]:
            heapq.heappush(heap, fresh)
        elif kept.tokens + kept.cost(at) <= budget:
            worth += gain(at)
            kept.add(at)
            covered |= names[at]
    return worth
