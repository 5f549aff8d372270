"""The supervisor: order, death of a child, signals, a second start, what a killed one leaves."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from agora_web.local.errors import AlreadyRunning, LocalServiceError
from agora_web.local.paths import LocalPaths
from agora_web.local.processes import Child, StopRule, wait_until
from agora_web.local.supervisor import ChildEnded, EndRequested, Supervisor

SLEEP = ["/bin/sleep", "60"]
STUBBORN = ["/bin/sh", "-c", "trap '' TERM; while true; do sleep 1; done"]
QUICK = StopRule(grace_s=0.3)

# Two children, one of them deaf to signals; says when both are there, then watches.
OTHER_SUPERVISOR = f"""
import sys
from pathlib import Path
from agora_web.local.paths import LocalPaths
from agora_web.local.processes import StopRule
from agora_web.local.supervisor import EndRequested, Supervisor
try:
    with Supervisor(LocalPaths(Path(sys.argv[1]))) as supervisor:
        supervisor.start("one", {SLEEP!r}, stop_rule=StopRule(grace_s=0.3))
        supervisor.start("deaf", {STUBBORN!r}, stop_rule=StopRule(grace_s=0.3))
        supervisor.announce("http://127.0.0.1:8000/")
        print("started", flush=True)
        supervisor.watch()
except EndRequested:
    print("ended", flush=True)
"""


def other_supervisor(home: Path) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-c", OTHER_SUPERVISOR, str(home)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    return process


def test_a_child_that_dies_ends_all_with_its_code_and_the_end_of_its_log(paths: LocalPaths) -> None:
    with Supervisor(paths) as supervisor:
        sleeper = supervisor.start("sleeper", SLEEP, stop_rule=QUICK)
        supervisor.start("web", ["/bin/sh", "-c", "sleep 0.1; echo the reason; exit 7"], stop_rule=QUICK)
        with pytest.raises(ChildEnded) as caught:
            supervisor.watch()
    assert caught.value.exit_code == 7
    assert "`web` ended with code 7" in caught.value.sentence
    assert "the reason" in caught.value.sentence
    assert sleeper.exit_code() == 128 + signal.SIGTERM
    assert sorted(paths.run.iterdir()) == [paths.up_lock]


def test_a_child_that_ends_with_code_0_is_a_failure_too(paths: LocalPaths) -> None:
    with Supervisor(paths) as supervisor:
        supervisor.start("beat", ["/bin/true"], stop_rule=QUICK)
        with pytest.raises(ChildEnded) as caught:
            supervisor.watch()
    assert caught.value.exit_code == 1
    assert "is empty" in caught.value.sentence


def test_programs_end_before_valkey_and_valkey_before_postgresql(paths: LocalPaths) -> None:
    order = paths.home / "order"

    def argv(name: str) -> list[str]:
        return [
            "/bin/sh",
            "-c",
            f"trap 'echo {name} >> {order}; exit 0' TERM; echo; while true; do sleep 0.05; done",
        ]

    with Supervisor(paths) as supervisor:
        children: list[Child] = []
        for tier, name in enumerate(["postgres", "valkey", "web"]):
            children.append(supervisor.start(name, argv(name), stop_rule=StopRule(grace_s=2, tier=tier)))
        assert wait_until(lambda: all(child.log.stat().st_size for child in children), 2)
    assert order.read_text().split() == ["web", "valkey", "postgres"]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything_soon_and_leaves_no_process(home: Path, signum: int) -> None:
    with other_supervisor(home) as process:
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) >= 2
        began = time.monotonic()
        process.send_signal(signum)
        assert process.wait(5) == 0
        assert time.monotonic() - began < 2
        assert process.stdout is not None
        assert process.stdout.read() == b"ended\n"
    assert not psutil.wait_procs(children, timeout=2)[1]


def test_a_second_start_on_the_same_home_is_refused_in_a_sentence(home: Path) -> None:
    with other_supervisor(home) as process:
        with pytest.raises(AlreadyRunning, match="already runs from"), Supervisor(LocalPaths(home)):
            pytest.fail("two supervisors on one home")
        process.terminate()
    with Supervisor(LocalPaths(home)):
        assert LocalPaths(home).up_pid.read_text() == f"process {os.getpid()}\n"


def test_after_kill_9_of_a_supervisor_the_next_one_starts_and_ends_what_was_left(home: Path) -> None:
    paths = LocalPaths(home)
    with other_supervisor(home) as process:
        process.kill()
    # As if the system had no death signal: a leftover that its pid file names.
    with Supervisor(paths) as supervisor:
        left = supervisor.start("left", SLEEP, stop_rule=QUICK)
        supervisor.children.clear()
    assert left.exit_code() is None
    paths.llm_json.write_text("{}")
    with Supervisor(paths):
        assert left.wait(1)
        assert not paths.llm_json.exists()
        assert sorted(path.name for path in paths.run.glob("*.pid")) == ["up.pid"]


def test_a_wait_that_takes_too_long_says_where_the_logs_are(paths: LocalPaths) -> None:
    with (
        pytest.raises(LocalServiceError, match=r"web server was not ready.*home/log"),
        Supervisor(paths) as supervisor,
    ):
        supervisor.wait_until(lambda: False, 0.1, "The web server")


def test_a_child_that_dies_while_something_is_awaited_ends_the_wait(paths: LocalPaths) -> None:
    with Supervisor(paths) as supervisor:
        supervisor.start("web", ["/bin/sh", "-c", "exit 4"], stop_rule=QUICK)
        with pytest.raises(ChildEnded):
            supervisor.wait_until(lambda: False, 5.0, "The web server")


def test_signals_are_given_back(paths: LocalPaths) -> None:
    before = signal.getsignal(signal.SIGINT)
    with Supervisor(paths), pytest.raises(EndRequested):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
