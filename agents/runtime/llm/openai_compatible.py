"""Any server that speaks OpenAI's chat completions: OpenAI itself, llama.cpp, vLLM, Ollama and others."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from agents.runtime.llm import LlmSettings
from agents.runtime.llm.openai_errors import as_llm_error, broken, empty, silent, too_long, unusable_address
from agents.runtime.llm.port import Delta, LlmBroken, LlmRefused, LlmUnreachable, Message
from agents.runtime.recalled import RecalledMemory
from memory.engine.text import clean_text

MAX_REPLY_LETTERS = 400_000  # a server that never stops is stopped here
MAX_DELTA_LETTERS = 4_096  # a delta travels through a token stream whose records are small
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class OpenAiCompatibleBackend:
    """Streams replies through the openai SDK.

    One connection per reply, closed with it: a stopped turn stops the server's work at once, and nothing is
    tied to an event loop. Before the first word, a server that cannot be reached, fails (5xx) or breaks off
    is asked again after a growing pause; 4xx and silence never are.
    """

    def __init__(
        self,
        settings: LlmSettings,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        dice: random.Random | None = None,
    ) -> None:
        self._settings = settings
        self._sleep = sleep
        self._dice = dice or random.Random()
        self._listed_model = ""

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        recalled: Sequence[RecalledMemory],
        asking: bool,
        max_tokens: int,
    ) -> AsyncGenerator[Delta, None]:
        """Stream the reply; see `LlmBackend.stream`. `recalled` and `asking` are already in the messages."""
        for attempt in range(1, self._settings.attempts + 1):
            began = False
            try:
                async with aclosing(self._attempt(messages, max_tokens)) as pieces:
                    async for piece in pieces:
                        began = True
                        yield piece
                return
            except (LlmUnreachable, LlmBroken) as error:
                if began or not error.retryable or attempt == self._settings.attempts:
                    raise
            await self._sleep(self._pause(attempt))

    def _pause(self, attempt: int) -> float:
        """Doubling, with up to half of it by chance, so that many waiting turns do not come back at once."""
        return self._settings.first_pause_s * 2.0 ** (attempt - 1) * (1 + self._dice.random() / 2)

    async def _attempt(self, messages: Sequence[Message], max_tokens: int) -> AsyncGenerator[Delta, None]:
        try:
            client = self._client()
        except (httpx2.InvalidURL, ValueError):
            raise unusable_address() from None
        async with client:
            chunks = await self._open(client, messages, max_tokens)
            try:
                async with aclosing(self._pieces(chunks)) as pieces:
                    async for piece in pieces:
                        yield piece
            finally:
                await chunks.close()

    async def _pieces(self, chunks: Any) -> AsyncGenerator[Delta, None]:
        """The text of a stream of chunks, in pieces of bounded size; raises if no finish reason came."""
        joiner = _Joiner()
        finish, letters = "", 0
        while (chunk := await self._next(chunks)) is not None:
            text, reason = _read(chunk)
            finish = reason or finish
            text = joiner.feed(text)
            letters += len(text)
            for start in range(0, len(text), MAX_DELTA_LETTERS):
                yield text[start : start + MAX_DELTA_LETTERS]
            if letters > MAX_REPLY_LETTERS:
                raise too_long()
        if not finish:
            raise broken()
        if not letters:
            raise empty(finish)

    async def _next(self, chunks: Any) -> object | None:
        """The next chunk, None at the end. Comments that keep a connection warm are no sign of life."""
        try:
            async with asyncio.timeout(self._settings.read_s):
                chunk: object = await anext(chunks)
        except StopAsyncIteration:
            return None
        except TimeoutError:
            raise silent() from None
        except openai.OpenAIError as error:
            raise as_llm_error(error, streaming=True) from None
        except ValueError:  # a line that is not JSON, or not UTF-8
            raise broken() from None
        return chunk

    async def _open(self, client: openai.AsyncOpenAI, messages: Sequence[Message], max_tokens: int) -> Any:
        """Send the request and wait for the head of the answer."""
        create: Any = client.chat.completions.create
        try:
            async with asyncio.timeout(self._settings.connect_s + self._settings.read_s):
                request = self._request(await self._model(client), messages, max_tokens)
                return await create(**request)
        except TimeoutError:
            raise silent() from None
        except openai.OpenAIError as error:
            known = as_llm_error(error, streaming=False)
            if isinstance(known, LlmRefused):
                self._listed_model = ""  # the server may have been given another model meanwhile
            raise known from None
        except ValueError:  # a key that no header can hold, or a list of models that is not JSON
            raise unusable_address() from None

    def _request(self, model: str, messages: Sequence[Message], max_tokens: int) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": model,
            "messages": [{"role": m.role, "content": clean_text(m.content)} for m in messages],
            "stream": True,
        }
        # OpenAI's newer models know only the new name, most compatible servers only the old one.
        of_openai = (urlsplit(self._settings.base_url).hostname or "").endswith("openai.com")
        request["max_completion_tokens" if of_openai else "max_tokens"] = max_tokens
        if self._settings.temperature is not None:
            request["temperature"] = self._settings.temperature
        return request

    async def _model(self, client: openai.AsyncOpenAI) -> str:
        """The model of the settings, else the first that the server lists (asked once)."""
        if self._settings.model:
            return self._settings.model
        if not self._listed_model:
            models = await client.models.list()
            first = next(iter(getattr(models, "data", None) or ()), None)
            name = getattr(first, "id", None)
            if not isinstance(name, str) or not name:
                raise LlmRefused(
                    "llm_no_model",
                    "The language model's server lists no model. Load one there, or name one in AGORA_LLM_MODEL.",
                )
            self._listed_model = name
        return self._listed_model

    def _client(self) -> openai.AsyncOpenAI:
        parts = urlsplit(self._settings.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise unusable_address()
        base_url = self._settings.base_url if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/v1"
        client = openai.AsyncOpenAI(
            api_key=self._settings.api_key or "none",  # a local server wants none, the SDK wants some
            base_url=base_url,
            organization="",
            project="",
            max_retries=0,
            timeout=openai.Timeout(self._settings.read_s, connect=self._settings.connect_s),
            http_client=openai.DefaultAsyncHttpx2Client(
                verify=_certificates() if parts.scheme == "https" else False,
                trust_env=parts.hostname not in _LOOPBACK,  # a proxy has no way to this machine
            ),
        )
        # Given as "" so that the SDK does not look into the environment, then taken out of the headers.
        client.organization = client.project = None
        return client


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Reading the certificates takes 30 ms, so they are read once."""
    return httpx2.create_ssl_context()


class _Joiner:
    """Joins characters cut in two: some servers escape each half of a surrogate pair in its own delta."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Clean text that can be passed on now; half a character waits for its other half."""
        text = self._held + text
        self._held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return clean_text(text[: len(text) - len(self._held)])


def _read(chunk: object) -> tuple[str, str]:
    """Text and finish reason of a chunk. The SDK checks no types, so nothing is taken for granted."""
    choices = getattr(chunk, "choices", None)
    if not isinstance(choices, list) or not choices:
        return "", ""
    text = getattr(getattr(choices[0], "delta", None), "content", None)
    reason = getattr(choices[0], "finish_reason", None)
    return text if isinstance(text, str) else "", reason if isinstance(reason, str) else ""
