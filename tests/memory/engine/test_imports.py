"""The import contracts of pyproject.toml, run as a test, and the promise they cannot make: what a heart loads."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HEARTS = ["memory/engine", "agents/runtime", "training/learner"]
FOREIGN = {"django", "channels", "celery", "rest_framework", "kombu", "psycopg"}


def test_the_import_contracts_are_kept() -> None:
    script = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([script, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 broken" in done.stdout


@pytest.mark.parametrize("heart", [heart for heart in HEARTS if (ROOT / heart).is_dir()])
def test_importing_a_heart_loads_no_framework(heart: str) -> None:
    modules = [
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
        for path in sorted((ROOT / heart).rglob("*.py"))
    ]
    assert len(modules) > 3
    code = f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {name.partition(".")[0] for name in done.stdout.split()} & FOREIGN == set()
