"""The database as AGORA needs it, and room for it."""

from __future__ import annotations

from django.conf import settings
from django.db import DatabaseError, connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _

from agora_web.doctor.illness import Ill, first_line
from agora_web.local.preflight import disk_problem
from memory.tenancy import EXEMPT_TABLES, acting_as


def database() -> str:
    """The application's role can sign in."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('server_version')")
            version = cursor.fetchone()[0]
    except DatabaseError as error:
        cure = (
            _("Check DATABASE_URL, and that this server runs and lets agora_app in.")
            if settings.AGORA.database_url
            else _("Start AGORA with `make run`; log/postgres.log in AGORA_HOME says what holds it up.")
        )
        raise Ill(_("PostgreSQL does not answer (%(error)s).") % {"error": first_line(error)}, cure) from error
    return _("PostgreSQL %(version)s answers.") % {"version": version.split()[0]}


def schema() -> str:
    """No migration waits."""
    executor = MigrationExecutor(connections["owner"])
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    connections["owner"].close()
    if waiting:
        raise Ill(
            _("%(count)d migrations are waiting.") % {"count": len(waiting)},
            _("Start AGORA again, or run `manage.py migrate --database owner`."),
        )
    return _("The tables are up to date.")


def extension() -> str:
    """pgvector is there."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        row = cursor.fetchone()
    if row is None:
        raise Ill(
            _("The extension `vector` is not in this database."),
            _("Install pgvector on the server and run `CREATE EXTENSION vector` as a superuser."),
        )
    return _("pgvector %(version)s.") % {"version": row[0]}


def row_level_security() -> str:
    """Every table with content forces its policies, and shows the application nothing before it names a user."""
    with acting_as(None), connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
        if cursor.fetchone()[0]:
            raise Ill(
                _("The application signs in with a role that no policy binds."),
                _("Let it sign in as agora_app, without SUPERUSER and BYPASSRLS."),
            )
        cursor.execute(
            "SELECT relname, relrowsecurity AND relforcerowsecurity FROM pg_class "
            "WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace ORDER BY relname"
        )
        tables = [(name, forced) for name, forced in cursor.fetchall() if name not in EXEMPT_TABLES]
        open_tables = [name for name, forced in tables if not forced]
        for name in (name for name, forced in tables if forced):
            cursor.execute(f"SELECT EXISTS (SELECT 1 FROM {connection.ops.quote_name(name)})")
            if cursor.fetchone()[0]:
                open_tables.append(name)
    if open_tables:
        raise Ill(
            _("Rows can be read without a user: %(tables)s.") % {"tables": ", ".join(sorted(open_tables))},
            _("Run `manage.py migrate --database owner`; a table made by hand belongs in a database of its own."),
        )
    return _("%(count)d tables show nothing without a user.") % {"count": len(tables)}


def disk() -> str:
    """There is room where the data lies."""
    problem = disk_problem(settings.PATHS.home)
    if problem:
        cause, _dot, cure = problem.partition(". ")
        raise Ill(f"{cause}.", cure)
    return _("There is room.")
