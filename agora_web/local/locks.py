"""Locks between processes that work on one home. The kernel lets go of them when their holder dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STEP_S = 0.05


class FileLock:
    """One flock on one file. Children do not inherit it; a killed process loses it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self, *, shared: bool = False, timeout_s: float | None = None) -> bool:
        """Take it; ``timeout_s`` None waits for ever, 0 does not wait. False when the time was over.

        A holder may call it again to turn an exclusive lock into a shared one.
        """
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                if deadline is not None and time.monotonic() >= deadline:
                    self.release()
                    return False
                time.sleep(_STEP_S)
            else:
                return True

    def release(self) -> None:
        """Let go; harmless when it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @contextmanager
    def held(self, *, shared: bool = False) -> Iterator[None]:
        """Hold it for a block, waiting as long as it takes."""
        self.acquire(shared=shared)
        try:
            yield
        finally:
            self.release()


def is_held(path: Path) -> bool:
    """Whether some process holds the lock exclusively right now."""
    if not path.exists():
        return False
    lock = FileLock(path)
    free = lock.acquire(shared=True, timeout_s=0)
    lock.release()
    return not free
