"""A person at the HTTP and websocket doors of a running AGORA, without a browser."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from websockets.sync.client import ClientConnection, connect

_CSRF = "c" * 32


class Visitor:
    """Signed in by the key of a session."""

    def __init__(self, address: str, session: str) -> None:
        self.address = address
        self._cookies = f"sessionid={session}; csrftoken={_CSRF}"

    def get(self, path: str) -> Any:
        return self._call("GET", path, None)

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        return self._call("POST", path, body or {})

    def put(self, path: str, body: dict[str, Any]) -> Any:
        return self._call("PUT", path, body)

    def _call(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        request = urllib.request.Request(
            self.address + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Cookie": self._cookies, "X-CSRFToken": _CSRF, "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read()[:500]!r}") from error

    def begin(self, agent_name: str) -> str:
        """Begin a conversation; returns its id."""
        agent = next(one for one in self.get("/api/agents/")["agents"] if one["name"] == agent_name)
        return str(self.post("/api/conversations/", {"agent": agent["id"]})["id"])

    def turn(self, turn_id: str) -> Any:
        return self.get(f"/api/turns/{turn_id}/")

    @contextmanager
    def socket(self, conversation: str) -> Iterator[Chat]:
        """The conversation's websocket."""
        place = f"{self.address.replace('http', 'ws', 1)}/ws/conversations/{conversation}/"
        headers = {"Cookie": self._cookies}
        with connect(place, origin=self.address, additional_headers=headers, open_timeout=60) as connection:  # type: ignore[arg-type]
            yield Chat(connection)

    def say(self, conversation: str, text: str, patience_s: float = 90.0) -> Any:
        """Take a whole turn; returns it as it ended."""
        with self.socket(conversation) as chat:
            turn_id = chat.send_message(text)
            return chat.until_ended(turn_id, patience_s)


class Chat:
    """One open socket and the frames that came."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.frames: list[dict[str, Any]] = []

    def send(self, **frame: Any) -> None:
        self._connection.send(json.dumps(frame))

    def receive(self, patience_s: float) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(self._connection.recv(timeout=patience_s))
        self.frames.append(frame)
        return frame

    def send_message(self, text: str, patience_s: float = 60.0) -> str:
        """Send a message; returns the id of its turn."""
        client = str(uuid4())
        self.send(type="send", text=text, client=client)
        while True:
            frame = self.receive(patience_s)
            assert frame["type"] != "error", frame
            if frame["type"] == "turn" and frame.get("client") == client:
                return str(frame["turn"]["id"])

    def until_ended(self, turn_id: str, patience_s: float = 90.0) -> Any:
        """Read frames until the turn is neither waiting nor running; returns it."""
        deadline = time.monotonic() + patience_s
        while True:
            frame = self.receive(max(0.1, deadline - time.monotonic()))
            turn = frame["turn"] if frame["type"] == "turn" else None
            if turn and turn["id"] == turn_id and turn["state"] not in ("queued", "running"):
                return turn

    def until_said(self, turn_id: str, letters: int, patience_s: float = 90.0) -> str:
        """Read frames until that much of the reply has streamed; returns it."""
        said = ""
        deadline = time.monotonic() + patience_s
        while len(said) < letters:
            frame = self.receive(max(0.1, deadline - time.monotonic()))
            if frame["type"] == "delta" and frame["turn"] == turn_id:
                said += frame["text"]
        return said
