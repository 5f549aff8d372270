"""`make run` from the outside: first and later starts, refusals in sentences, and how everything ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from agora_web.starting import web_argv
from tests.flows.first_start import FirstStart
from tests.flows.running_agora import LIGHT, ROOT, RunningAgora, eventually
from tests.flows.visitor import Visitor

pytestmark = pytest.mark.flow
PROMISED_END_S = 5.0
CHILDREN = {"postgres", "valkey", "web", "worker", "training", "beat", "llm"}


@pytest.fixture(scope="module")
def running(made_home: FirstStart) -> Iterator[RunningAgora]:
    """The second start of the home of the first one."""
    agora = made_home.agora.start()
    yield agora
    if agora.running:
        agora.stop()


def test_the_first_start_works_below_a_folder_with_spaces(made_home: FirstStart) -> None:
    print(f"first start: {made_home.started_in_s:.1f} s")
    assert " " in str(made_home.agora.home)
    assert made_home.lines[-2] == f"AGORA is ready at http://127.0.0.1:{made_home.agora.port}/"
    assert len(made_home.people) > 1


def test_the_password_of_the_first_administrator_is_printed_once_and_stored_nowhere(made_home: FirstStart) -> None:
    said = "\n".join(made_home.lines)
    assert said.count(made_home.password) == 1
    assert "admin@agora.localhost" in said
    logs = made_home.agora.paths.log.iterdir()
    assert all(made_home.password not in log.read_text(errors="replace") for log in logs)


def test_sigterm_ends_everything_within_five_seconds(made_home: FirstStart) -> None:
    assert made_home.stopped_in_s < PROMISED_END_S
    assert made_home.left == 0
    assert made_home.lines[-1] == "AGORA has ended."


def test_a_second_start_makes_nothing_new_and_is_soon_ready(running: RunningAgora) -> None:
    print(f"warm start: {running.took_s:.1f} s to /ready")
    assert running.took_s < 30
    assert "password" not in running.said()
    with urllib.request.urlopen(f"{running.address}/ready", timeout=30) as answer:
        assert answer.read() == b"ready\n"


def test_the_doctor_asked_at_once_waits_for_what_comes_after_the_first_page(running: RunningAgora) -> None:
    asked = running.manage("doctor")
    assert asked.returncode == 0, asked.stdout + asked.stderr
    lines = asked.stdout.splitlines()
    assert len(lines) == 12
    assert all(line.startswith("ok   ") for line in lines), asked.stdout


def test_the_web_server_starts_beside_the_database_and_the_workers_after_the_first_page(running: RunningAgora) -> None:
    eventually(lambda: all(running.paths.pid_of(name).exists() for name in CHILDREN))
    began = {name: psutil.Process(running.pid(name)).create_time() for name in CHILDREN}
    order = sorted(CHILDREN, key=lambda name: began[name])
    assert order[:3] == ["web", "postgres", "valkey"]
    assert began["postgres"] - began["web"] < 1
    process = running.process
    assert process is not None
    ready_at = psutil.Process(process.pid).create_time() + running.took_s
    assert min(began[name] for name in CHILDREN - {"web", "postgres", "valkey"}) > ready_at


def test_a_request_before_the_database_is_up_gets_a_sentence(tmp_path: Path) -> None:
    with RunningAgora(tmp_path / "home", **LIGHT) as agora:
        agora.paths.make()
        web = subprocess.Popen(web_argv("127.0.0.1", agora.port), cwd=ROOT, env=agora.environment)
        try:
            status, said = eventually(lambda: status_and_body(f"{agora.address}/accounts/login/"), 60)
        finally:
            web.terminate()
            web.wait(10)
    assert status == 503
    assert said.startswith("AGORA is starting: its database is not ready yet.")


def status_and_body(address: str) -> tuple[int, str] | None:
    """None while nobody listens."""
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return None


def test_the_demo_model_answers_and_is_called_a_toy(running: RunningAgora, made_home: FirstStart) -> None:
    visitor = Visitor(running.address, made_home.people[1]["session"])
    smol = next(agent for agent in visitor.get("/api/agents/")["agents"] if agent["name"] == "SmolLM")
    assert "toy" in smol["notice"]
    assert "AGORA_LLM_BASE_URL" in smol["notice"]
    eventually(running.paths.llm_json.exists, 60)
    turn = visitor.say(visitor.begin("SmolLM"), "Say hello to me in one short sentence.", 180)
    assert turn["state"] == "done", turn["error"]
    assert turn["action"]["text"].strip()


def test_the_sample_conversation_is_there_with_its_memories(running: RunningAgora, made_home: FirstStart) -> None:
    visitor = Visitor(running.address, made_home.people[0]["session"])
    assert max(row["turns"] for row in visitor.get("/api/conversations/")["conversations"]) >= 55
    turn = visitor.say(visitor.begin("Scribe"), "What is the budget?", 120)
    assert turn["recall"]["injected"]


def test_a_second_up_on_the_same_home_is_refused_in_a_sentence(running: RunningAgora) -> None:
    refused = running.manage("up")
    assert refused.returncode != 0
    assert "AGORA already runs from" in refused.stderr
    assert running.address.rpartition(":")[2] in refused.stderr
    assert "Traceback" not in refused.stderr
    assert running.running


def test_a_taken_port_is_refused_in_a_sentence(tmp_path: Path) -> None:
    agora = RunningAgora(tmp_path / "home")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", agora.port))
        taken.listen()
        refused = agora.manage("up")
    assert refused.returncode != 0
    assert f"Port {agora.port} is taken by another program." in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not agora.processes()


def test_ctrl_c_ends_everything_within_five_seconds(running: RunningAgora) -> None:
    process = running.process
    assert process is not None
    eventually(lambda: all(running.paths.pid_of(name).exists() for name in CHILDREN))
    there = {one.pid for one in running.processes()}
    assert {name for name in CHILDREN if running.pid(name) in there} == CHILDREN
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    assert running.stop(signal.SIGCONT) < PROMISED_END_S
    assert not running.processes()
    assert not list(running.paths.run.glob("*.pid"))


@pytest.mark.parametrize("name", ["beat", "training"])
def test_a_child_that_is_killed_ends_all_with_its_code(light: RunningAgora, name: str) -> None:
    light.start()
    eventually(light.paths.pid_of(name).exists)
    light.kill(name)
    assert light.ended() == 128 + signal.SIGKILL
    assert f"`{name}` was killed by signal 9" in light.said()
    assert not light.processes()


def test_after_kill_9_of_up_itself_nothing_lives_on_and_the_next_start_works(light: RunningAgora) -> None:
    light.start()
    light.stop(signal.SIGKILL)
    eventually(lambda: not light.processes(), 20)
    light.start()
    assert light.stop() < PROMISED_END_S
    assert not light.processes()


def test_a_start_that_is_ended_early_leaves_nothing_and_the_next_one_begins_anew(tmp_path: Path) -> None:
    with RunningAgora(tmp_path / "home", **LIGHT) as agora:
        agora.begin()
        eventually(lambda: any("first_run" in command_of(one) for one in agora.processes()), 120, 0.01)
        assert agora.stop() < PROMISED_END_S
        assert not agora.processes()
        agora.start()
        assert "with the password" in agora.said()


def command_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it has just ended
        return []
