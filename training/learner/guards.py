"""A guard: a figure that a challenger may not lose by more than the rules allow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guard:
    """A figure that must not fall by more than the rules allow."""

    name: str  # a code: "public", "own" or "floor"
    kind: str
    champion: float
    challenger: float
    ok: bool

    @property
    def lost(self) -> float:
        """By how much the challenger is behind, 0 if it is not."""
        return max(0.0, self.champion - self.challenger)


def guard(name: str, kind: str, champion: float, challenger: float, most_lost: float) -> Guard:
    """The guard of two figures; what is no number does not hold."""
    return Guard(name, kind, champion, challenger, champion - challenger <= most_lost)
