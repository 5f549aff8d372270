"""The OpenAI-compatible backend against a real HTTP server, one test for each way in which servers fail."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from agents.runtime.llm import LlmSettings, make_backend
from agents.runtime.llm.openai_compatible import MAX_DELTA_LETTERS, OpenAiCompatibleBackend
from agents.runtime.llm.port import (
    Completion,
    LlmBroken,
    LlmError,
    LlmRefused,
    LlmTimeout,
    LlmUnreachable,
    Message,
    complete,
)
from tests.scripted_llm import Script, ScriptedLlm, Seen

SECRET = "sk-secret-of-this-test"


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedLlm]:
    with ScriptedLlm() as running:
        yield running


@pytest.fixture
def llm(server: ScriptedLlm) -> ScriptedLlm:
    server.reset()
    return server


class Pauses:
    """A sleep that takes no time and remembers what it was asked for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def backend(url: str, pauses: Pauses | None = None, **changes: object) -> OpenAiCompatibleBackend:
    known: dict[str, object] = {
        "base_url": url,
        "api_key": SECRET,
        "model": "m",
        "read_s": 5.0,
        "connect_s": 2.0,
    }
    settings = LlmSettings(**(known | changes))  # type: ignore[arg-type]
    return OpenAiCompatibleBackend(settings, sleep=pauses or Pauses(), dice=random.Random(1))


async def ask(llm: OpenAiCompatibleBackend, text: str = "private words", max_tokens: int = 50) -> Completion:
    return await complete(llm, [Message("user", text)], max_tokens=max_tokens)


async def until(seen: Seen, name: str) -> None:
    for _ in range(200):
        if getattr(seen, name):
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"the server never saw {name}")


