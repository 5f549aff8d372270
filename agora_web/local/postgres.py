"""Embedded PostgreSQL 18 with pgvector, reachable only through a unix socket in a private folder."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

from agora_web.local.errors import LocalServiceError
from agora_web.local.paths import POSTGRES, LocalPaths, private_folder
from agora_web.local.postgres_placement import Placement, place
from agora_web.local.processes import (
    PLAIN_ENVIRONMENT,
    Child,
    StopRule,
    kill_all,
    rotate,
    start_child,
    tail,
    wait_until,
)

PORT = 5432  # part of the socket's name; no TCP port is opened
SUPERUSER = "postgres"

# For a laptop that does other things too: little memory, few connections, few background processes.
LAPTOP = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "120",
    "shared_buffers": "128MB",
    "effective_cache_size": "1GB",
    "work_mem": "8MB",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "512MB",
    "wal_level": "minimal",  # no replica listens; dumps need none
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "autovacuum_max_workers": "2",
    "max_parallel_workers_per_gather": "1",
    "io_method": "sync",
    "jit": "off",
    "random_page_cost": "1.1",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    "log_checkpoints": "off",
}
# macOS has no locale of this name; the builtin provider sorts and folds either way.
LC_CTYPE = ("--lc-ctype=C.UTF-8",) if sys.platform.startswith("linux") else ()

# A committed row still survives kill -9 of the server, since the kernel has it.
CARELESS = {"fsync": "off", "full_page_writes": "off"}


class EmbeddedPostgres:
    """One cluster whose data lies in ``paths.postgres_data``.

    ``durable`` False is for tests: quick, and lost in a power cut. ``as_root`` ("namespace" or
    "nobody") overrides how a root user starts it; None finds out.
    """

    def __init__(self, paths: LocalPaths, *, durable: bool = True, as_root: str | None = None) -> None:
        self.paths = paths
        self.durable = durable
        self.as_root = as_root
        self.child: Child | None = None

    def conninfo(self, database: str = "postgres", user: str = SUPERUSER) -> str:
        """A libpq connection string over the socket (trust: only this user reaches the folder)."""
        host = str(self.paths.postgres_socket_dir)
        return make_conninfo("", host=host, port=str(PORT), dbname=database, user=user)

    def is_running(self) -> bool:
        """Whether a server accepts connections at the socket."""
        return self._ping() == Ping.OK

    def start(self, timeout_s: float = 30.0) -> Child:
        """Make the cluster if there is none, start it, wait until it accepts connections.

        Ends first what a killed run left behind, so call it only while no one else may own a running
        server. Raises LocalServiceError with the end of the log when it does not come up.
        """
        self.paths.make()
        at = place(self.paths, self.as_root)
        self._end_leftovers(at)
        private_folder_for(at)
        if not (at.data / "PG_VERSION").exists():
            self._make_cluster(at)
        child = start_child(
            POSTGRES,
            [*at.prefix, str(at.binaries / "postgres"), "-D", str(at.data), *self._options(at)],
            log=self.paths.log_of(POSTGRES),
            pid_file=self.paths.pid_of(POSTGRES),
            # SIGINT ends the clients' sessions; SIGTERM would wait for them.
            stop_rule=StopRule(signal.SIGINT, grace_s=1.2, tier=0),
            death_signal=signal.SIGINT,
            env=PLAIN_ENVIRONMENT,
            cwd=Path("/"),
            uid=at.uid,
        )
        child.sweep = lambda: kill_all(servers_in(at.data))
        self.child = child
        ready = False
        try:
            ready = wait_until(self.is_running, timeout_s, child)
        finally:  # also when a signal ends the wait
            if not ready:
                self.stop()
        if not ready:
            log = self.paths.log_of(POSTGRES)
            raise LocalServiceError(
                f"The embedded PostgreSQL did not start; the end of {log} says why:\n{tail(log)}",
                retryable=True,
            )
        return child

    def stop(self) -> None:
        """End the server that this object started; nothing when it started none."""
        if self.child is not None:
            self.child.end()
            self.child = None

    def _ping(self) -> Ping:
        return Ping(PGconn.ping(self.conninfo().encode()))

    def _options(self, at: Placement) -> list[str]:
        settings = LAPTOP | ({} if self.durable else CARELESS)
        # A list of folders, so quoted as the server wants it.
        settings["unix_socket_directories"] = '"{}"'.format(str(at.sockets).replace('"', '""'))
        return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]

    def _make_cluster(self, at: Placement) -> None:
        """initdb beside the data folder, then rename: a cluster cut short would never start."""
        beside = at.data.with_name(at.data.name + ".new")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(mode=0o700)
        at.give(beside)
        log = self.paths.log_of("initdb")
        rotate(log)
        argv = [
            *(*at.prefix, str(at.binaries / "initdb"), "-D", str(beside), "-U", SUPERUSER, "-A", "trust"),
            *("-E", "UTF8", "--locale=C", *LC_CTYPE),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions"),
            *(() if self.durable else ("--no-sync",)),
        ]
        with open(log, "ab") as output:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False,
                env=PLAIN_ENVIRONMENT, cwd="/", user=at.uid, group=at.uid,
                extra_groups=None if at.uid is None else [],
            )  # fmt: skip
        if done.returncode:
            raise LocalServiceError(f"The database cluster could not be made; the end of {log} says why:\n{tail(log)}")
        try:
            beside.rename(at.data)  # also over an empty folder
        except OSError as error:
            raise LocalServiceError(
                f"{at.data} holds files but no database cluster. Move it away and start again."
            ) from error

    def _end_leftovers(self, at: Placement) -> None:
        """After a kill -9: end what still runs in the data folder, remove locks that nobody holds.

        The number in postmaster.pid can by now be a zombie's or a stranger's, and PostgreSQL then
        refuses to start; the working directory tells a real server.
        """
        alive = servers_in(at.data)
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGINT)
        _, stubborn = psutil.wait_procs(alive, timeout=3.0)
        kill_all(stubborn)
        if servers_in(at.data) or self._ping() != Ping.NO_RESPONSE:
            raise LocalServiceError(
                f"Another PostgreSQL still answers at {self.paths.postgres_socket_dir}. Wait a moment and start again.",
                retryable=True,
            )
        (at.data / "postmaster.pid").unlink(missing_ok=True)
        for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
            (at.sockets / name).unlink(missing_ok=True)
        self.paths.pid_of(POSTGRES).unlink(missing_ok=True)


def private_folder_for(at: Placement) -> None:
    """The socket folder, owned by whoever runs the server."""
    if at.uid is None:
        private_folder(at.sockets)
    else:
        at.sockets.mkdir(mode=0o700, exist_ok=True)
        at.give(at.sockets)


def servers_in(data: Path) -> list[psutil.Process]:
    """The living PostgreSQL processes whose working directory is this data folder."""
    wanted = os.path.realpath(data)
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.name() == "postgres" and process.cwd() == wanted:
                found.append(process)
    return found
