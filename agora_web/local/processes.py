"""Child processes: started so that they cannot outlive their parent, logged, signalled, waited for."""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

LOG_LIMIT_BYTES = 5_000_000
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None

# Enough for the servers' own binaries. The caller's LC_*, LANG and PG* must not reach PostgreSQL:
# an uninstalled locale breaks initdb, and PGPORT or PGDATA would point it elsewhere.
PLAIN_ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C"}


def die_with_parent(signum: int = signal.SIGKILL) -> None:
    """Ask the kernel to send ``signum`` to this process when the thread that forked it ends.

    Linux only; elsewhere the next start ends what was left behind. Call it in the child. A child is
    therefore started from a thread that lives as long as the parent (the main thread).
    """
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(signum), 0, 0, 0)


@dataclass(frozen=True)
class StopRule:
    """How a child is asked to end, and how long it may take before it is killed."""

    signum: int = signal.SIGTERM
    grace_s: float = 1.0
    # Higher tiers end first: programs (2) before Valkey (1) before PostgreSQL (0).
    tier: int = 2


@dataclass
class Child:
    """A running child: the leader of its own session."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    pid_file: Path
    stop_rule: StopRule = field(default_factory=StopRule)
    # What must follow when the leader is dead (PostgreSQL's backends are sessions of their own).
    sweep: Callable[[], None] | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    def exit_code(self) -> int | None:
        """None while it runs; 128 + the signal's number when a signal ended it, as shells say it."""
        code = self.process.poll()
        return code if code is None or code >= 0 else 128 - code

    def ask_to_end(self) -> None:
        """Signal the leader only: a pool's workers are its own to end."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, self.stop_rule.signum)

    def wait(self, timeout_s: float) -> bool:
        """True when it ended within the time."""
        try:
            self.process.wait(max(0.0, timeout_s))
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill_session(self) -> None:
        """Kill what is left of its session, without waiting."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def kill(self, timeout_s: float = 2.0) -> None:
        """Kill what is left of its session, reap the leader, forget its pid."""
        self.kill_session()
        self.wait(timeout_s)
        if self.sweep is not None:
            self.sweep()
        self.pid_file.unlink(missing_ok=True)

    def end(self) -> None:
        """Ask, wait for the grace, then kill what is left."""
        self.ask_to_end()
        self.wait(self.stop_rule.grace_s)
        self.kill()


def start_child(
    name: str,
    argv: Sequence[str],
    *,
    log: Path,
    pid_file: Path,
    stop_rule: StopRule | None = None,
    death_signal: int = signal.SIGKILL,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    uid: int | None = None,
) -> Child:
    """Start ``argv`` in its own session, output appended to ``log``; it dies with this process.

    ``env`` None means this process's own; ``uid`` also sets the group of the same number and drops
    all other groups. Raises OSError when the program cannot be started.
    """
    rotate(log)
    parent = os.getpid()

    def in_the_child() -> None:
        die_with_parent(death_signal)
        if os.getppid() != parent:  # the parent died between fork and prctl
            os._exit(1)

    with open(log, "ab") as output:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=in_the_child,
            env=None if env is None else dict(env),
            cwd=cwd,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
    started = psutil.Process(process.pid).create_time()
    program = os.path.realpath(shutil.which(argv[0]) or argv[0])
    pid_file.write_text(f"{process.pid}\n{started}\n{program}\n")
    return Child(name, process, log, pid_file, stop_rule or StopRule())


def rotate(log: Path, limit: int = LOG_LIMIT_BYTES) -> None:
    """Keep one older log beside the current one once that has grown past ``limit`` bytes."""
    if log.exists() and log.stat().st_size > limit:
        log.replace(log.with_name(log.name + ".1"))


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log, for a person to read; "" when there is none."""
    if not log.exists():
        return ""
    with open(log, "rb") as file:
        file.seek(max(0, log.stat().st_size - 16_384))
        text = file.read().decode("utf-8", "replace")
    return "\n".join(text.splitlines()[-lines:])


def end_leftover(pid_file: Path, grace_s: float = 0.0) -> bool:
    """End what a killed supervisor left of this child; True when something was there.

    ``grace_s`` above 0: ask with SIGTERM and wait so long before killing.
    """
    found = leftover(pid_file)
    if found and grace_s:
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        psutil.wait_procs(found, timeout=grace_s)
    kill_all(found)
    pid_file.unlink(missing_ok=True)
    return bool(found)


def leftover(pid_file: Path) -> list[psutil.Process]:
    """The living processes of the session whose leader the pid file records, the leader dead or not.

    A number alone proves nothing (after a reboot it is a stranger's): the leader's start time and the
    program must be the recorded ones.
    """
    try:
        number, moment, program = pid_file.read_text().splitlines()
        leader, started = int(number), float(moment)
    except (FileNotFoundError, ValueError):
        return []
    if started < psutil.boot_time() - 2:
        return []
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            born = process.create_time()
            if process.pid == leader and abs(born - started) > 2:
                return []
            if os.getsid(process.pid) == leader and born > started - 2 and process.exe() == program:
                members.append(process)
    return members


def kill_all(processes: Sequence[psutil.Process], wait_s: float = 2.0) -> None:
    """SIGKILL each and wait until they are gone."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(processes, timeout=wait_s)


def wait_until(ready: Callable[[], bool], timeout_s: float, child: Child | None = None) -> bool:
    """Poll ``ready`` every 20 ms; False when the time is over or ``child`` ended before."""
    deadline = time.monotonic() + timeout_s
    while not ready():
        if time.monotonic() > deadline or (child is not None and child.exit_code() is not None):
            return False
        time.sleep(0.02)
    return True