async def test_a_reply_arrives_in_pieces_and_whole(llm: ScriptedLlm) -> None:
    llm.queue(Script(text="one two  three\nfour"))
    pieces = []
    async for piece in backend(llm.base_url).stream(
        [Message("system", "s"), Message("user", "u")], recalled=(), asking=False, max_tokens=7
    ):
        pieces.append(piece)
    assert "".join(pieces) == "one two  three\nfour"
    assert len(pieces) > 1
    [seen] = llm.requests
    assert seen.body["messages"] == [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    assert (seen.body["max_tokens"], seen.body["stream"], seen.body["model"]) == (7, True, "m")
    assert seen.headers["authorization"] == f"Bearer {SECRET}"
    assert "openai-organization" not in seen.headers
    assert "openai-project" not in seen.headers


async def test_the_environment_of_the_sdk_is_not_read(llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-someone-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-x")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-x")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert (await ask(backend(llm.base_url, api_key=""))).error is None
    assert llm.requests[0].headers["authorization"] == "Bearer none"
    assert not {"openai-organization", "openai-project"} & set(llm.requests[0].headers)


async def test_a_base_url_without_a_path_gets_v1(llm: ScriptedLlm) -> None:
    assert (await ask(backend(llm.base_url.removesuffix("/v1")))).error is None
    assert llm.requests[0].path == "/v1/chat/completions"


async def test_no_model_named_means_the_first_that_the_server_lists_asked_once(llm: ScriptedLlm) -> None:
    one = backend(llm.base_url, model="")
    await ask(one)
    await ask(one)
    assert [seen.path for seen in llm.requests].count("/v1/models") == 1
    assert {seen.body["model"] for seen in llm.chats} == {"scripted-1"}


async def test_a_server_without_any_model_is_refused_with_the_cure() -> None:
    with ScriptedLlm(models=()) as bare:
        result = await ask(backend(bare.base_url, model=""))
    assert isinstance(result.error, LlmRefused)
    assert "AGORA_LLM_MODEL" in result.error.sentence


async def test_a_listed_model_is_looked_up_again_after_a_refusal(llm: ScriptedLlm) -> None:
    one = backend(llm.base_url, model="")
    llm.queue(Script("status", status=404))
    await ask(one)
    await ask(one)
    assert [seen.path for seen in llm.requests].count("/v1/models") == 2


@pytest.mark.parametrize(
    ("status", "words", "again"),
    [
        (400, "shorter message", False),
        (401, "AGORA_LLM_API_KEY", False),
        (403, "does not allow", False),
        (404, "AGORA_LLM_BASE_URL", False),
        (413, "too long", False),
        (422, "did not accept", False),
        (429, "Wait a minute", True),
    ],
)
async def test_a_4xx_is_never_retried_by_itself(llm: ScriptedLlm, status: int, words: str, again: bool) -> None:
    llm.queue(Script("status", status=status))
    pauses = Pauses()
    result = await ask(backend(llm.base_url, pauses))
    assert isinstance(result.error, LlmRefused)
    assert (result.error.code, result.error.retryable) == (f"llm_http_{status}", again)
    assert words in result.error.sentence
    assert (len(llm.requests), pauses.seconds) == (1, [])


async def test_a_5xx_is_retried_after_growing_pauses_until_it_works(llm: ScriptedLlm) -> None:
    llm.queue(Script("status", status=500), Script("status", status=503), Script(text="at last"))
    pauses = Pauses()
    result = await ask(backend(llm.base_url, pauses))
    assert result == Completion("at last")
    assert len(llm.requests) == 3
    first, second = pauses.seconds
    assert 0.5 <= first <= 0.75
    assert 1.0 <= second <= 1.5


async def test_a_5xx_that_stays_is_told_after_the_last_attempt(llm: ScriptedLlm) -> None:
    llm.queue(*[Script("status", status=502)] * 5)
    result = await ask(backend(llm.base_url, attempts=2))
    assert isinstance(result.error, LlmUnreachable)
    assert (result.error.code, result.error.retryable, len(llm.requests)) == ("llm_http_502", True, 2)


async def test_a_server_that_does_not_run_is_unreachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pauses = Pauses()
    result = await ask(backend(f"http://127.0.0.1:{port}/v1", pauses))
    assert isinstance(result.error, LlmUnreachable)
    assert result.error.code == "llm_unreachable"
    assert len(pauses.seconds) == 2


@pytest.mark.parametrize("kind", ["hang", "silent"])
async def test_silence_is_a_timeout_and_not_retried(llm: ScriptedLlm, kind: str) -> None:
    llm.queue(Script(kind, text="a b c d e f", after=2))
    pauses = Pauses()
    result = await ask(backend(llm.base_url, pauses, read_s=0.3, connect_s=0.3))
    assert isinstance(result.error, LlmTimeout)
    assert result.text == ("a b " if kind == "silent" else "")
    assert (len(llm.requests), pauses.seconds) == (1, [])
    await until(llm.requests[0], "disconnected")


@pytest.mark.parametrize("kind", ["broken", "cut", "malformed", "error"])
async def test_a_broken_stream_keeps_the_partial_reply_and_is_not_retried(llm: ScriptedLlm, kind: str) -> None:
    llm.queue(Script(kind, text="a b c d e f", after=3))
    result = await ask(backend(llm.base_url))
    assert result.text == "a b c "
    assert isinstance(result.error, LlmBroken)
    assert result.error.retryable
    assert len(llm.requests) == 1


@pytest.mark.parametrize("kind", ["broken", "cut", "malformed", "error", "nothing", "html", "empty"])
async def test_a_stream_that_breaks_before_the_first_word_is_tried_again(llm: ScriptedLlm, kind: str) -> None:
    llm.queue(Script(kind, text="" if kind == "empty" else "a b c", after=0), Script(text="whole"))
    assert await ask(backend(llm.base_url)) == Completion("whole")
    assert len(llm.requests) == 2


async def test_a_reply_of_no_words_is_said_to_be_empty(llm: ScriptedLlm) -> None:
    llm.queue(*[Script("empty")] * 3)
    result = await ask(backend(llm.base_url))
    assert isinstance(result.error, LlmBroken)
    assert result.error.code == "llm_empty"


async def test_odd_deltas_are_survived_and_halved_characters_joined(llm: ScriptedLlm) -> None:
    llm.queue(Script("odd", text="start"))
    assert await ask(backend(llm.base_url)) == Completion("start nul and \U0001f600 and  lone")


async def test_a_huge_delta_is_passed_on_in_bounded_pieces(llm: ScriptedLlm) -> None:
    llm.queue(Script(text="x" * 100_000))
    pieces = [
        piece
        async for piece in backend(llm.base_url).stream([Message("user", "u")], recalled=(), asking=False, max_tokens=9)
    ]
    assert max(map(len, pieces)) == MAX_DELTA_LETTERS
    assert "".join(pieces) == "x" * 100_000


async def test_a_server_that_never_stops_writing_is_stopped(llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.runtime.llm.openai_compatible.MAX_REPLY_LETTERS", 1_000)
    llm.queue(Script(text="on and on " * 400))
    result = await ask(backend(llm.base_url))
    assert isinstance(result.error, LlmBroken)
    assert (result.error.code, 1_000 < len(result.text) < 1_100) == ("llm_too_long", True)


async def test_cancelling_the_task_closes_the_connection_at_once(llm: ScriptedLlm) -> None:
    llm.queue(Script(text="word " * 500, delay_s=0.02))
    got: list[str] = []

    async def read() -> None:
        async with aclosing(
            backend(llm.base_url).stream([Message("user", "u")], recalled=(), asking=False, max_tokens=9)
        ) as stream:
            async for piece in stream:
                got.append(piece)

    task = asyncio.create_task(read())
    while len(got) < 3:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1)
    await until(llm.requests[0], "disconnected")
    assert len(got) < 100


async def test_leaving_the_stream_early_closes_the_connection(llm: ScriptedLlm) -> None:
    llm.queue(Script(text="word " * 500, delay_s=0.02))
    async with aclosing(
        backend(llm.base_url).stream([Message("user", "u")], recalled=(), asking=False, max_tokens=9)
    ) as stream:
        assert await anext(stream) == "word "
    await until(llm.requests[0], "disconnected")


async def test_cancelling_while_the_server_thinks_ends_at_once(llm: ScriptedLlm) -> None:
    llm.queue(Script("hang"))
    task = asyncio.create_task(ask(backend(llm.base_url)))
    while not llm.requests:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1)
    await until(llm.requests[0], "disconnected")


