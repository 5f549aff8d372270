"""How far the database is, as a process without Django sees it."""

from __future__ import annotations

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from django.db.migrations.loader import MigrationLoader

from agora_web.accounts.models import User
from agora_web.database import Stage, bootstrap_server, expected_migrations, stage
from agora_web.local.errors import LocalServiceError


def test_the_migrations_found_by_their_files_are_those_that_django_would_run() -> None:
    assert expected_migrations() == set(MigrationLoader(None).disk_migrations)


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
@pytest.mark.parametrize("alias", ["default", "owner"])
def test_a_database_is_ready_once_it_has_all_migrations_and_somebody(alias: str) -> None:
    assert stage(alias) is Stage.EMPTY
    User.objects.create_user("ana@example.org", "a long enough password")
    assert stage(alias) is Stage.READY
    with connections["owner"].cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'memory' AND name = '0001_initial'")
        assert stage(alias) is Stage.BEHIND
        cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('memory', '0001_initial', now())")
    assert stage(alias) is Stage.READY


def test_a_database_without_tables_is_behind_and_none_at_all_is_away(
    database_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.DATABASES["owner"], "NAME", "postgres")
    assert stage("owner") is Stage.BEHIND
    monkeypatch.setitem(settings.DATABASES["owner"], "HOST", "/nowhere")
    assert stage("owner") is Stage.AWAY


def test_a_server_that_was_prepared_before_gets_the_role_that_it_lacks(
    database_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "ROLE_PASSWORDS", {})
    url = f"host={settings.PATHS.postgres_socket_dir} user=postgres dbname=postgres"
    member = "SELECT pg_has_role('agora_app', 'agora_analyst', 'SET')"
    with psycopg.connect(url, autocommit=True) as superuser:
        assert superuser.execute(member).fetchone() == (True,)
        superuser.execute("REVOKE agora_analyst FROM agora_app")
        try:
            with pytest.raises(LocalServiceError, match="superuser"):
                bootstrap_server(url.replace("user=postgres", "user=agora_owner"))
            bootstrap_server(url)
            assert superuser.execute(member).fetchone() == (True,)
        finally:
            superuser.execute("GRANT agora_analyst TO agora_app WITH INHERIT FALSE, SET TRUE")
    bootstrap_server("host=/nowhere")  # nothing is missing, so nobody is asked
