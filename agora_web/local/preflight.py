"""Checks before anything starts. Each returns a sentence with cause and cure, or None when all is well."""

import errno
import os
import shutil
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from agora_web.local.errors import LocalServiceError
from agora_web.local.locks import is_held
from agora_web.local.paths import LocalPaths
from agora_web.local.wheels import demo_model, postgres_install, valkey_server

LEAST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 500 * 1024 * 1024


def python_problem(version: tuple[int, ...] = sys.version_info[:3], name: str = sys.implementation.name) -> str | None:
    """Whether this Python is old or not CPython."""
    if name == "cpython" and version[:2] >= LEAST_PYTHON:
        return None
    return (
        f"This is {name} {version[0]}.{version[1]}, but AGORA needs CPython 3.11 or newer. "
        "Install one and name it: `make clean`, then `make run PYTHON=python3.12`."
    )


def port_number_problem(text: str) -> str | None:
    """Whether the value of PORT is no port."""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= 65535:
        return None
    return f"PORT is {text!r}, which is no port. Set it to a whole number between 1 and 65535, such as 8000."


def home_problem(home: Path) -> str | None:
    """Whether the home, or the nearest folder above it that exists, cannot be written."""
    folder = _nearest(home)
    if not folder.is_dir():
        return f"AGORA_HOME lies at {home}, but {folder} is not a folder. Set AGORA_HOME to another place."
    if os.access(folder, os.W_OK | os.X_OK):
        return None
    return f"The folder {folder} cannot be written. Set AGORA_HOME to a folder of yours, or mend its rights."


def disk_problem(home: Path, free_bytes: int | None = None) -> str | None:
    """Whether the disk of ``home`` is nearly full; ``free_bytes`` replaces the measured value."""
    folder = _nearest(home)
    free = shutil.disk_usage(folder).free if free_bytes is None else free_bytes
    if free >= LEAST_FREE_BYTES:
        return None
    return (
        f"Only {free // 1_000_000} MB are free on the disk of {folder}; the database needs 500 MB to work "
        "safely. Make room, or set AGORA_HOME to a folder on another disk."
    )


def _nearest(home: Path) -> Path:
    """The home or the first folder above it that is there for us to see."""
    for folder in (home, *home.parents):
        try:
            folder.lstat()
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        return folder
    return Path("/")


def running_problem(paths: LocalPaths) -> str | None:
    """Whether another `up` works on this home."""
    if not is_held(paths.up_lock):
        return None
    where = paths.up_pid.read_text().strip() if paths.up_pid.exists() else ""
    return (
        f"AGORA already runs from {paths.home}{f' ({where})' if where else ''}. Use that one, end it with "
        "Ctrl-C, or set AGORA_HOME and PORT for a second one."
    )


def port_taken_problem(host: str, port: int) -> str | None:
    """Whether the port cannot be opened; tried by opening it."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(found[0], found[1]) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(found[4])
    except socket.gaierror:
        return f"AGORA_HOST is {host!r}, which is no address of this machine. Leave it out for 127.0.0.1."
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return (
                f"Port {port} is taken by another program. End that program, or choose another port: "
                f"`PORT={port + 1 if port < 65535 else 8000} make run`."
            )
        if error.errno == errno.EACCES:
            return f"Port {port} needs rights that you lack. Choose one above 1023: `PORT=8000 make run`."
        return f"Port {port} at {host} cannot be opened ({error.strerror}). Correct AGORA_HOST or PORT."
    return None


def wheels_problem(finders: Sequence[Callable[[], Path]]) -> str | None:
    """Whether something that must be started is not installed; ``finders`` say what is needed."""
    for find in finders:
        try:
            find()
        except LocalServiceError as error:
            return error.sentence
    return None


def problems(paths: LocalPaths, host: str, port: int, *, postgres: bool, valkey: bool, llm: bool) -> list[str]:
    """All sentences that stand against a start, the most telling first; [] when nothing does.

    ``postgres``, ``valkey`` and ``llm`` say which embedded services this start would need.
    """
    unusable = [found for found in (python_problem(), home_problem(paths.home)) if found]
    if unusable:
        return unusable
    already = running_problem(paths)
    if already:
        return [already]
    needed: list[tuple[bool, Callable[[], Path]]] = [
        (postgres, postgres_install),
        (valkey, valkey_server),
        (llm, demo_model),
    ]
    checks = (
        port_taken_problem(host, port),
        disk_problem(paths.home),
        wheels_problem([finder for wanted, finder in needed if wanted]),
    )
    return [found for found in checks if found]
