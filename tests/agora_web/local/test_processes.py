"""Children: they die with their parent, keep their logs small and leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from agora_web.local.processes import StopRule, end_leftover, leftover, rotate, start_child, tail, wait_until

SLEEP = ["/bin/sleep", "60"]
PARENT = """
import sys, time
from pathlib import Path
from agora_web.local.processes import start_child
folder = Path(sys.argv[1])
start_child("sleeper", ["/bin/sleep", "60"], log=folder / "sleeper.log", pid_file=folder / "sleeper.pid")
print("started", flush=True)
time.sleep(60)
"""


def started(folder: Path, argv: list[str], **options: object):  # type: ignore[no-untyped-def]
    return start_child("child", argv, log=folder / "child.log", pid_file=folder / "child.pid", **options)  # type: ignore[arg-type]


def pid_in(pid_file: Path) -> int:
    return int(pid_file.read_text().split()[0])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the death signal is Linux's")
def test_a_child_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"started\n"
        sleeper = psutil.Process(pid_in(tmp_path / "sleeper.pid"))
        parent.kill()
    assert wait_until(lambda: not sleeper.is_running() or sleeper.status() == psutil.STATUS_ZOMBIE, 2)


def test_a_child_leads_a_session_of_its_own_and_its_output_is_logged(tmp_path: Path) -> None:
    child = started(tmp_path, ["/bin/sh", "-c", "echo one; echo two >&2; exit 3"])
    assert child.wait(2)
    assert child.exit_code() == 3
    assert tail(child.log) == "one\ntwo"
    assert tail(tmp_path / "none.log") == ""
    child.kill()
    assert not child.pid_file.exists()


def test_one_that_ignores_the_signal_is_killed_after_its_grace_with_its_whole_session(tmp_path: Path) -> None:
    script = "trap '' TERM; sleep 60 & echo $!; while true; do sleep 1; done"
    child = started(tmp_path, ["/bin/sh", "-c", script], stop_rule=StopRule(grace_s=0.2))
    assert wait_until(lambda: tail(child.log) != "", 2)
    grandchild = int(tail(child.log))
    began = time.monotonic()
    child.end()
    assert time.monotonic() - began < 1
    assert child.exit_code() == 128 + signal.SIGKILL
    assert wait_until(lambda: not alive(grandchild), 2)


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_what_a_killed_leader_leaves_is_found_by_its_session_and_ended(tmp_path: Path) -> None:
    forking = "import os, time\nif not os.fork(): print(1, flush=True)\ntime.sleep(60)"
    child = started(tmp_path, [sys.executable, "-c", forking])
    assert wait_until(lambda: tail(child.log) == "1", 5)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait(2)
    assert len(leftover(child.pid_file)) == 1
    assert end_leftover(child.pid_file)
    assert not end_leftover(child.pid_file)


@pytest.mark.parametrize("change", ["later start", "other program", "before the last boot", "rubbish"])
def test_a_stranger_with_a_recorded_number_is_left_alone(tmp_path: Path, change: str) -> None:
    child = started(tmp_path, SLEEP)
    pid, moment, program = child.pid_file.read_text().splitlines()
    child.pid_file.write_text(
        {
            "later start": f"{pid}\n{float(moment) - 60}\n{program}\n",
            "other program": f"{pid}\n{moment}\n/usr/bin/other\n",
            "before the last boot": f"{pid}\n{psutil.boot_time() - 3600}\n{program}\n",
            "rubbish": "12 monkeys",
        }[change]
    )
    assert not end_leftover(child.pid_file)
    assert child.exit_code() is None
    child.kill()


def test_a_big_log_gives_way_to_a_new_one(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    log.write_text("x" * 100)
    rotate(log, limit=100)
    assert log.exists()
    rotate(log, limit=99)
    assert not log.exists()
    assert (tmp_path / "web.log.1").read_text() == "x" * 100
