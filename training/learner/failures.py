"""How a training run can end without a challenger. None of it is mended by trying again."""

from __future__ import annotations

from collections.abc import Mapping


class TrainingFailed(Exception):
    """A training run cannot end well: its data say nothing, or the numbers ran away. Trying again does not help."""

    retryable = False


class TooFewLabels(TrainingFailed):
    """No kind of conversation has enough judgements; `missing` says how many more each would need."""

    def __init__(self, missing: Mapping[str, int]) -> None:
        super().__init__("Too few judgements: " + ", ".join(f"{kind} {n}" for kind, n in missing.items()))
        self.missing = dict(missing)


class TooFewConversations(TrainingFailed):
    """The judgements come from too few conversations to hold some of them out."""

    def __init__(self, have: int, need: int) -> None:
        super().__init__(f"The judgements come from {have} conversations; {need} are needed.")
        self.have, self.need = have, need


class ClassMissing(TrainingFailed):
    """All judgements of a kind say the same."""

    def __init__(self, kind: str, high: bool) -> None:
        super().__init__(f"All judgements of {kind} are {'high' if high else 'low'}.")
        self.kind, self.high = kind, high


class NotANumber(TrainingFailed):
    """A feature, a value or a weight is no number."""


class Diverged(TrainingFailed):
    """The weights ran away instead of settling."""


class Cancelled(TrainingFailed):
    """Somebody asked the run to stop."""
