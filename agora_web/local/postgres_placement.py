"""As whom PostgreSQL runs, and where its files then lie.

A normal user runs it as is. It refuses uid 0, and a number without a name in the user database; for
those, without making an account or opening folders:

1. In a user namespace where the process sees itself as uid 65534 while the kernel still treats it as
   the caller's: nothing changes hands, data may lie under a closed folder.
2. As root where namespaces are forbidden (many containers): really as uid 65534, to which the data is
   given. If that user cannot reach the home, data, sockets and a copy of the programs lie under
   /var/tmp and the home links there, so that every path stays the same.
"""

import hashlib
import os
import pwd
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from agora_web.local.errors import LocalServiceError
from agora_web.local.paths import LocalPaths, private_folder
from agora_web.local.processes import PLAIN_ENVIRONMENT
from agora_web.local.wheels import postgres_install

NOBODY = 65534
_FAR = Path("/var/tmp")


@dataclass(frozen=True)
class Placement:
    """Where the server's files really lie and as whom it runs (``uid`` None: as this process)."""

    binaries: Path
    data: Path
    sockets: Path
    prefix: tuple[str, ...] = ()
    uid: int | None = None

    def give(self, path: Path) -> None:
        """Make ``path`` and all in it belong to the user that runs the server, if it does not yet."""
        owner = os.geteuid() if self.uid is None else self.uid
        if os.geteuid() != 0 or not path.exists() or path.stat().st_uid == owner:
            return
        for folder, _, files in os.walk(path):
            for name in files:
                os.chown(os.path.join(folder, name), owner, owner, follow_symlinks=False)
            os.chown(folder, owner, owner)


def place(paths: LocalPaths, as_root: str | None = None) -> Placement:
    """Decide how the server runs here and make the data reachable for it.

    ``as_root``: "namespace" or "nobody" to force one (as root only), None to find out.
    """
    binaries = postgres_install() / "bin"
    data, sockets = paths.postgres_data, paths.postgres_socket_dir
    if data.is_symlink() and not data.exists():
        raise LocalServiceError(
            f"{data} links to {os.readlink(data)}, which is gone, and the database with it. "
            "Put the folder back, or remove the link to begin with an empty database."
        )
    is_root = os.geteuid() == 0
    _refuse_foreign_data(data, {0, NOBODY} if is_root else {os.geteuid()})
    if not is_root and _has_name():
        return Placement(binaries, data, sockets)
    namespace = _namespace()
    if is_root and (as_root == "nobody" or not namespace):
        return _place_for_nobody(paths, binaries)
    placement = Placement(binaries, data.resolve(), sockets.resolve(), namespace)
    placement.give(placement.data)
    placement.give(placement.sockets)
    return placement


def _refuse_foreign_data(data: Path, mine: set[int]) -> None:
    """One `sudo make run` must not take the data from the user who made it."""
    owner = data.stat().st_uid if data.exists() else None
    if owner is not None and owner not in mine:
        raise LocalServiceError(
            f"The database in {data} belongs to user number {owner}. Start AGORA as that user, "
            f"or make it yours first: chown -R {os.geteuid()} '{data.parent}'"
        )


def _has_name() -> bool:
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:  # a container started with a bare number
        return False
    return True


def _namespace() -> tuple[str, ...]:
    """The words to put before a command, () where user namespaces are not to be had."""
    unshare = shutil.which("unshare")
    if unshare is None or not sys.platform.startswith("linux"):
        return ()
    words = (unshare, "-U", f"--map-user={NOBODY}", f"--map-group={NOBODY}")
    done = subprocess.run([*words, "true"], capture_output=True, check=False, env=PLAIN_ENVIRONMENT)
    return words if done.returncode == 0 else ()


def _place_for_nobody(paths: LocalPaths, binaries: Path) -> Placement:
    paths.home.chmod(paths.home.stat().st_mode | 0o011)
    paths.run.chmod(0o711)
    if paths.sockets != paths.run:
        paths.sockets.chmod(0o711)
    digest = hashlib.sha256(os.fsencode(paths.home)).hexdigest()[:16]
    far = _FAR / f"agora-{digest}"
    data, sockets = paths.postgres_data, paths.postgres_socket_dir
    if not _nobody_reaches(paths.home):
        private_folder(far, 0o711)
        data, sockets = _elsewhere(data, far / "postgres"), _elsewhere(sockets, far / "pg")
    elif data.is_symlink() or sockets.is_symlink():
        data, sockets = data.resolve(), sockets.resolve()
    if not _nobody_reaches(binaries / "postgres"):
        private_folder(far, 0o711)
        binaries = _copy_install(binaries.parent, far) / "bin"
    placement = Placement(binaries, data, sockets, uid=NOBODY)
    parent = data.parent
    if parent.stat().st_uid != 0:
        raise LocalServiceError(f"The folder {parent} must belong to root. Remove it and start again.")
    placement.give(data)
    return placement


def _elsewhere(path: Path, target: Path) -> Path:
    """Let ``path`` be a link to ``target``, moving there what was in ``path``."""
    if path.is_symlink() and path.resolve() == target.resolve():
        return target
    if path.exists():
        shutil.move(path, target)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
    return target


def _copy_install(install: Path, far: Path) -> Path:
    """A copy of the programs that everybody may read, made once per installed version.

    They find their libraries by a path relative to themselves, so the wheel's two folders keep their
    places beside each other.
    """
    stamp = hashlib.sha256(f"{install} {(install / 'bin/postgres').stat().st_mtime_ns}".encode()).hexdigest()
    copy = far / f"programs-{stamp[:12]}"
    package = install.parent
    if not copy.exists():
        beside = copy.with_name(copy.name + ".new")
        shutil.rmtree(beside, ignore_errors=True)
        shutil.copytree(install, beside / package.name / install.name, symlinks=True)
        libraries = package.with_name(package.name + ".libs")
        if libraries.is_dir():
            shutil.copytree(libraries, beside / libraries.name, symlinks=True)
        for folder in (beside, beside / package.name):
            folder.chmod(0o755)
        beside.rename(copy)
    return copy / package.name / install.name


def _nobody_reaches(path: Path) -> bool:
    test = shutil.which("test") or "/usr/bin/test"
    mode = "-x" if path.is_dir() or os.access(path, os.X_OK) else "-r"
    done = subprocess.run(
        [test, mode, str(path)], check=False, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/",
        env=PLAIN_ENVIRONMENT,
    )  # fmt: skip
    return done.returncode == 0
