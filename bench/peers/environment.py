"""The peers' own virtual environment: their pinned packages, and nothing of AGORA's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PACKAGES = ("mem0ai==2.2.1", "qdrant-client==1.20.0", "fastembed==0.9.1", "langgraph==1.2.24",
            "langgraph-checkpoint==4.3.2", "numpy==2.4.6")  # fmt: skip

ENVIRONMENT = Path(__file__).parents[1] / "out" / "peers-venv"
THEIRS = Path(__file__).parent / "theirs"
PEERS = ("mem0", "mem0-hybrid", "langgraph")  # the rows' method names


def python_of(folder: Path) -> Path:
    """The interpreter of the environment in `folder`, which is made if it is not there with just these versions.

    Exits with a sentence if it cannot be made.
    """
    folder = folder.absolute()  # peers run elsewhere
    made, wanted = folder / "peers.txt", "\n".join(PACKAGES)
    python = folder / "bin" / "python"
    if not (made.exists() and made.read_text() == wanted):
        print(f"Installing {', '.join(PACKAGES)} into {folder} (once)", flush=True)
        for command in ([sys.executable, "-m", "venv", str(folder)], [str(python), "-m", "pip", "install", *PACKAGES]):
            _done(command, folder)
        made.write_text(wanted)
    return python


def _done(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        failed, said = done.returncode != 0, (done.stderr or done.stdout).strip().splitlines()
    except OSError as error:
        failed, said = True, [str(error)]
    if failed:
        errors = [line for line in said if "error" in line.lower()] or said or ["no reason given"]
        raise SystemExit(
            f"The peers' packages cannot be installed into {folder}, so nothing is measured ({errors[0]}). "
            "The first run needs pip and its package index; --venv names an environment that has them."
        )


def command_of(python: Path, peer: str) -> list[str]:
    """What starts that peer's process, but for the folder that it gets."""
    return [str(python), str(THEIRS / "runner.py"), str(THEIRS / f"with_{peer.replace('-', '_')}.py")]