@pytest.mark.parametrize("url", ["", "localhost:8000/v1", "ftp://127.0.0.1/v1", "http://", "http://[::bad/v1"])
async def test_an_address_that_is_none_is_told_without_retry(url: str) -> None:
    pauses = Pauses()
    result = await ask(backend(url, pauses))
    assert isinstance(result.error, LlmUnreachable)
    assert (result.error.code, result.error.retryable, pauses.seconds) == ("llm_address", False, [])


@pytest.mark.parametrize("key", ["schlüssel", "two\nlines", "\udc00"])
async def test_a_key_that_no_header_can_hold_is_an_error_with_a_sentence(llm: ScriptedLlm, key: str) -> None:
    result = await ask(backend(llm.base_url, api_key=key))
    assert isinstance(result.error, LlmError)
    assert "AGORA_LLM" in result.error.sentence
    assert llm.requests == []


async def test_unstorable_signs_in_a_message_do_not_break_the_request(llm: ScriptedLlm) -> None:
    assert (await ask(backend(llm.base_url), "a\x00b\ud800c \U0001f469‍\U0001f467")).error is None
    assert llm.requests[0].body["messages"][0]["content"] == "abc \U0001f469‍\U0001f467"


@pytest.mark.parametrize(
    "script",
    [
        *(Script("status", status=status) for status in (400, 401, 403, 404, 418, 429, 500)),
        Script("error", text="a b", after=1),
        Script("broken", text="a b", after=1),
    ],
)
async def test_no_sentence_holds_the_key_or_the_message(llm: ScriptedLlm, script: Script) -> None:
    llm.queue(*[script] * 3)
    result = await ask(backend(llm.base_url), "my most private words")
    assert result.error is not None
    for told in (result.error.sentence, str(result.error), repr(result.error)):
        assert SECRET not in told
        assert "private" not in told
    assert result.error.__cause__ is None
    assert SECRET not in repr(LlmSettings(api_key=SECRET))


async def test_a_marker_fails_once_so_that_trying_again_works(llm: ScriptedLlm) -> None:
    one = backend(llm.base_url, attempts=1)
    failed = await ask(one, "hello [[once:status:500]]")
    again = await ask(one, "hello [[once:status:500]]")
    assert failed.error is not None
    assert again.error is None
    assert again.text.startswith("A scripted reply")


async def test_a_backend_serves_several_event_loops(llm: ScriptedLlm) -> None:
    one = backend(llm.base_url)
    texts = [
        (await asyncio.to_thread(lambda: asyncio.run(ask(one)))).text,
        (await ask(one)).text,
    ]
    assert all(text.startswith("A scripted reply") for text in texts)


def test_backends_are_made_by_name_and_an_unknown_one_is_refused() -> None:
    assert isinstance(make_backend("openai", LlmSettings(base_url="http://x")), OpenAiCompatibleBackend)
    with pytest.raises(LlmRefused, match="choose one of: openai, quote"):
        make_backend("telepathy", LlmSettings())
