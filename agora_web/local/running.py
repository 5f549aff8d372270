"""Embedded services for the length of one management command."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agora_web.local.bootstrap import bootstrap
from agora_web.local.errors import AlreadyRunning
from agora_web.local.locks import FileLock
from agora_web.local.paths import LocalPaths
from agora_web.local.postgres import EmbeddedPostgres
from agora_web.local.valkey import EmbeddedValkey


@contextmanager
def services_running(
    home: Path,
    *,
    postgres: bool = True,
    valkey: bool = True,
    database: str = "agora",
    passwords: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, ...]]:
    """Have the embedded services up inside the block; yields the names of those that it had to start.

    What already runs is left alone. What it started, it stops, but only after other commands that
    lean on it have ended too. ``postgres`` or ``valkey`` False: a setting names another server.
    Raises LocalServiceError when a service does not start.
    """
    if not (postgres or valkey):
        yield ()
        return
    paths = LocalPaths(home)
    paths.make()
    # Always taken in this order (users, start), so that two commands cannot wait for each other.
    users, starting = FileLock(paths.users_lock), FileLock(paths.start_lock)
    started: list[EmbeddedPostgres | EmbeddedValkey] = []
    users.acquire(shared=True)
    try:
        with starting.held():
            if postgres:
                server = EmbeddedPostgres(paths)
                if not server.is_running():
                    server.start()
                    started.append(server)
                    bootstrap(server.conninfo(), database, passwords)
            if valkey:
                store = EmbeddedValkey(paths)
                if not store.is_running():
                    store.start()
                    started.append(store)
        yield tuple("valkey" if isinstance(one, EmbeddedValkey) else "postgres" for one in started)
    finally:
        users.release()
        if started:
            with users.held(), starting.held():
                for service in reversed(started):
                    service.stop()


@contextmanager
def no_command_at_work(paths: LocalPaths, wait_s: float = 5.0) -> Iterator[None]:
    """For `up` while it starts the services: keeps commands out of the block.

    Raises AlreadyRunning when one still works with services of its own after ``wait_s``.
    """
    users, starting = FileLock(paths.users_lock), FileLock(paths.start_lock)
    if not users.acquire(timeout_s=wait_s):
        raise AlreadyRunning(
            f"Another command of AGORA (an import, perhaps) is at work in {paths.home}. Start again when it has ended."
        )
    try:
        with starting.held():
            yield
    finally:
        users.release()
