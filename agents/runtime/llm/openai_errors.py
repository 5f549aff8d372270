"""What an OpenAI-compatible server's failures mean, in the words of the port.

Nothing that the server wrote reaches a sentence: servers repeat keys and prompts in their errors.
"""

from __future__ import annotations

import httpx2
import openai

from agents.runtime.llm.port import LlmBroken, LlmError, LlmRefused, LlmTimeout, LlmUnreachable

_REFUSALS = {
    401: "refused the key: it is missing or wrong. Whoever runs AGORA can set it in AGORA_LLM_API_KEY",
    402: "wants to be paid first. Whoever runs AGORA can look at the account there",
    403: "does not allow this key to use the model. Whoever runs AGORA can choose another model or key",
    404: "does not know this model or this address. An administrator can check the agent's model, and "
    "AGORA_LLM_BASE_URL, which mostly ends in /v1",
    408: "gave up waiting for the request. Try again",
    413: "says that the request is too long. Send less at once, or lower the agent's context budget",
    429: "is busy, or its quota is used up. Wait a minute, then try again",
}
_LATER = {408, 429}
_MALFORMED = (
    "did not accept the request. A shorter message or a smaller context budget of the agent may help, or another model"
)


def as_llm_error(error: openai.OpenAIError, *, streaming: bool) -> LlmError:
    """Translate an error of the SDK; `streaming` says that the server had begun to answer."""
    if isinstance(error, openai.APIStatusError):
        return _of_status(error.status_code)
    if isinstance(error, openai.APITimeoutError):
        return unreachable() if isinstance(error.__cause__, httpx2.ConnectTimeout) else silent()
    if isinstance(error, openai.APIConnectionError):
        return broken() if streaming else unreachable()
    return broken()


def _of_status(status: int) -> LlmError:
    if status >= 500:
        return LlmUnreachable(
            f"llm_http_{status}",
            f"The language model's server failed (HTTP {status}). Try again; if it goes on, whoever runs "
            "the server finds the cause in its log.",
        )
    if status < 400:
        return broken()
    what = _REFUSALS.get(status, _MALFORMED)
    return LlmRefused(
        f"llm_http_{status}",
        f"The language model's server {what} (HTTP {status}).",
        retryable=status in _LATER,
    )


def unreachable() -> LlmUnreachable:
    """Nobody answers at the address."""
    return LlmUnreachable(
        "llm_unreachable",
        "The language model's server cannot be reached. Check that it runs and that AGORA_LLM_BASE_URL "
        "is its address, then try again.",
    )


def unusable_address() -> LlmUnreachable:
    """Address or key cannot be used at all; trying again changes nothing."""
    return LlmUnreachable(
        "llm_address",
        "The address or the key of the language model's server cannot be used. Whoever runs AGORA can set "
        "AGORA_LLM_BASE_URL (it begins with http:// or https://) and AGORA_LLM_API_KEY.",
        retryable=False,
    )


def silent() -> LlmTimeout:
    """The server took the request and fell silent."""
    return LlmTimeout(
        "llm_timeout",
        "The language model took too long to answer. Try again; a smaller or less busy model answers sooner.",
    )


def broken() -> LlmBroken:
    """The stream ended too early or made no sense."""
    return LlmBroken(
        "llm_broken",
        "The language model's answer broke off. What had come by then is kept; try again for a whole one.",
    )


def too_long() -> LlmBroken:
    """The server went on and on."""
    return LlmBroken("llm_too_long", "The language model did not stop writing, so it was stopped. Try again.")


def empty(finish: str) -> LlmError:
    """The reply ended without a word; `finish` is the server's reason."""
    if finish == "content_filter":
        return LlmRefused(
            "llm_filtered",
            "The language model's server withheld the answer by its own rules. Ask in another way.",
        )
    return LlmBroken("llm_empty", "The language model answered with nothing. Try again, or choose another model.")
