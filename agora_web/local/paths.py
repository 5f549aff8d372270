"""Where everything of one AGORA lies: one folder, and a short one for sockets when that is too deep."""

import hashlib
import os
import re
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from agora_web.local.errors import LocalServiceError

# The kernel's limit for the path of a unix socket, without the closing NUL.
SOCKET_PATH_BYTES = 107 if sys.platform.startswith("linux") else 103

# Names of the services, for their logs and pid files.
POSTGRES, VALKEY = "postgres", "valkey"

# The longest socket name that we put into the socket folder.
_LONGEST_SOCKET_NAME = "pg/.s.PGSQL.5432"

# libpq reads a comma in a host as a list, and broker URLs differ in how they unquote a path. Plain
# characters need no quoting anywhere; anything else (a space, an accent) takes the short folder.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+@-]+\Z")


@dataclass(frozen=True)
class LocalPaths:
    """All paths under AGORA_HOME. Computes only; ``make()`` creates."""

    home: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "home", Path(os.path.abspath(self.home)))

    @property
    def secret_key(self) -> Path:
        return self.home / "secret_key"

    @property
    def postgres_data(self) -> Path:
        return self.home / "postgres"

    @property
    def valkey_data(self) -> Path:
        return self.home / "valkey"

    @property
    def run(self) -> Path:
        """Pid files, locks and ``llm.json``; sockets too when the path is short and plain."""
        return self.home / "run"

    @property
    def log(self) -> Path:
        return self.home / "log"

    @property
    def llm_json(self) -> Path:
        """``{"base_url", "model"}`` of the demo LLM, there only while it answers."""
        return self.run / "llm.json"

    @property
    def up_lock(self) -> Path:
        return self.run / "up.lock"

    @property
    def start_lock(self) -> Path:
        return self.run / "start.lock"

    @property
    def users_lock(self) -> Path:
        return self.run / "users.lock"

    @property
    def up_pid(self) -> Path:
        return self.run / "up.pid"

    @property
    def sockets(self) -> Path:
        """The folder of the unix sockets; every process computes the same one from the home."""
        longest = os.fsencode(self.run / _LONGEST_SOCKET_NAME)
        if len(longest) <= SOCKET_PATH_BYTES and _PLAIN_PATH.match(str(self.run)):
            return self.run
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]
        return _short_base() / f"agora-{os.getuid()}-{digest}"

    @property
    def postgres_socket_dir(self) -> Path:
        """What a client gives as ``host``. A folder of its own: as root it can belong to ``nobody``."""
        return self.sockets / "pg"

    @property
    def valkey_socket(self) -> Path:
        return self.sockets / "valkey.sock"

    def log_of(self, name: str) -> Path:
        return self.log / f"{name}.log"

    def pid_of(self, name: str) -> Path:
        return self.run / f"{name}.pid"

    def make(self) -> None:
        """Create the folders (not the data folders), private to this user.

        Raises LocalServiceError with cause and cure when that is not allowed.
        """
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            private_folder(self.run)
            self.log.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise LocalServiceError(
                f"The folder {self.home} cannot be used ({error.strerror}). "
                "Set AGORA_HOME to a folder that you may write."
            ) from error
        if self.sockets != self.run:
            private_folder(self.sockets)


def private_folder(path: Path, mode: int = 0o700) -> Path:
    """Make ``path`` a real folder with ``mode`` that belongs to this user, and check that it does.

    A folder under /tmp has a name that others can guess: one that is a link or somebody else's is
    refused rather than trusted.
    """
    path.mkdir(mode=mode, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise LocalServiceError(
            f"{path} is needed for AGORA's sockets but does not belong to you. "
            "Remove it, or set AGORA_HOME to a folder with a shorter path."
        )
    # 0711 is left alone: PostgreSQL run by root as `nobody` must pass through, and can list nothing.
    if stat.S_IMODE(found.st_mode) not in (mode, 0o711):
        path.chmod(mode)
    return path


def _short_base() -> Path:
    """/tmp where there is one, whatever TMPDIR says: two shells must find the same socket."""
    tmp = Path("/tmp")
    return tmp if tmp.is_dir() else Path(tempfile.gettempdir())
