"""What a reply would have been without one of its memories: by how much less likely it becomes when that is masked.

The model that scores is not the one that replied, so what counts is only how the likelihood changes, never its height.
Two memories that say the same hide each other: each is masked alone, and the other still tells. So a small change says
little, and only a large one makes a memory important.
"""

from __future__ import annotations

from collections.abc import Sequence

from training.learner.likelihood import LikelihoodScorer

FULL = 3.0  # nats: a reply twenty times as likely with the memory as without it needed it (docs/lab-log.md)
LETTERS = 900  # of one memory, which is a piece that fits the encoder; what is longer is cut


def effects(scorer: LikelihoodScorer, memories: Sequence[str], observation: str, reply: str) -> list[float]:
    """By how many nats each of these memories (the texts that the prompt held, in its order) raised the reply's
    likelihood, (N,). Costs N + 1 readings of the prompt."""
    masked = [[text for other, text in enumerate(memories) if other != one] for one in range(len(memories))]
    prompts = [prompt_of(shown, observation) for shown in (memories, *masked)]
    whole, *without = scorer.likelihoods(prompts, reply)
    return [whole - less for less in without]


def prompt_of(memories: Sequence[str], observation: str) -> str:
    """Notes above the question, as a small model reads them best."""
    if not memories:
        return observation
    notes = "\n".join(f"- {' '.join(text.split())[:LETTERS]}" for text in memories)
    return f"Notes from earlier turns:\n{notes}\n\n{observation}"


def needed(effect: float) -> float:
    """How much the reply needed a memory, 0 to 1, by what it added to its likelihood in nats."""
    return min(max(effect / FULL, 0.0), 1.0)
