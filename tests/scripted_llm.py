"""A real OpenAI-compatible HTTP server on loopback that answers by script: the tests' stand-in for a model.

In a test:          with ScriptedLlm() as llm: llm.queue(Script("status", status=500)); ... llm.requests
As a process:       python -m tests.scripted_llm --port 0      (prints {"base_url": ...} as its first line)
From elsewhere:     POST /script with a JSON list of scripts, GET /requests, POST /reset

Each request takes the next queued script; with none queued, a marker in the last user message; else the plain
reply. Markers: [[reply:text]] [[status:500]] [[hang]] [[broken:3]] [[cut:3]] [[silent:2]] [[malformed:1]]
[[error:1]] [[empty]] [[nothing]] [[odd]] [[html]] [[long:20000]] [[slow:0.2]], and with `once:` before the
kind, as in [[once:status:500]], the first time that this very message comes and the plain reply after it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import threading
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any

MODEL = "scripted-1"
_MARKER = re.compile(r"\[\[(once:)?([a-z]+)(?::([^\]]*))?\]\]")
_PIECES = re.compile(r"\s*\S+\s*")


@dataclass
class Script:
    """What one request gets.

    `kind`: reply; status (an HTTP error); hang (no answer at all); broken (the connection is reset after
    `after` pieces); cut (it ends cleanly but early); silent (open, but no event after `after` pieces);
    malformed (a line that is not JSON after `after` pieces); error (an error event there); empty (a reply of
    no words); nothing (a stream without events); odd (deltas of every legal and illegal shape); html (a web
    page); raw (the events of `raw` as they are).
    """

    kind: str = "reply"
    text: str = ""
    status: int = 200
    after: int = 0
    delay_s: float = 0.0
    raw: list[Any] = field(default_factory=list)


@dataclass
class Seen:
    """One request as it came; `disconnected` when the client left before the answer was complete."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    disconnected: bool = False
    finished: bool = False


