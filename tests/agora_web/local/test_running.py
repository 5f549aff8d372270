"""Services for the length of a command."""

import threading
from pathlib import Path

import psycopg
import pytest

from agora_web.local.errors import AlreadyRunning
from agora_web.local.locks import FileLock, is_held
from agora_web.local.paths import LocalPaths
from agora_web.local.postgres import EmbeddedPostgres
from agora_web.local.running import no_command_at_work, services_running
from agora_web.local.valkey import EmbeddedValkey


def up(paths: LocalPaths) -> tuple[bool, bool]:
    return EmbeddedPostgres(paths).is_running(), EmbeddedValkey(paths).is_running()


def test_a_command_starts_what_is_down_and_stops_it_and_leaves_alone_what_is_up(
    postgres: EmbeddedPostgres, paths: LocalPaths
) -> None:
    with services_running(paths.home) as outer:
        assert outer == ("postgres", "valkey")
        with psycopg.connect(postgres.conninfo("agora", "agora_app")) as connection:
            connection.execute("SELECT 1")
        with services_running(paths.home) as inner:
            assert inner == ()
        assert up(paths) == (True, True)
        with pytest.raises(AlreadyRunning, match="Another command"), no_command_at_work(paths, wait_s=0.1):
            pytest.fail("two owners of the services")
    assert up(paths) == (False, False)
    with no_command_at_work(paths, wait_s=0.1):
        assert is_held(paths.start_lock)


def test_a_command_that_fails_stops_its_services_too(valkey: EmbeddedValkey, paths: LocalPaths) -> None:
    def command() -> None:
        with services_running(paths.home, postgres=False):
            assert valkey.is_running()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        command()
    assert not valkey.is_running()


def test_nothing_is_touched_when_settings_name_other_servers(tmp_path: Path) -> None:
    with services_running(tmp_path / "home", postgres=False, valkey=False) as started:
        assert started == ()
    assert not (tmp_path / "home").exists()


def test_whoever_started_the_services_waits_for_the_others(paths: LocalPaths) -> None:
    other = FileLock(paths.users_lock)

    def work() -> None:
        with services_running(paths.home, postgres=False):
            assert other.acquire(shared=True, timeout_s=1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(1.0)
    assert thread.is_alive()
    assert EmbeddedValkey(paths).is_running()
    other.release()
    thread.join(3)
    assert not EmbeddedValkey(paths).is_running()
