"""How far the database is, asked without Django: a process that only starts others need not load it."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings

from agora_web.local.bootstrap import ANALYST, APP, bootstrap


class Stage(Enum):
    """What a database lacks before it can serve."""

    AWAY = "it does not answer"
    BEHIND = "tables are missing or old"
    EMPTY = "nobody is there yet"
    READY = "nothing"


def sign_in(alias: str) -> psycopg.Connection[Any]:
    """A connection of its own as the role of `alias`, beside any pool. Raises `psycopg.OperationalError`."""
    told = settings.DATABASES[alias]
    return psycopg.connect(
        host=told["HOST"], port=told["PORT"], dbname=told["NAME"], user=told["USER"], password=told["PASSWORD"],
        connect_timeout=2, autocommit=True,
    )  # fmt: skip


def stage(alias: str) -> Stage:
    """What this code still needs of the database, as the role of `alias` sees it; never raises for a database away."""
    try:
        with sign_in(alias) as connection:
            if expected_migrations() - applied_migrations(connection):
                return Stage.BEHIND
            somebody = connection.execute("SELECT EXISTS (SELECT 1 FROM accounts_user)").fetchone()
            return Stage.READY if somebody and somebody[0] else Stage.EMPTY
    except psycopg.OperationalError:
        return Stage.AWAY
    except psycopg.Error:  # the table of migrations, or people, is not there
        return Stage.BEHIND


def applied_migrations(connection: psycopg.Connection[Any]) -> set[tuple[str, str]]:
    """(app, name) of every migration that this database has."""
    return {(app, name) for app, name in connection.execute("SELECT app, name FROM django_migrations")}


@lru_cache(maxsize=1)
def expected_migrations() -> frozenset[tuple[str, str]]:
    """(app, name) of every migration that this code brings: the files' names, without loading one."""
    return frozenset(
        (app.rpartition(".")[2], file.stem)
        for app in settings.INSTALLED_APPS
        for file in (folder_of(app) / "migrations").glob("[0-9]*.py")
    )


def folder_of(app: str) -> Path:
    """Where an installed app lies; the app itself is not imported."""
    spec = find_spec(app)
    assert spec is not None, app
    return Path(next(iter(spec.submodule_search_locations or ())))


def bootstrap_server(url: str) -> None:
    """Prepare the server that DATABASE_URL names, unless its roles can sign in already and none is missing."""
    if not _has_all_roles():
        bootstrap(url, settings.DATABASES["owner"]["NAME"], settings.ROLE_PASSWORDS)


def _has_all_roles() -> bool:
    """Whether the owner can sign in, and the application may become what it is behind the analyst's door."""
    try:
        with sign_in("owner") as connection:
            members = "SELECT count(*) FROM pg_auth_members WHERE roleid = to_regrole(%s) AND member = to_regrole(%s)"
            found = connection.execute(members, [ANALYST, APP]).fetchone()
    except psycopg.OperationalError:
        return False
    return bool(found and found[0])