class ScriptedLlm:
    """The server in a thread of its own, as a context manager. `port` 0 takes a free one."""

    def __init__(self, port: int = 0, api_key: str = "", models: tuple[str, ...] = (MODEL,)) -> None:
        self.port = port
        self.api_key = api_key
        self.models = models
        self.requests: list[Seen] = []
        self._scripts: deque[Script] = deque()
        self._spent: set[str] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def chats(self) -> list[Seen]:
        """The chat requests alone, oldest first."""
        return [seen for seen in self.requests if seen.path.endswith("/chat/completions")]

    def queue(self, *scripts: Script) -> None:
        """Answer the next requests by these scripts, one each."""
        self._scripts.extend(scripts)

    def reset(self) -> None:
        """Forget scripts and requests."""
        self._scripts.clear()
        self._spent.clear()
        self.requests.clear()

    def __enter__(self) -> ScriptedLlm:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("The scripted LLM did not start.")
        return self

    def __exit__(self, _t: type[BaseException] | None, _e: BaseException | None, _b: TracebackType | None) -> None:
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(10)

    async def serve(self) -> None:
        """Serve until stopped; `port` and `base_url` are right once `_ready` is set."""
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one answer, connection closed: nothing is left to chance between requests."""
        seen: Seen | None = None
        try:
            seen = await _read_request(reader)
            self.requests.append(seen)
            answer = asyncio.ensure_future(self._answer(seen, writer))
            gone = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
            seen.disconnected = not answer.done() or answer.exception() is not None
            answer.cancel()
            gone.cancel()
            await asyncio.gather(answer, gone, return_exceptions=True)
            seen.finished = True
        except (ConnectionError, asyncio.IncompleteReadError):
            if seen is not None:
                seen.disconnected = True
        finally:
            writer.close()

    async def _answer(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        path = seen.path.split("?")[0]
        if path == "/script":
            self.queue(*(Script(**script) for script in seen.body["scripts"]))
            await _json(writer, 200, {"queued": len(self._scripts)})
        elif path == "/requests":
            await _json(writer, 200, {"requests": [asdict(one) for one in self.requests]})
        elif path == "/reset":
            self.reset()
            await _json(writer, 200, {})
        elif self.api_key and seen.headers.get("authorization") != f"Bearer {self.api_key}":
            await _json(writer, 401, {"error": {"message": "Incorrect API key provided: sk-secret"}})
        elif path == "/v1/models":
            listed = [{"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in self.models]
            await _json(writer, 200, {"object": "list", "data": listed})
        elif path == "/v1/chat/completions":
            await self._chat(seen, writer)
        else:
            await _json(writer, 404, {"error": {"message": f"no such path {path}"}})

    async def _chat(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        script = self._next_script(seen.body)
        if script.kind == "hang":
            await asyncio.sleep(3600)
        elif script.kind == "status":
            asked = _last_user(seen.body)  # real servers repeat the prompt; nobody may be shown it
            await _json(writer, script.status, {"error": {"message": f"failed on: {asked}", "code": None}})
        elif script.kind == "html":
            await _respond(writer, 200, "text/html", b"<html><body>It works!</body></html>")
        elif not seen.body.get("stream"):
            message = {"role": "assistant", "content": script.text or _plain_reply(seen.body)}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            await _json(writer, 200, {"id": "c", "object": "chat.completion", "created": 0, "choices": [choice]})
        else:
            await self._stream(script, seen.body, writer)

    async def _stream(self, script: Script, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        )
        sent = 0
        async for event in _events(script, body):
            if script.kind in ("broken", "cut", "silent") and sent > script.after:
                break
            if script.delay_s and sent:
                await asyncio.sleep(script.delay_s)
            await _chunk(writer, f"data: {event}\n\n".encode())
            sent += 1
        if script.kind == "broken":
            await asyncio.sleep(0.02)  # a reset throws away what the other side has not read yet
            writer.transport.abort()
        elif script.kind == "silent":
            for _ in range(36_000):
                await _chunk(writer, b": still here\n\n")
                await asyncio.sleep(0.1)
        else:
            await _chunk(writer, b"")

    def _next_script(self, body: dict[str, Any]) -> Script:
        if self._scripts:
            return self._scripts.popleft()
        asked = _last_user(body)
        markers = list(_MARKER.finditer(asked))
        if not markers:
            return Script()
        once, kind, argument = markers[-1].groups(default="")
        if once:
            if asked in self._spent:
                return Script()
            self._spent.add(asked)
        return _of_marker(kind, argument)


def _of_marker(kind: str, argument: str) -> Script:
    if kind == "reply":
        return Script(text=argument)
    if kind == "status":
        return Script("status", status=int(argument or 500))
    if kind == "slow":
        return Script(delay_s=float(argument or 0.2), text=" ".join(f"word{n}" for n in range(60)))
    if kind == "long":
        return Script(text="a long reply " * (int(argument or 20_000) // 13))
    return Script(kind, after=int(argument or 0))


def _plain_reply(body: dict[str, Any]) -> str:
    """What the server says when nothing else was asked for: something that shows it got the message."""
    asked = _MARKER.sub("", _last_user(body)).strip()
    return f"A scripted reply to {len(body.get('messages', []))} messages, the last of which ends: {asked[-60:]}"


def _last_user(body: dict[str, Any]) -> str:
    texts = [str(m.get("content", "")) for m in body.get("messages", []) if m.get("role") == "user"]
    return texts[-1] if texts else ""


async def _events(script: Script, body: dict[str, Any]) -> AsyncIterator[str]:
    """The data of each server-sent event of a stream, the closing [DONE] included."""
    if script.kind == "nothing":
        return
    if script.kind == "raw":
        for event in script.raw:
            yield event if isinstance(event, str) else json.dumps(event)
        yield "[DONE]"
        return
    yield _delta({"role": "assistant", "content": ""})
    text = "" if script.kind == "empty" else script.text or _plain_reply(body)
    for number, piece in enumerate(_PIECES.findall(text)):
        if script.kind in ("malformed", "error") and number == script.after:
            yield ('{"choices": [{"delta": ' if script.kind == "malformed" else '{"error": {"message": "oh no"}}')
        yield _delta({"content": piece})
    if script.kind == "odd":
        for event in _ODD:
            yield event
    yield _delta({}, "stop")
    yield json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": {"total_tokens": 1}})
    yield "[DONE]"


def _delta(delta: dict[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 0, "choices": [choice]})


_ODD = (
    "{}",
    "[]",
    "7",
    '{"choices": null}',
    '{"choices": [{}]}',
    '{"choices": [{"delta": null}]}',
    _delta({"content": None, "reasoning_content": "hm"}),
    _delta({"content": [{"type": "text", "text": "parts"}]}),
    _delta({"content": " nul\x00 and \ud83d"}),
    _delta({"content": "\ude00 and \ud800 lone"}),
)


async def _read_request(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    body = json.loads(raw) if raw else {}
    return Seen(method, path, headers, body if isinstance(body, dict) else {"scripts": body})


async def _json(writer: asyncio.StreamWriter, status: int, body: dict[str, Any]) -> None:
    await _respond(writer, status, "application/json", json.dumps(body).encode())


async def _respond(writer: asyncio.StreamWriter, status: int, kind: str, body: bytes) -> None:
    about = f"content-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close"
    writer.write(f"HTTP/1.1 {status} X\r\n{about}\r\n\r\n".encode() + body)
    await writer.drain()


async def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


async def _run(port: int, api_key: str) -> None:
    llm = ScriptedLlm(port, api_key)
    serving = asyncio.ensure_future(llm.serve())
    while not llm._ready.is_set():
        await asyncio.sleep(0.01)
        if serving.done():
            break
    print(json.dumps({"base_url": llm.base_url}), flush=True)
    await serving


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A scripted OpenAI-compatible server for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-key", default="")
    arguments = parser.parse_args()
    try:
        asyncio.run(_run(arguments.port, arguments.api_key))
    except KeyboardInterrupt:
        raise SystemExit(0) from None
