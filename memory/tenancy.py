"""Who may read what, kept by the database: the acting user of a transaction, and the policies of each table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, migrations, transaction

from memory.prepared import begin, run

# Tables that must be read before a user is known, or that hold nothing of anybody's: each with its reason.
# A test fails on a table that neither stands here nor has forced row-level security.
EXEMPT_TABLES: dict[str, str] = {
    "accounts_user": "identity, read at sign-in; guarded in code",
    "accounts_user_groups": "identity: roles",
    "accounts_user_user_permissions": "identity: permissions",
    "account_emailaddress": "identity, read at sign-in",
    "account_emailconfirmation": "identity, read at confirmation",
    "django_session": "identity, read before the user is known",
    "auth_group": "roles, the same for all",
    "auth_group_permissions": "roles, the same for all",
    "auth_permission": "Django's own, no content",
    "django_content_type": "Django's own, no content",
    "django_migrations": "Django's own, no content",
    "django_admin_log": "the administration site's own; it edits people and schedules, never content",
    "django_celery_beat_clockedschedule": "beat's own, no content",
    "django_celery_beat_crontabschedule": "beat's own, no content",
    "django_celery_beat_intervalschedule": "beat's own, no content",
    "django_celery_beat_periodictask": "beat's own, no content",
    "django_celery_beat_periodictasks": "beat's own, no content",
    "django_celery_beat_solarschedule": "beat's own, no content",
    "memory_encoderspace": "names of encoders, the same for all",
    "memory_adapterversion": "weights trained for all, no text",
}

ACTING_USER = "nullif(current_setting('agora.user', true), '')::uuid"


@contextmanager
def acting_as(user_id: UUID | None, *, using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Open one transaction in which the database sees `user_id` as the acting user; nested calls restore the outer one.

    The setting is local to the transaction, so that a pooled connection never carries one person's name into
    another's work. `None` acts as nobody: no rows.
    """
    connection = connections[using]
    if not connection.in_atomic_block:
        with transaction.atomic(using=using):
            begin(f"SELECT set_config('agora.user', '{_spelled(user_id)}', true)", using=using)
            yield
        return
    with transaction.atomic(using=using):
        before = _set_acting_user(using, _spelled(user_id))
        yield
        # The setting would outlive this block in the outer transaction. After an error the savepoint's rollback
        # restores it, so only the good way out needs this.
        _set_acting_user(using, before)


_ACT_AFTER = (
    "WITH before AS MATERIALIZED (SELECT coalesce(current_setting('agora.user', true), '') AS name) "
    "SELECT name, set_config('agora.user', %s, true) FROM before"
)


def _spelled(user_id: UUID | None) -> str:
    """The id as PostgreSQL spells it. Raises `ValueError` for what is none: it goes into a statement as it is."""
    return str(UUID(str(user_id))) if user_id else ""


def _set_acting_user(using: str, user: str) -> str:
    """Set the acting user and return the one before."""
    found = run(_ACT_AFTER, [user], using=using)
    return str(found[0]) if found else ""


def owned_table(table: str, *, column: str = "owner_id", worker: str = "SELECT") -> migrations.RunSQL:
    """Row-level security for a table whose rows belong to the user in `column`.

    `worker` is what the sweeping role may do on everybody's rows (`SELECT` or `ALL`).
    """
    rule = f"{column} = {ACTING_USER}"
    return _policies(table, [f"FOR ALL TO agora_app USING ({rule}) WITH CHECK ({rule})", _for_worker(worker)])


def shared_table(table: str, *, writers: str, worker: str = "SELECT") -> migrations.RunSQL:
    """Row-level security for a table that any signed-in user reads and only the role `writers` changes."""
    allowed = f"agora_has_role('{writers}')"
    return _policies(
        table,
        [
            f"FOR SELECT TO agora_app USING ({ACTING_USER} IS NOT NULL)",
            f"FOR INSERT TO agora_app WITH CHECK ({allowed})",
            f"FOR UPDATE TO agora_app USING ({allowed}) WITH CHECK ({allowed})",
            f"FOR DELETE TO agora_app USING ({allowed})",
            _for_worker(worker),
        ],
    )


