"""A peer in a process of its own: lines of JSON to it and from it, and a sentence when it fails."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from bench.scratch import ONE_THREAD
from memory.engine.types import Floats

ANSWER_SECONDS = 300.0


class PeerFailed(Exception):
    """The peer died, broke down or hung. What it was measured on does not count, not even as a zero."""


@dataclass(frozen=True)
class Told:
    """One side as a peer is told it."""

    id: str
    role: str
    text: str
    vector: Floats


class Peer:
    """A running peer. It sees no network, no home and no variables but its own. Every method may raise `PeerFailed`."""

    def __init__(self, name: str, command: Sequence[str], *, seconds: float = ANSWER_SECONDS) -> None:
        self.name, self.version, self._seconds = name, "", seconds
        self._home = tempfile.TemporaryDirectory(prefix=f"agora-bench-{name}-")
        home = self._home.name
        self._errors = Path(home) / "stderr.txt"
        own = {"HOME": home, "TMPDIR": home, "MEM0_DIR": f"{home}/mem0", "MEM0_TELEMETRY": "False",
               "LANGSMITH_TRACING": "false", "HF_HUB_OFFLINE": "1"}  # fmt: skip
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [*command, f"{home}/banks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                bufsize=1, cwd=home, env={"PATH": os.environ.get("PATH", os.defpath), **ONE_THREAD, **own},
            )  # fmt: skip

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def open(self, width: int) -> None:
        """Begin an empty bank for vectors of that width; the one before is given up."""
        self.version = str(self._ask(do="open", width=width)["version"])

    def add(self, sides: Sequence[Told]) -> float:
        """Tell sides in one call; returns the peer's milliseconds, without encoding and without the pipe."""
        told = [{"id": one.id, "role": one.role, "text": one.text, "vector": _sent(one.vector)} for one in sides]
        return float(self._ask(do="add", sides=told)["ms"])

    def search(self, text: str, vector: Floats, limit: int) -> tuple[list[str], float]:
        """The ids of at most `limit` sides, best first, and the milliseconds."""
        found = self._ask(do="search", text=text, vector=_sent(vector), limit=limit)
        return [str(one) for one in found["ids"]], float(found["ms"])

    def close(self) -> None:
        """End the process and sweep its folder away."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._home.cleanup()

    def _ask(self, **asked: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(asked) + "\n")
        except OSError as error:
            raise self._failed("it has ended") from error
        if not select.select([self._process.stdout], [], [], self._seconds)[0]:
            self._process.kill()
            raise self._failed(f"no answer within {self._seconds:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise self._failed("it has ended")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise self._failed(answer["error"])
        return answer

    def _failed(self, why: str) -> PeerFailed:
        said = self._errors.read_text(errors="replace").strip().splitlines()
        last = f"; its last words: {said[-1]}" if said and said[-1] not in why else ""
        return PeerFailed(f"{self.name} failed and has no rows: {why}{last}")


def _sent(vector: Floats) -> str:
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()
