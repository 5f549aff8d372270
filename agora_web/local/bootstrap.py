"""What only a superuser can give a database: roles, owner, extension. Idempotent, on a connection of its own.

Roles belong to the cluster, so one cluster can hold several databases (dev, test, bench) of AGORA.
Tables, their grants beyond the defaults and row-level security are the migrations' work.
"""

from collections.abc import Mapping

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from agora_web.local.errors import LocalServiceError

OWNER, APP, WORKER, BACKUP = "agora_owner", "agora_app", "agora_worker", "agora_backup"
ANALYST = "agora_analyst"  # what the application becomes behind the analyst's door, and nobody signs in as
ROLES: Mapping[str, str] = {
    OWNER: "LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE",
    APP: "LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE",
    WORKER: "LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE",
    BACKUP: "LOGIN NOSUPERUSER BYPASSRLS NOCREATEDB NOCREATEROLE",
    ANALYST: "NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE",
}

# One bootstrap of a cluster at a time: two at once would both create the roles. Any fixed number.
_LOCK = 0x61676F7261


def bootstrap(conninfo: str, database: str, passwords: Mapping[str, str] | None = None) -> None:
    """Make roles, ``database``, extension and default rights; changes nothing that is as it should be.

    ``conninfo`` reaches any database of the cluster as superuser. ``passwords`` gives role -> password
    for servers that ask for one; without it a role keeps what it has (the embedded server asks none).
    Raises LocalServiceError when the server cannot be reached or the user is no superuser.
    """
    with _connect(conninfo, "postgres") as cluster:
        cluster.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        _require_superuser(cluster)
        _make_roles(cluster, passwords or {})
        with _connect(conninfo, "template1") as template:
            _make_extension(template)
        # Now, not before: the new database copies the extension from template1, where no one is left.
        _make_database(cluster, database)
        with _connect(conninfo, database) as connection:
            _make_extension(connection)
            _make_rights(connection)


def drop_database(conninfo: str, database: str) -> None:
    """Drop ``database`` if it exists, ending the sessions in it."""
    with _connect(conninfo, "postgres") as cluster:
        cluster.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))


def _connect(conninfo: str, database: str) -> psycopg.Connection:
    try:
        return psycopg.connect(make_conninfo(conninfo, dbname=database), autocommit=True, connect_timeout=10)
    except psycopg.OperationalError as error:
        raise LocalServiceError(f"PostgreSQL cannot be reached: {error}", retryable=True) from error


def _require_superuser(cluster: psycopg.Connection) -> None:
    row = cluster.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    if row is None or not row[0]:
        raise LocalServiceError(
            "Preparing a database for AGORA needs a PostgreSQL superuser once (roles and the extension "
            "`vector`). Connect as one, or ask whoever keeps the server to run the same steps."
        )


def _make_roles(cluster: psycopg.Connection, passwords: Mapping[str, str]) -> None:
    there = {row[0] for row in cluster.execute("SELECT rolname FROM pg_roles")}
    for role, rights in ROLES.items():
        verb = "ALTER" if role in there else "CREATE"
        cluster.execute(sql.SQL("{} ROLE {} {}").format(sql.SQL(verb), sql.Identifier(role), sql.SQL(rights)))
        if role in passwords:
            cluster.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), passwords[role]))
    # Without inheritance the application has nothing of it, policies included, until it becomes it.
    grant = sql.SQL("GRANT {} TO {} WITH INHERIT FALSE, SET TRUE")
    cluster.execute(grant.format(sql.Identifier(ANALYST), sql.Identifier(APP)))


def _make_database(cluster: psycopg.Connection, database: str) -> None:
    row = cluster.execute("SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = %s", [database]).fetchone()
    names = {"database": sql.Identifier(database), "owner": sql.Identifier(OWNER)}
    if row is None:
        cluster.execute(sql.SQL("CREATE DATABASE {database} OWNER {owner}").format(**names))
    elif row[0] != OWNER:
        cluster.execute(sql.SQL("ALTER DATABASE {database} OWNER TO {owner}").format(**names))


def _make_extension(connection: psycopg.Connection) -> None:
    # `vector` is not a trusted extension: no later owner of a database could create it.
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone() is None:
        try:
            connection.execute("CREATE EXTENSION vector")
        except psycopg.errors.FeatureNotSupported as error:
            raise LocalServiceError(
                "This PostgreSQL lacks the extension `vector`. Install pgvector (Debian: "
                "postgresql-18-pgvector) on the server and start again."
            ) from error


def _make_rights(connection: psycopg.Connection) -> None:
    """Rights on tables to come; rights on existing ones stay as the migrations left them."""
    for statement in (
        "ALTER SCHEMA public OWNER TO {owner}",
        "GRANT USAGE ON SCHEMA public TO {app}, {worker}, {backup}, {analyst}",
        "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA public "
        "GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {app}, {worker}",
        "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA public "
        "GRANT USAGE, SELECT ON SEQUENCES TO {app}, {worker}",
        "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA public GRANT SELECT ON TABLES TO {backup}",
        "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA public GRANT SELECT ON SEQUENCES TO {backup}",
    ):
        connection.execute(
            sql.SQL(statement).format(
                owner=sql.Identifier(OWNER),
                app=sql.Identifier(APP),
                worker=sql.Identifier(WORKER),
                backup=sql.Identifier(BACKUP),
                analyst=sql.Identifier(ANALYST),
            )
        )
