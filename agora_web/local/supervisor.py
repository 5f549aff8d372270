"""Starts children in order, watches them, and ends them all within five seconds."""

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from agora_web.local.errors import AlreadyRunning, LocalServiceError
from agora_web.local.locks import FileLock
from agora_web.local.paths import POSTGRES, VALKEY, LocalPaths
from agora_web.local.processes import Child, StopRule, end_leftover, start_child, tail

_POLL_S = 0.02
_REAP_S = 0.5  # a killed process frees its memory first; none has to be waited for longer
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndRequested(BaseException):
    """Ctrl-C, SIGTERM or SIGHUP reached the supervisor: no failure, everything is to end.

    Like KeyboardInterrupt no Exception, so that nothing that runs meanwhile takes it for an error.
    """


class ChildEnded(LocalServiceError):
    """A child ended that nobody asked to; ``exit_code`` is what the supervisor ends with."""

    def __init__(self, child: Child, exit_code: int) -> None:
        text = tail(child.log)
        how = f"was killed by signal {exit_code - 128}" if exit_code > 128 else f"ended with code {exit_code}"
        super().__init__(
            f"`{child.name}` {how}, so AGORA ends too. "
            + (f"The end of {child.log}:\n{text}" if text else f"Its log {child.log} is empty."),
            retryable=True,
        )
        self.child = child
        # Code 0 is no success for a child that was to stay.
        self.exit_code = exit_code or 1


class Supervisor:
    """The one parent of all processes on a home; use it as a context in the main thread.

    Entering takes the home's lock (AlreadyRunning when another has it) and the signals; leaving ends
    every child and gives both back.
    """

    def __init__(self, paths: LocalPaths) -> None:
        self.paths = paths
        self.children: list[Child] = []
        self._lock = FileLock(paths.up_lock)
        self._before: dict[int, Any] = {}
        self._uninterrupted = False
        self._requested = False
        self._ending = False
        self._hurry = False
        self._wake: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        self.paths.make()
        if not self._lock.acquire(timeout_s=0.3):
            raise AlreadyRunning(
                f"AGORA already runs from {self.paths.home}. Use that one, end it with Ctrl-C, "
                "or set AGORA_HOME and PORT for a second one."
            )
        self.paths.up_pid.write_text(f"process {os.getpid()}\n")
        # What a killed supervisor left. PostgreSQL and Valkey see to theirs when they start: until
        # then they may serve a management command.
        for pid_file in self.paths.run.glob("*.pid"):
            if pid_file.stem not in ("up", POSTGRES, VALKEY):
                end_leftover(pid_file)
        self.paths.llm_json.unlink(missing_ok=True)
        self._take_signals()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending = True
        try:
            self.end_all()
        finally:
            self._give_signals_back()
            self.paths.llm_json.unlink(missing_ok=True)
            self.paths.up_pid.unlink(missing_ok=True)
            self._lock.release()

    def start(self, name: str, argv: Sequence[str], *, stop_rule: StopRule, cwd: Path | None = None) -> Child:
        """Start a program and watch it from now on."""
        with self._no_interruption():
            child = start_child(
                name,
                argv,
                log=self.paths.log_of(name),
                pid_file=self.paths.pid_of(name),
                stop_rule=stop_rule,
                cwd=cwd,
            )
            self.children.append(child)
        return child

    def adopt(self, start: Callable[[], Child]) -> Child:
        """Watch a child that ``start`` starts and, should it be interrupted, ends by itself."""
        child = start()
        self.children.append(child)
        return child

    def announce(self, address: str) -> None:
        """Tell a second start, and whoever looks, where this one is."""
        self.paths.up_pid.write_text(f"process {os.getpid()} at {address}\n")

    def wait_until(self, ready: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Wait for ``ready``; ChildEnded when a child ends meanwhile, LocalServiceError when it is late."""
        deadline = time.monotonic() + timeout_s
        while not ready():
            self.check()
            if time.monotonic() > deadline:
                raise LocalServiceError(
                    f"{what} was not ready within {timeout_s:.0f} s. The logs in {self.paths.log} say why.",
                    retryable=True,
                )
            self._sleep(0.05)

    def check(self) -> None:
        """Raise ChildEnded for the first child, in the order of starting, that has ended."""
        for child in self.children:
            code = child.exit_code()
            if code is not None:
                raise ChildEnded(child, code)

    def stay(self, seconds: float) -> None:
        """Start nothing for a while; ChildEnded when a child ends meanwhile, EndRequested when a signal comes."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.check()
            self._sleep(min(left, 5.0))

    def watch(self) -> None:
        """Stay until a child ends (ChildEnded) or a signal comes (EndRequested)."""
        while True:
            self.stay(3600.0)

    def end_all(self) -> None:
        """End all children, programs before Valkey before PostgreSQL; a second Ctrl-C kills at once."""
        for tier in sorted({child.stop_rule.tier for child in self.children}, reverse=True):
            self._end_tier([child for child in self.children if child.stop_rule.tier == tier])
        self.children.clear()

    def _end_tier(self, children: Sequence[Child]) -> None:
        """Ask all at once, kill each when its own grace is over, then reap: no one's delay adds to another's."""
        for child in children:
            child.ask_to_end()
        began = time.monotonic()
        waiting = list(children)
        while waiting:
            passed = time.monotonic() - began
            for child in list(waiting):
                if child.exit_code() is not None or self._hurry or passed > child.stop_rule.grace_s:
                    child.kill_session()
                    waiting.remove(child)
            time.sleep(_POLL_S)
        reaped = time.monotonic() + _REAP_S
        for child in children:
            child.kill(max(0.0, reaped - time.monotonic()))

    @contextlib.contextmanager
    def _no_interruption(self) -> Iterator[None]:
        """A signal between fork and bookkeeping would leave a child that nobody knows; it waits here."""
        self._uninterrupted = True
        try:
            yield
        finally:
            self._uninterrupted = False
        if self._requested and not self._ending:
            self._ending = True
            raise EndRequested

    def _on_signal(self, signum: int, frame: FrameType | None) -> None:
        if self._ending:
            self._hurry = True
            return
        self._requested = True
        if not self._uninterrupted:
            self._ending = True
            raise EndRequested

    def _take_signals(self) -> None:
        self._wake = os.pipe()
        for end in self._wake:
            os.set_blocking(end, False)
        for signum in _ENDING:
            self._before[signum] = signal.signal(signum, self._on_signal)
        # Only so that the pipe wakes the watch: a dead child is noticed at once, without polling.
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake[1], warn_on_full_buffer=False)

    def _give_signals_back(self) -> None:
        if self._wake is None:
            return
        signal.set_wakeup_fd(-1)
        for signum, handler in self._before.items():
            signal.signal(signum, handler)
        for end in self._wake:
            os.close(end)
        self._wake = None

    def _sleep(self, seconds: float) -> None:
        """Until a signal comes or the time is over."""
        if self._wake is None:
            time.sleep(seconds)
            return
        select.select([self._wake[0]], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake[0], 4096)
