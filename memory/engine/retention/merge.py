"""Merge: before single memories leave, runs about one thing become one more general memory."""

from __future__ import annotations

from dataclasses import dataclass

from memory.engine.retention.policy import Merging, RetentionPolicy, Wrapper, check_range


@dataclass(frozen=True)
class Merge(Wrapper):
    """Tries a merge round each memory that is about to leave; what finds no run leaves by the policy it wraps.

    A run is two to `most` memories, neighbours in one session, each pair of them at least `similarity` alike; what is
    made of it has at most `share` of its tokens. How: `memory.engine.merging`.
    """

    inner: RetentionPolicy
    kind = "merge"
    similarity: float = 0.6
    most: int = 6
    share: float = 0.75

    def __post_init__(self) -> None:
        check_range(self, "similarity", 0, 1)
        check_range(self, "most", 2, 20)
        check_range(self, "share", 0.1, 1)

    @property
    def merging(self) -> Merging:
        return Merging(self.similarity, self.most, self.share)
