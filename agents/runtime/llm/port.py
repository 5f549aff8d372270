"""What a turn asks of a language model, and what can go wrong: the one interface that every backend fills."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from agents.runtime.recalled import RecalledMemory

Delta: TypeAlias = str
"""A piece of a reply, never empty. It may end inside a grapheme: join pieces before cutting them."""


@dataclass(frozen=True)
class Message:
    """One message of a prompt; `role` is system, user or assistant."""

    role: str
    content: str


class LlmError(Exception):
    """A language model that did not answer as it should.

    `code` is for programs; `sentence` tells a person cause and cure and holds no key and no message text;
    `retryable` says whether the same request may succeed later with nothing changed. What was streamed before
    the error is still good: the caller keeps it.
    """

    retryable = False

    def __init__(self, code: str, sentence: str, *, retryable: bool | None = None) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        if retryable is not None:
            self.retryable = retryable


class LlmUnreachable(LlmError):
    """No connection, or the server failed by itself (5xx). Tried again before the first word."""

    retryable = True


class LlmRefused(LlmError):
    """The server understood and said no (4xx). Never tried again by itself."""


class LlmBroken(LlmError):
    """The stream ended before the reply did, or made no sense. Not tried again once text has come."""

    retryable = True


class LlmTimeout(LlmError):
    """The server took the request and then was silent for too long."""

    retryable = True


class LlmBackend(Protocol):
    """Something that answers a prompt, piece by piece."""

    def stream(
        self,
        messages: Sequence[Message],
        *,
        recalled: Sequence[RecalledMemory],
        asking: bool,
        max_tokens: int,
    ) -> AsyncGenerator[Delta, None]:
        """Stream the reply to the last message.

        `recalled` and `asking` (whether the person asks rather than tells) are for backends that answer
        without a model; the others ignore them. Iterate inside `contextlib.aclosing`, so that leaving early
        closes the connection at once; cancelling the task does the same. Raises LlmError.
        """
        ...


@dataclass(frozen=True)
class Completion:
    """A reply read to its end, or to the error that ended it."""

    text: str
    error: LlmError | None = None


async def complete(
    backend: LlmBackend,
    messages: Sequence[Message],
    *,
    recalled: Sequence[RecalledMemory] = (),
    asking: bool = False,
    max_tokens: int,
) -> Completion:
    """Read a whole reply. An LlmError is returned beside the text that came before it, not raised."""
    pieces: list[Delta] = []
    try:
        async with aclosing(
            backend.stream(messages, recalled=recalled, asking=asking, max_tokens=max_tokens)
        ) as stream:
            async for piece in stream:
                pieces.append(piece)
    except LlmError as error:
        return Completion("".join(pieces), error)
    return Completion("".join(pieces))
