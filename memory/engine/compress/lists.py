"""Step-level compression: the best steps of an agent's message list within a token budget, each whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memory.engine.adapter import Adapter
from memory.engine.compress.floor import FloorRules, floor_of
from memory.engine.compress.identifiers import Reading
from memory.engine.compress.messages import SYSTEM_ROLES, Message, Step, split_steps, to_openai
from memory.engine.compress.selection import Kept, TokenCounter, choose, marker_text
from memory.engine.compress.worth import use_chances, words_worth
from memory.engine.prior import prior
from memory.engine.text import count_tokens
from memory.engine.types import Floats

POWERS = (1.0, 0.5, 0.0)  # steps are ranked by worth per token^power; the power that keeps most is taken


@dataclass(frozen=True)
class Compressed:
    """What is left of a message list.

    `messages`: the kept ones as they came, and a marker wherever steps were dropped; `kept` and `dropped`: the numbers
    of steps, and `floor` those that always stay; `tokens_before` and `tokens`: by the counter passed in, markers
    included. `over_budget`: the floor alone is larger than the budget, so it is all that was kept.
    """

    messages: tuple[Message, ...]
    steps: tuple[Step, ...]
    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    floor: frozenset[int]
    tokens_before: int
    tokens: int
    over_budget: bool

    def to_openai(self) -> list[Mapping[str, object]]:
        """The messages in the form of OpenAI's chat completions; markers speak as a user."""
        return to_openai(self.messages)


@dataclass(frozen=True)
class Judged:
    """A message list with all that does not depend on the budget."""

    messages: tuple[Message, ...]
    steps: tuple[Step, ...]
    tokens: tuple[int, ...]  # of each step
    floor: frozenset[int]
    names: tuple[frozenset[str], ...]  # the identifiers that each step shows
    chances: Mapping[str, float]  # of each identifier to be passed on next
    own: tuple[float, ...]  # what each step's words are worth


def compress(
    messages: Sequence[Message],
    budget: int,
    *,
    rules: FloorRules | None = None,
    count: TokenCounter = count_tokens,
    adapter: Adapter | None = None,
    vectors: Floats | None = None,
    reading: Reading | None = None,
) -> Compressed:
    """Keep the floor word for word and the best other steps within `budget` tokens; drop the rest whole.

    The budget is for the whole list: system prompt, floor, steps and markers. A list within it comes back as it is.
    A floor larger than the budget comes back alone with `over_budget` set: an agent amid its work must go
    on, and only its caller knows whether to pay, to stop or to loosen the rules. `count` is the model's own tokenizer
    where it is known. `vectors` (S, E) may hold one unit vector for each of `split_steps(messages)`.
    `reading`, kept by the caller from step to step of one conversation, spares reading the same messages again.
    Raises ValueError for a budget below 0 and for vectors of another number than the steps.
    """
    if budget < 0:
        raise ValueError(f"A budget of {budget} tokens cannot be held; 0 is the least.")
    return fit(
        judge(messages, rules=rules, count=count, adapter=adapter, vectors=vectors, reading=reading), budget, count
    )


def judge(
    messages: Sequence[Message],
    *,
    rules: FloorRules | None = None,
    count: TokenCounter = count_tokens,
    adapter: Adapter | None = None,
    vectors: Floats | None = None,
    reading: Reading | None = None,
) -> Judged:
    """Find the steps, the floor and what each step is worth; `fit` then answers for any budget."""
    rules, reading = rules or FloorRules(), reading or Reading()
    steps = split_steps(messages)
    if vectors is not None and len(vectors) != len(steps):
        raise ValueError(f"There are {len(steps)} steps, but {len(vectors)} vectors.")
    # What a system prompt shows is no news: an identifier that is an example there is still worth keeping where told.
    talk = [step for step in steps if step.role not in SYSTEM_ROLES]
    names = tuple(frozenset() if step.role in SYSTEM_ROLES else _names(step, reading) for step in steps)
    return Judged(
        messages=tuple(messages),
        steps=steps,
        tokens=tuple(sum(count(message.shown) for message in step.messages) for step in steps),
        floor=floor_of(steps, rules),
        names=names,
        chances=use_chances(talk, reading),
        own=tuple(words_worth(steps, adapter or prior(), reading, vectors)),
    )


def _names(step: Step, reading: Reading) -> frozenset[str]:
    return frozenset(one.name for message in step.messages for one in reading.showings(message.shown))


def fit(judged: Judged, budget: int, count: TokenCounter = count_tokens) -> Compressed:
    """Choose within a budget among steps that were judged."""
    if sum(judged.tokens) <= budget:
        return assemble(judged, range(len(judged.steps)), budget, count)
    choices: list[tuple[float, list[int]]] = []
    for power in POWERS:
        kept = Kept(judged.tokens, judged.floor, count)
        kept.close_gaps()
        if kept.tokens > budget:
            return assemble(judged, kept.steps, budget, count)
        worth = choose(kept, budget, judged.names, judged.chances, judged.own, power)
        kept.close_gaps()
        choices.append((worth, kept.steps))
    return assemble(judged, max(choices, key=lambda choice: choice[0])[1], budget, count)


def assemble(judged: Judged, kept: Sequence[int], budget: int, count: TokenCounter = count_tokens) -> Compressed:
    """The message list of the kept steps (their numbers, rising), with a counted marker in each gap."""
    messages: list[Message] = []
    for before, at in pairwise([-1, *kept, len(judged.steps)]):
        if at - before > 1:
            messages.append(Message("user", marker_text(at - before - 1)))
        if at < len(judged.steps):
            messages += judged.steps[at].messages
    tokens = sum(count(message.shown) for message in messages)
    return Compressed(
        messages=tuple(messages),
        steps=judged.steps,
        kept=tuple(kept),
        dropped=tuple(sorted(set(range(len(judged.steps))) - set(kept))),
        floor=judged.floor,
        tokens_before=sum(judged.tokens),
        tokens=tokens,
        over_budget=tokens > budget,
    )
