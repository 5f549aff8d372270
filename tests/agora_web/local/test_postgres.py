"""The embedded PostgreSQL: made, bootstrapped, stopped, killed, started again."""

import os
import shutil
import signal
import socket
from pathlib import Path

import psycopg
import pytest

from agora_web.local import postgres as postgres_module
from agora_web.local.bootstrap import bootstrap, drop_database
from agora_web.local.errors import LocalServiceError
from agora_web.local.paths import LocalPaths
from agora_web.local.postgres import EmbeddedPostgres, servers_in


def one(conninfo: str, query: str) -> object:
    with psycopg.connect(conninfo) as connection:
        row = connection.execute(query).fetchone()
        assert row is not None
        return row[0]


def test_a_cluster_is_bootstrapped_twice_with_roles_extension_and_rights(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    for _ in range(2):
        bootstrap(postgres.conninfo(), "agora", {"agora_app": "it's"})
    bootstrap(postgres.conninfo(), "agora second")

    superuser = postgres.conninfo("agora")
    assert one(superuser, "SELECT extversion FROM pg_extension WHERE extname = 'vector'") >= "0.8"  # type: ignore[operator]
    query = "SELECT array_agg(rolname::text ORDER BY rolname) FROM pg_roles WHERE rolname LIKE 'agora%' AND {}"
    roles = ["agora_app", "agora_backup", "agora_owner", "agora_worker"]
    assert one(superuser, query.format("rolcanlogin AND NOT rolsuper AND NOT rolcreatedb")) == roles
    assert one(superuser, query.format("rolbypassrls")) == ["agora_backup"]
    assert one(superuser, query.format("NOT rolcanlogin")) == ["agora_analyst"]
    owner = "SELECT pg_get_userbyid(datdba)::text FROM pg_database WHERE datname = 'agora second'"
    assert one(superuser, owner) == "agora_owner"

    with psycopg.connect(postgres.conninfo("agora", "agora_owner")) as connection:
        connection.execute("CREATE TABLE note (id bigserial, v vector(3)); INSERT INTO note (v) VALUES ('[1,2,3]')")
    for role in ("agora_app", "agora_worker"):
        with psycopg.connect(postgres.conninfo("agora", role)) as connection:
            connection.execute("INSERT INTO note DEFAULT VALUES")
            connection.execute("UPDATE note SET v = '[0,0,1]' WHERE v IS NULL")
        with psycopg.connect(postgres.conninfo("agora", role)) as connection:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("CREATE TABLE other ()")
    backup = postgres.conninfo("agora", "agora_backup")
    assert one(backup, "SELECT count(*) FROM note") == 3
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        one(backup, "DELETE FROM note RETURNING id")

    with psycopg.connect(postgres.conninfo("agora second")):
        drop_database(postgres.conninfo(), "agora second")
    drop_database(postgres.conninfo(), "agora second")
    assert one(superuser, "SELECT count(*) FROM pg_database WHERE datname = 'agora second'") == 0


def test_bootstrap_needs_a_superuser_and_says_so(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    bootstrap(postgres.conninfo(), "agora")
    with pytest.raises(LocalServiceError, match="needs a PostgreSQL superuser"):
        bootstrap(postgres.conninfo(user="agora_owner"), "agora")
    postgres.stop()
    with pytest.raises(LocalServiceError, match="cannot be reached") as caught:
        bootstrap(postgres.conninfo(), "agora")
    assert caught.value.retryable


def test_it_starts_again_after_kill_9_with_committed_rows_and_a_lock_of_a_stranger(
    postgres: EmbeddedPostgres, paths: LocalPaths
) -> None:
    child = postgres.start()
    with psycopg.connect(postgres.conninfo(), autocommit=True) as connection:
        connection.execute("CREATE TABLE note AS SELECT 7 AS seven")
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait(2)
    # The number in the lock now belongs to a living stranger: this very test.
    lock = paths.postgres_data / "postmaster.pid"
    lock.write_text(lock.read_text().replace(str(child.pid), str(os.getpid()), 1))

    restarted = EmbeddedPostgres(paths, durable=False)
    restarted.start()
    try:
        assert one(restarted.conninfo(), "SELECT seven FROM note") == 7
    finally:
        restarted.stop()
    assert not restarted.is_running()
    assert servers_in(paths.postgres_data) == []


def test_a_server_that_lost_its_supervisor_is_ended_before_a_new_one_starts(
    postgres: EmbeddedPostgres, paths: LocalPaths
) -> None:
    first = postgres.start()
    second = EmbeddedPostgres(paths, durable=False)
    second.start()
    assert first.wait(2)
    assert second.is_running()
    second.stop()


def test_stopping_does_not_wait_for_clients(postgres: EmbeddedPostgres) -> None:
    child = postgres.start()
    connection = psycopg.connect(postgres.conninfo())
    connection.execute("SELECT 1")
    child.ask_to_end()
    assert child.wait(2)
    connection.close()


def test_no_tcp_port_is_opened_and_the_folder_is_private(postgres: EmbeddedPostgres, paths: LocalPaths) -> None:
    postgres.start()
    assert one(postgres.conninfo(), "SHOW listen_addresses") == ""
    assert paths.postgres_socket_dir.stat().st_mode & 0o077 == 0
    assert paths.postgres_data.stat().st_mode & 0o077 == 0


def test_an_initdb_cut_short_is_made_anew(paths: LocalPaths) -> None:
    half = paths.home / "postgres.new"
    (half / "base").mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    postgres = EmbeddedPostgres(paths, durable=False)
    postgres.start()
    assert postgres.is_running()
    postgres.stop()
    assert not half.exists()


def test_a_data_folder_of_something_else_is_left_alone(paths: LocalPaths) -> None:
    postgres = EmbeddedPostgres(paths, durable=False)
    paths.postgres_data.mkdir()
    (paths.postgres_data / "letter").write_text("dear")
    with pytest.raises(LocalServiceError, match="no database cluster"):
        postgres.start()
    assert (paths.postgres_data / "letter").read_text() == "dear"


def test_a_server_that_cannot_start_says_why(postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(postgres_module.LAPTOP, "max_connections", "none")
    with pytest.raises(LocalServiceError, match="invalid value for parameter"):
        postgres.start()


@pytest.mark.parametrize("name", ["with space, and comma", "x" * 110])
def test_it_runs_in_a_path_with_spaces_and_in_a_long_one(tmp_path: Path, fresh_cluster: Path, name: str) -> None:
    paths = LocalPaths(tmp_path / name)
    paths.make()
    shutil.copytree(fresh_cluster, paths.postgres_data)
    server = EmbeddedPostgres(paths, durable=False)
    server.start()
    try:
        assert one(server.conninfo(), "SELECT 1") == 1
    finally:
        server.stop()
        shutil.rmtree(paths.sockets)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")
def test_root_without_namespaces_runs_it_as_nobody_below_a_closed_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    paths = LocalPaths(tmp_path / "home")
    server = EmbeddedPostgres(paths, durable=False, as_root="nobody")
    child = server.start()
    far = paths.postgres_data.resolve().parent
    try:
        assert one(server.conninfo(), "SELECT 1") == 1
        assert Path(f"/proc/{child.pid}").stat().st_uid == 65534
    finally:
        server.stop()
    # Namespaces are allowed again: the same data, as root.
    again = EmbeddedPostgres(paths, durable=False)
    try:
        again.start()
        assert one(again.conninfo(), "SELECT 1") == 1
    finally:
        again.stop()
        shutil.rmtree(far)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could take it")
def test_root_does_not_take_a_users_database(postgres: EmbeddedPostgres, paths: LocalPaths) -> None:
    os.chown(paths.postgres_data, 1234, 1234)
    with pytest.raises(LocalServiceError, match=r"belongs to user number 1234\. Start AGORA as that user"):
        postgres.start()


def test_a_link_to_data_that_is_gone_is_said(tmp_path: Path) -> None:
    paths = LocalPaths(tmp_path / "home")
    paths.make()
    paths.postgres_data.symlink_to(tmp_path / "gone")
    with pytest.raises(LocalServiceError, match="which is gone"):
        EmbeddedPostgres(paths).start()


def test_nothing_listens_after_a_stop(postgres: EmbeddedPostgres, paths: LocalPaths) -> None:
    postgres.start()
    postgres.stop()
    with socket.socket(socket.AF_UNIX) as probe, pytest.raises(OSError):
        probe.connect(str(paths.postgres_socket_dir / ".s.PGSQL.5432"))
