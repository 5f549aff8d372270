"""Locks between processes."""

import subprocess
import sys
from pathlib import Path

from agora_web.local.locks import FileLock, is_held

HOLDER = """
import sys, time
from pathlib import Path
from agora_web.local.locks import FileLock
lock = FileLock(Path(sys.argv[1]))
assert lock.acquire(timeout_s=0)
print("held", flush=True)
time.sleep(60)
"""


def test_readers_share_and_a_writer_waits_for_them(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    one, two, writer = FileLock(path), FileLock(path), FileLock(path)
    assert not is_held(path)
    assert one.acquire(shared=True, timeout_s=0)
    assert two.acquire(shared=True, timeout_s=0)
    assert not is_held(path)
    assert not writer.acquire(timeout_s=0.05)
    one.release()
    two.release()
    assert writer.acquire(timeout_s=0)
    assert is_held(path)
    assert not one.acquire(shared=True, timeout_s=0)
    writer.release()
    assert not is_held(path)


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    argv = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_held(path)
        holder.kill()
    assert not is_held(path)
