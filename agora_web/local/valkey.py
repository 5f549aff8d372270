"""Embedded Valkey: broker, channel layer and token streams on a unix socket of this home."""

import signal
import socket

from agora_web.local.errors import LocalServiceError
from agora_web.local.paths import VALKEY, LocalPaths
from agora_web.local.processes import (
    PLAIN_ENVIRONMENT,
    Child,
    StopRule,
    end_leftover,
    start_child,
    tail,
    wait_until,
)
from agora_web.local.wheels import valkey_server


class EmbeddedValkey:
    """One Valkey whose data lies in ``paths.valkey_data``. ``durable`` False (tests) skips the log file."""

    def __init__(self, paths: LocalPaths, *, durable: bool = True) -> None:
        self.paths = paths
        self.durable = durable
        self.child: Child | None = None

    def is_running(self) -> bool:
        """Whether a server answers at the socket (also while it still loads its data)."""
        return self._answer().startswith((b"+PONG", b"-LOADING"))

    def start(self, timeout_s: float = 20.0) -> Child:
        """Start it and wait until it serves. Call it only while no server answers at the socket.

        Raises LocalServiceError with the end of its log when it does not come up.
        """
        self.paths.make()
        end_leftover(self.paths.pid_of(VALKEY), grace_s=1.0)
        self.paths.valkey_socket.unlink(missing_ok=True)
        self.paths.valkey_data.mkdir(mode=0o700, exist_ok=True)
        log = self.paths.log_of(VALKEY)
        child = start_child(
            VALKEY,
            self._argv(),
            log=log,
            pid_file=self.paths.pid_of(VALKEY),
            stop_rule=StopRule(signal.SIGTERM, grace_s=0.8, tier=1),
            death_signal=signal.SIGTERM,  # it saves and goes; the data survives SIGKILL as well
            env=PLAIN_ENVIRONMENT,
            # Valkey takes a relative dir from here, so a quote or a space in the path needs no escaping.
            cwd=self.paths.valkey_data,
        )
        self.child = child
        ready = False
        try:
            ready = wait_until(lambda: self._answer().startswith(b"+PONG"), timeout_s, child)
        finally:  # also when a signal ends the wait
            if not ready:
                self.stop()
        if not ready:
            raise LocalServiceError(
                f"The embedded Valkey did not start; the end of {log} says why:\n{tail(log)}", retryable=True
            )
        return child

    def stop(self) -> None:
        """End the server that this object started; nothing when it started none."""
        if self.child is not None:
            self.child.end()
            self.child = None

    def _argv(self) -> list[str]:
        save = ["yes", "--appendfsync", "everysec"] if self.durable else ["no"]
        return [
            str(valkey_server()),
            *("--unixsocket", str(self.paths.valkey_socket)),
            *("--unixsocketperm", "700"),
            *("--port", "0"),
            *("--dir", "."),
            *("--save", ""),
            *("--appendonly", *save),
            *("--maxmemory-policy", "noeviction"),
            *("--databases", "16"),
            *("--daemonize", "no"),
            *("--loglevel", "notice"),
        ]

    def _answer(self) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(1.0)
            try:
                connection.connect(str(self.paths.valkey_socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64)
            except OSError:
                return b""
