"""AGORA as people run it: `manage.py up` as a process of its own, in a home and on a port of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
import psycopg

from agora_web.local.paths import LocalPaths
from agora_web.local.processes import wait_until

ROOT = Path(__file__).resolve().parent.parent.parent
LIGHT = {"DJANGO_SETTINGS_MODULE": "tests.flows.light_settings"}
# Generous: the machine may be busy. How long things take is printed, and asserted where the product promises it.
START_S = 180.0


def free_port() -> int:
    """A TCP port of loopback that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def plain_environment(**more: str) -> dict[str, str]:
    """This process's environment without anything that is AGORA's or the tests', plus `more`."""
    own = ("AGORA_", "DJANGO_", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    for name in ("DATABASE_URL", "REDIS_URL", "PORT"):
        kept.pop(name, None)
    return kept | {"PYTHONUNBUFFERED": "1"} | more


class RunningAgora:
    """One home and what runs on it. Use it as a context: leaving it ends everything and looks for what is left."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.home = home
        self.paths = LocalPaths(home)
        self.port = free_port()
        self.environment = plain_environment(AGORA_HOME=str(home), PORT=str(self.port), **environment)
        self.process: subprocess.Popen[str] | None = None
        self.lines: list[str] = []
        self.took_s = 0.0  # from the command to the line with the address
        self._reader: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _k: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        if self.process is not None:
            self.stop()
        left = self.processes()
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        if self.paths.sockets != self.paths.run:
            shutil.rmtree(self.paths.sockets, ignore_errors=True)
        assert not left, left

    @property
    def address(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> Self:
        """Start `up` and wait for its line with the address; fails with what it said when it ends instead."""
        self.begin()
        began = time.monotonic()
        assert wait_until(lambda: not self.running or self.ready_line() != "", START_S), self.said()
        self.took_s = time.monotonic() - began
        assert self.ready_line(), f"`up` ended with {self.process and self.process.poll()}: {self.said()}"
        return self

    def begin(self) -> subprocess.Popen[str]:
        """Start `up` without waiting."""
        assert not self.running
        self.lines = []
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up"], cwd=ROOT, env=self.environment, start_new_session=True, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()
        return self.process

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.lines.append(line.rstrip("\n"))

    def said(self) -> str:
        return "\n".join(self.lines)

    def ready_line(self) -> str:
        return next((line for line in list(self.lines) if line.startswith("AGORA is ready at ")), "")

    def stop(self, signum: int = signal.SIGTERM, patience_s: float = 30.0) -> float:
        """Signal `up` and wait until it has ended; returns how long it took. It may still be starting."""
        assert self.process is not None
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signum)
        self.ended(patience_s)
        return time.monotonic() - began

    def ended(self, patience_s: float = 30.0) -> int:
        """Wait until `up` has ended by itself; returns its exit code."""
        assert self.process is not None
        code = self.process.wait(patience_s)
        if self._reader is not None:
            self._reader.join(5)
        self.process = None
        return code

    def pid(self, name: str) -> int:
        """The process of one child (web, worker, training, beat, llm, postgres, valkey)."""
        return int(self.paths.pid_of(name).read_text().splitlines()[0])

    def kill(self, name: str) -> None:
        """kill -9 of one child, of its leader alone."""
        os.kill(self.pid(name), signal.SIGKILL)

    def processes(self) -> list[psutil.Process]:
        """Everything alive that works on this home."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        home = str(self.home)
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                return False
            if Path(process.cwd()).is_relative_to(home) or home in process.cmdline():
                return True
            return process.environ().get("AGORA_HOME") == home
        return False

    def manage(self, *words: str, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run another management command on this home, to its end."""
        return subprocess.run(
            [sys.executable, "manage.py", *words], cwd=ROOT, env=self.environment, capture_output=True, text=True,
            timeout=timeout_s, check=False,
        )  # fmt: skip

    def python(self, module: str, *words: str, **more: str) -> Any:
        """Run a module of these tests with this home's settings, and `more`; returns the JSON that it prints."""
        environment = {"DJANGO_SETTINGS_MODULE": "agora_web.settings"} | self.environment | more
        done = subprocess.run(
            [sys.executable, "-m", module, *words], cwd=ROOT, env=environment, capture_output=True, text=True,
            timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    @contextlib.contextmanager
    def database(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A connection as the tables' owner, who sees everybody's rows."""
        place = {"host": str(self.paths.postgres_socket_dir), "port": 5432, "dbname": "agora", "user": "agora_owner"}
        with psycopg.connect(**place, autocommit=True) as connection:  # type: ignore[arg-type]
            yield connection

    def one(self, query: str, values: Mapping[str, Any]) -> Any:
        """The first column of the first row, or None."""
        with self.database() as connection:
            row = connection.execute(query, values).fetchone()
        return row[0] if row else None

    def copy_of(self, home: Path, **environment: str) -> RunningAgora:
        """Another home with the same data; this one must not run. PostgreSQL's links and sockets stay behind."""
        assert not self.running
        home.mkdir(mode=0o700, parents=True)
        for name in ("postgres", "valkey"):
            shutil.copytree((self.home / name).resolve(), home / name)
            (home / name).chmod(0o700)
        shutil.copy2(self.home / "secret_key", home / "secret_key")
        return RunningAgora(home, **environment)


def eventually(holds: Callable[[], Any], timeout_s: float = 30.0, pause_s: float = 0.1) -> Any:
    """Ask again until the answer is true, and return it; fails with the last one."""
    deadline = time.monotonic() + timeout_s
    while not (found := holds()):
        assert time.monotonic() < deadline, f"still {found!r} after {timeout_s:.0f} s"
        time.sleep(pause_s)
    return found
