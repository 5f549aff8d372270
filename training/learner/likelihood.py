"""What training asks of a language model: how likely it finds a reply. Who fills it is not learning's business."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memory.engine.types import BankError


class LikelihoodUnavailable(BankError):
    """There is no model that gives likelihoods here; the sentence says what is missing."""

    retryable = False


class LikelihoodScorer(Protocol):
    """A model that says how likely it would have given a reply."""

    def likelihoods(self, prompts: Sequence[str], reply: str) -> list[float]:
        """The log-likelihood of `reply` after each of these user messages: in nats, summed over its tokens.

        A long reply is scored by its beginning, by the same tokens after each prompt. Raises `LikelihoodUnavailable`.
        """
        ...
