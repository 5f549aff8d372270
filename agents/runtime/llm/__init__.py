"""LLM backends by name. Each is one file; what they share is in `port`.

A backend is imported when it is first asked for: the OpenAI client alone takes a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import tzinfo

from agents.runtime.llm.port import LlmBackend, LlmRefused


@dataclass(frozen=True)
class LlmSettings:
    """Everything that backends are configured with; each reads what it needs. Times are in seconds.

    `base_url` without a path gets /v1. An empty `model` means the first that the server lists. `read_s` is
    how long the server may be silent, before the first word and between two. `attempts` counts the first one.
    `zone` and `reader` (the name of the person who talks) are for backends that write dates and names
    themselves; `word_pause_s` lets such a backend's words appear one after the other.
    """

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    model: str = ""
    temperature: float | None = None
    connect_s: float = 5.0
    read_s: float = 60.0
    attempts: int = 3
    first_pause_s: float = 0.5
    zone: tzinfo | None = None
    reader: str = ""
    word_pause_s: float = 0.0


BackendFactory = Callable[[LlmSettings], LlmBackend]


def _quote(settings: LlmSettings) -> LlmBackend:
    from agents.runtime.llm.quote import QuoteBackend

    return QuoteBackend(zone=settings.zone, reader=settings.reader, word_pause_s=settings.word_pause_s)


def _openai(settings: LlmSettings) -> LlmBackend:
    from agents.runtime.llm.openai_compatible import OpenAiCompatibleBackend

    return OpenAiCompatibleBackend(settings)


BACKENDS: dict[str, BackendFactory] = {"quote": _quote, "openai": _openai}


def make_backend(name: str, settings: LlmSettings) -> LlmBackend:
    """Make the backend `name`: cheap, holds no connection. Raises LlmRefused for an unknown name."""
    factory = BACKENDS.get(name)
    if factory is None:
        known = ", ".join(sorted(BACKENDS))
        raise LlmRefused(
            "llm_unknown_backend",
            f"This agent is set to an LLM backend that does not exist. An administrator can choose one of: {known}.",
        )
    return factory(settings)