def supervised_table(table: str, *, column: str = "owner_id", supervisors: Sequence[str]) -> migrations.RunSQL:
    """Row-level security for a table of work: owners see and make their own rows, `supervisors` see and change all."""
    own = f"{column} = {ACTING_USER}"
    watch = " OR ".join(f"agora_has_role('{role}')" for role in supervisors)
    return _policies(
        table,
        [
            f"FOR SELECT TO agora_app USING ({own} OR {watch})",
            f"FOR INSERT TO agora_app WITH CHECK ({own} OR {watch})",
            f"FOR UPDATE TO agora_app USING ({own} OR {watch}) WITH CHECK ({own} OR {watch})",
            _for_worker("ALL"),
        ],
    )


def ruled_table(table: str, *rules: str, worker: str = "ALL") -> migrations.RunSQL:
    """Row-level security by rules of the table's own, each after the pattern `FOR SELECT ... USING (...)`.

    `{me}` in a rule is the acting user, `{is:labeller}` whether that user has the role.
    """
    told = [rule.replace("{me}", ACTING_USER) for rule in rules]
    told = [re.sub(r"\{is:(\w+)\}", r"agora_has_role('\1')", rule) for rule in told]
    return _policies(table, [*(f"{verb} TO agora_app {rest}" for verb, rest in map(_verb_and_rest, told)),
                             _for_worker(worker)])  # fmt: skip


# The opened bank that a transaction reads behind the analyst's door; none for everybody else. Asked once a statement.
DOOR_BANK = "(SELECT agora_bank_behind_door())"


def behind_door(table: str, rule: str = f"bank_id = {DOOR_BANK}") -> migrations.RunSQL:
    """What the role `agora_analyst` sees of a table: the opened bank's rows, by `rule`. What is not told so it may
    not read at all. Tables that a rule looks into show it the opened bank's rows too.
    """
    return migrations.RunSQL(
        [f"GRANT SELECT ON {table} TO agora_analyst",
         f"CREATE POLICY {table}_door ON {table} FOR SELECT TO agora_analyst USING ({rule})"],
        [f"DROP POLICY {table}_door ON {table}", f"REVOKE SELECT ON {table} FROM agora_analyst"],
    )  # fmt: skip


def _verb_and_rest(rule: str) -> tuple[str, str]:
    _for, verb, rest = rule.split(" ", 2)
    return f"{_for} {verb}", rest


def _for_worker(verb: str) -> str:
    check = " WITH CHECK (true)" if verb == "ALL" else ""
    return f"FOR {verb} TO agora_worker USING (true){check}"


def _policies(table: str, policies: Sequence[str]) -> migrations.RunSQL:
    policies = ["FOR ALL TO agora_owner USING (true) WITH CHECK (true)", *policies]
    forward: list[Any] = [
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
    ]
    forward += [f"CREATE POLICY {table}_{number} ON {table} {policy}" for number, policy in enumerate(policies)]
    backward: list[Any] = [f"DROP POLICY {table}_{number} ON {table}" for number in range(len(policies))]
    backward += [f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY", f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"]
    return migrations.RunSQL(forward, backward)


# A policy that read the groups itself would need the reader's right to them; one function with the owner's rights and
# a fixed search path answers instead, and only for the acting user.
STAFF_CHECK = migrations.RunSQL(
    f"""
    CREATE FUNCTION agora_has_role(role text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
        SELECT EXISTS (
            SELECT 1 FROM public.accounts_user u
            WHERE u.id = {ACTING_USER} AND u.is_active AND (u.is_superuser OR EXISTS (
                SELECT 1 FROM public.accounts_user_groups m JOIN public.auth_group g ON g.id = m.group_id
                WHERE m.user_id = u.id AND g.name = role)))
    $$;
    REVOKE ALL ON FUNCTION agora_has_role(text) FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION agora_has_role(text) TO agora_app, agora_worker, agora_owner;
    """,
    "DROP FUNCTION agora_has_role(text)",
)
