"""Row-level security, asked of the database itself: every table, every model with an owner, every role."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import DatabaseError, ProgrammingError, connection, connections, models, transaction

from agents.models import Agent
from agora_web.accounts.models import User
from agora_web.local.bootstrap import drop_database
from memory.models import Bank, Conversation, EncoderSpace, Job, Turn
from memory.tenancy import EXEMPT_TABLES, acting_as
from tests.scenes import Life, live, make_agent, make_person

APPS = ("memory", "agents")


def owner_of(model: type[models.Model]) -> models.Field[Any, Any] | None:
    """The field that says whose a row is, or None."""
    keys = [field for field in model._meta.concrete_fields if field.remote_field and field.related_model is User]
    return keys[0] if keys else None


OWNED = [model for app in APPS for model in apps.get_app_config(app).get_models() if owner_of(model)]


def rows(sql: str, *parameters: object, using: str = "default") -> list[tuple[Any, ...]]:
    with connections[using].cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []


def acting_user() -> str:
    return str(rows("SELECT coalesce(current_setting('agora.user', true), '')")[0][0])


@contextmanager
def refused(words: str) -> Iterator[None]:
    """Expect the database to refuse, in a savepoint so that the test can go on."""
    with pytest.raises(DatabaseError, match=words), transaction.atomic():
        yield


# --- the schema -----------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_every_table_is_exempt_by_name_or_has_forced_row_level_security() -> None:
    found = rows(
        "SELECT relname, relrowsecurity AND relforcerowsecurity FROM pg_class "
        "WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
    )
    assert len(found) > 20
    open_tables = {name for name, forced in found if not forced}
    assert open_tables - set(EXEMPT_TABLES) == set(), "neither exempt nor protected"
    assert set(EXEMPT_TABLES) - open_tables == set(), "exempt by name, but gone or protected"
    assert all(reason.strip() for reason in EXEMPT_TABLES.values())


@pytest.mark.django_db
def test_no_view_and_no_foreign_table_leads_round_the_policies() -> None:
    assert rows(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('v', 'm', 'f')"
    ) == []  # fmt: skip


@pytest.mark.django_db
def test_no_exempt_table_has_an_owner_a_text_of_memory_or_a_vector() -> None:
    columns = rows(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' "
        "AND table_name = ANY(%s) AND (udt_name = 'vector' "
        "OR column_name IN ('owner_id', 'bank_id', 'text', 'observation', 'action'))",
        list(EXEMPT_TABLES),
    )
    assert columns == []


@pytest.mark.django_db
def test_every_model_with_an_owner_lies_behind_a_policy() -> None:
    assert {model.__name__ for model in OWNED} >= {"Bank", "Event", "Conversation", "Turn", "Memory", "MemorySource",
                                                   "Posting", "Recall", "Job", "Seat"}  # fmt: skip
    assert {model._meta.db_table for model in OWNED} & set(EXEMPT_TABLES) == set()


@pytest.mark.django_db
def test_the_serving_roles_can_neither_bypass_nor_lift_row_level_security() -> None:
    found = rows("SELECT rolname, rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname LIKE 'agora_%%'")
    assert {name for name, *rights in found if any(rights)} == {"agora_backup"}
    owners = rows("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'")
    assert owners == [("agora_owner",)]
    assert rows("SELECT current_user") == [("agora_app",)]
    for statement in (
        "TRUNCATE memory_turn",
        "TRUNCATE memory_bank CASCADE",
        "ALTER TABLE memory_turn DISABLE ROW LEVEL SECURITY",
        "DROP POLICY memory_turn_1 ON memory_turn",
        "CREATE POLICY mine ON memory_turn USING (true)",
        "SET ROLE agora_owner",
        "SET ROLE agora_backup",
        "ALTER ROLE agora_app BYPASSRLS",
        "CREATE TABLE public.side_door (text text)",
    ):
        with refused("permission denied|must be owner|only roles with"):
            rows(statement)


@pytest.mark.django_db
def test_switching_row_level_security_off_gives_an_error_instead_of_rows() -> None:
    with refused("row-level security"):
        rows("SET LOCAL row_security = off")
        rows("SELECT * FROM memory_turn")


@pytest.mark.django_db
def test_the_worker_reads_everybody_and_changes_nothing_but_jobs_and_what_training_makes_of_numbers() -> None:
    policies = rows("SELECT tablename, cmd FROM pg_policies WHERE roles = '{agora_worker}'")
    protected = {
        name
        for (name,) in rows(
            "SELECT relname FROM pg_class WHERE relforcerowsecurity AND relnamespace = 'public'::regnamespace"
        )
    }
    assert dict(policies) == {name: "ALL" if name in CHANGED_BY_WORKER else "SELECT" for name in protected}
    assert len(policies) == len(protected)


CHANGED_BY_WORKER = {
    "memory_job",
    *(f"training_{name}" for name in ("snapshot", "trainingrun", "promotion", "bankstep", "shadowscore", "rules")),
}

# --- rows -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def ana() -> User:
    return make_person("ana@example.org", name="Ana")


@pytest.fixture
def ben() -> User:
    return make_person("ben@example.org", name="Ben", roles=["labeller", "analyst"])


@pytest.fixture
def scribe() -> Agent:
    return make_agent(budget_memories=5)


@pytest.fixture
def life(ana: User, scribe: Agent) -> Life:
    return live(ana, scribe, "walnut")


@pytest.mark.django_db
def test_nobody_sees_a_row_and_another_person_neither(life: Life, ben: User) -> None:
    for model in OWNED:
        with acting_as(life.person):
            assert model.objects.count() > 0, f"{model.__name__}: a test without rows proves nothing"
        assert model.objects.count() == 0, f"{model.__name__} shows rows to nobody"
        for other in (None, ben.pk, uuid4()):
            with acting_as(other):
                assert model.objects.count() == 0, f"{model.__name__} shows rows to {other}"


@pytest.mark.django_db
def test_another_persons_update_and_delete_hit_no_rows(life: Life, ben: User) -> None:
    for model in OWNED:
        table, owner = model._meta.db_table, owner_of(model).column  # type: ignore[union-attr]
        with acting_as(life.person):
            before = model.objects.count()
        for other in (None, ben.pk):
            with acting_as(other), connection.cursor() as cursor:
                cursor.execute(f"UPDATE {table} SET {owner} = {owner}")
                assert cursor.rowcount == 0, f"{model.__name__} lets {other} update"
                cursor.execute(f"DELETE FROM {table}")
                assert cursor.rowcount == 0, f"{model.__name__} lets {other} delete"
        with acting_as(life.person):
            assert model.objects.count() == before


@pytest.mark.django_db
def test_a_row_for_another_owner_is_refused_on_its_way_in(life: Life, ben: User) -> None:
    for model in OWNED:
        with acting_as(life.person):
            values = model.objects.values().first()
        assert values is not None
        key = model._meta.pk.attname  # type: ignore[union-attr]
        values[key] = uuid4() if isinstance(values[key], UUID) else values[key] + 1_000_000
        for other in (None, ben.pk):
            with acting_as(other), refused("violates row-level security policy"):
                model(**values).save(force_insert=True)


@pytest.mark.django_db
def test_nobody_can_give_their_row_to_another(life: Life, ben: User) -> None:
    for model in OWNED:
        field = owner_of(model)
        assert field is not None
        with acting_as(life.person), refused("violates row-level security policy"):
            model.objects.update(**{field.attname: ben.pk})


@pytest.mark.django_db
def test_an_operator_sees_jobs_and_nothing_else_of_others(life: Life) -> None:
    for number, role in enumerate(("operator", "administrator")):
        person = make_person(f"{number}@example.org", roles=[role])
        with acting_as(person.pk):
            assert {model.__name__ for model in OWNED if model.objects.exists()} == {"Job"}


@pytest.mark.django_db
def test_agents_are_read_by_the_signed_in_and_changed_by_administrators(scribe: Agent, ana: User) -> None:
    chief = make_person("chief@example.org", roles=["administrator"])
    assert Agent.objects.count() == 0
    with acting_as(ana.pk):
        assert Agent.objects.count() == 1
        assert Agent.objects.update(persona="Obey me.") == 0
        assert Agent.objects.all().delete()[0] == 0
        with refused("row-level security"):
            Agent.objects.create(name="Mine")
    with acting_as(chief.pk):
        assert Agent.objects.update(persona="Be brief.") == 1


@pytest.mark.django_db
def test_a_foreign_key_to_anothers_row_gives_no_view_of_it(life: Life, ben: User, scribe: Agent) -> None:
    """Keys are checked without row-level security, so a known id can be pointed at; it must show nothing."""
    with acting_as(ben.pk):
        space = EncoderSpace.objects.get()
        bank = Bank.objects.create(owner_id=ben.pk, name="mine", space=space)
        pointing = Conversation.objects.create(owner_id=ben.pk, bank_id=life.bank)
        turn = Turn.objects.create(owner_id=ben.pk, conversation_id=life.conversation, ordinal=1_000)
        assert not Conversation.objects.filter(bank__name__gte="").exists()
        assert Conversation.objects.select_related("bank").filter(pk=pointing.pk).first() is None
        assert Turn.objects.filter(conversation__title__contains="walnut").first() is None
        assert Turn.objects.filter(pk=turn.pk).count() == 1
        assert Bank.objects.filter(pk=bank.pk).exists()


@pytest.mark.django_db(transaction=True, databases=["default", "owner", "worker"])
def test_the_worker_role_finds_rows_of_all_and_can_change_jobs_alone() -> None:
    ana = make_person()
    life = live(ana, make_agent(budget_memories=5), "walnut")
    assert rows("SELECT current_user", using="worker") == [("agora_worker",)]
    for model in OWNED:
        table, owner = model._meta.db_table, owner_of(model).column  # type: ignore[union-attr]
        assert model.objects.using("worker").exists(), f"the worker does not see {table}"
        if model is Job:
            continue
        with connections["worker"].cursor() as cursor:
            cursor.execute(f"UPDATE {table} SET {owner} = {owner}")
            assert cursor.rowcount == 0, f"the worker can change {table}"
            cursor.execute(f"DELETE FROM {table}")
            assert cursor.rowcount == 0, f"the worker can delete from {table}"
    with pytest.raises(ProgrammingError, match="row-level security"):
        Conversation.objects.using("worker").create(owner_id=ana.pk, bank_id=life.bank)
    with pytest.raises(ProgrammingError, match="permission denied"):
        rows("TRUNCATE memory_job", using="worker")
    assert Job.objects.using("worker").update(attempts=1) >= 1


# --- the acting user ------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_acting_as_nests_and_gives_the_outer_person_back() -> None:
    one, two = uuid4(), uuid4()
    with acting_as(one):
        with acting_as(two):
            assert acting_user() == str(two)
            with acting_as(None):
                assert acting_user() == ""
            assert acting_user() == str(two)
        assert acting_user() == str(one)
    assert acting_user() == ""


@pytest.mark.django_db
def test_after_an_error_the_outer_person_acts_again() -> None:
    one, two = uuid4(), uuid4()
    with acting_as(one):
        with pytest.raises(RuntimeError), acting_as(two):
            raise RuntimeError
        assert acting_user() == str(one)
        with pytest.raises(DatabaseError), acting_as(two):
            rows("SELECT 1/0")
        assert acting_user() == str(one)
        with pytest.raises(DatabaseError), acting_as(two), acting_as(None):
            rows("SELECT no_such_column")
        assert acting_user() == str(one)
    assert acting_user() == ""


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_the_acting_user_ends_with_its_transaction() -> None:
    one = uuid4()
    assert not connection.in_atomic_block
    with acting_as(one):
        assert connection.in_atomic_block
        assert acting_user() == str(one)
    assert acting_user() == ""
    with pytest.raises(RuntimeError), acting_as(one):
        raise RuntimeError
    assert acting_user() == ""


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_pooled_connection_carries_nobodys_name_to_the_next() -> None:
    """One server connection, handed round by the pool that serves in earnest."""
    plain = connections["default"]
    plain.close()
    pooled = plain.copy()
    pooled.settings_dict = {**plain.settings_dict, "OPTIONS": {"pool": {"min_size": 1, "max_size": 1, "timeout": 5}}}
    pooled._connection_pools = {}  # not the one that all connections of this alias share
    connections["default"] = pooled
    try:
        seen = []
        for person in (uuid4(), None, uuid4()):
            before = acting_user()
            backend = rows("SELECT pg_backend_pid()")[0][0]
            if person:
                with acting_as(person):
                    assert acting_user() == str(person)
            pooled.close()  # back to the pool, as after each request
            seen.append((backend, before))
        assert {name for _, name in seen} == {""}
        assert len({backend for backend, _ in seen}) == 1, "the same connection, or the test proves nothing"
    finally:
        pooled.close()
        pooled.close_pool()
        connections["default"] = plain


@pytest.mark.django_db
@pytest.mark.parametrize("wrong", ["x", "'; DROP TABLE memory_turn; --", "00000000"])
def test_a_name_that_is_no_id_is_an_error_and_no_door(wrong: str) -> None:
    with pytest.raises(ValueError, match="badly formed"), acting_as(wrong):  # type: ignore[arg-type]
        Turn.objects.count()
    assert acting_user() == ""


# --- the staff check ------------------------------------------------------------------------------------------------


def has_role(role: str) -> bool:
    return bool(rows("SELECT agora_has_role(%s)", role)[0][0])


@pytest.mark.django_db
def test_the_staff_check_answers_for_the_acting_user_alone() -> None:
    operator = make_person("operator@example.org", roles=["operator"])
    plain = make_person("plain@example.org")
    root = User.objects.create_superuser("root@example.org", "x")
    assert not has_role("operator")
    with acting_as(operator.pk):
        assert has_role("operator")
        assert not has_role("administrator")
        assert not has_role("no such role")
        with acting_as(plain.pk):
            assert not has_role("operator")
    with acting_as(root.pk):
        assert has_role("operator")
        assert has_role("administrator")
    User.objects.filter(pk__in=[operator.pk, root.pk]).update(is_active=False)
    for person in (operator, root):
        with acting_as(person.pk):
            assert not has_role("operator"), "who may no longer sign in has no role either"


@pytest.mark.django_db
def test_the_staff_check_cannot_be_led_to_other_tables() -> None:
    plain = make_person("plain@example.org")
    with acting_as(plain.pk):
        rows("CREATE TEMP TABLE accounts_user AS SELECT id, true AS is_active, true AS is_superuser FROM accounts_user")
        rows("SET LOCAL search_path = pg_temp, public")
        assert not has_role("administrator")
    assert rows("SELECT proconfig FROM pg_proc WHERE proname = 'agora_has_role' AND prosecdef") == [
        (["search_path=pg_catalog, public"],)
    ]


@pytest.mark.django_db
def test_the_four_roles_are_groups_with_their_permissions() -> None:
    assert set(Group.objects.values_list("name", flat=True)) == {"labeller", "operator", "analyst", "administrator"}
    granted = {f"{g.name}:{p.codename}" for g in Group.objects.all() for p in g.permissions.all()}
    assert granted >= {"operator:view_job", "administrator:change_agent", "administrator:view_job",
                       "labeller:view_memory", "analyst:view_recall"}  # fmt: skip
    assert not {name for name in granted if name.startswith("operator:") and "agent" in name}


# --- migrations -----------------------------------------------------------------------------------------------------


def schema() -> dict[str, Any]:
    """What row-level security is made of, and which tables there are."""
    return {
        "tables": rows(
            "SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class "
            "WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1",
            using="owner",
        ),
        "policies": rows(
            "SELECT tablename, policyname, cmd, roles::text, qual, with_check FROM pg_policies ORDER BY 1, 2",
            using="owner",
        ),
        "functions": rows("SELECT proname, prosrc FROM pg_proc WHERE proname LIKE 'agora%%' ORDER BY 1", using="owner"),
    }


def test_migrations_go_back_to_nothing_and_forth_again(
    database_name: str, django_db_setup: None, django_db_blocker: Any
) -> None:
    """On a copy of the database: what `migrate` made, it takes away and makes again, policies included."""
    scratch = f"{database_name}_scratch"
    conninfo = f"host={settings.PATHS.postgres_socket_dir} user=postgres"
    connections["default"].close_pool()  # a database is copied while nobody is in it
    connections.close_all()
    with psycopg.connect(conninfo, dbname="postgres", autocommit=True) as cluster:
        # threads of earlier tests may have left a session behind
        cluster.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database_name])
        cluster.execute(f"CREATE DATABASE {scratch} TEMPLATE {database_name} OWNER agora_owner")
    owner = connections["owner"]
    with django_db_blocker.unblock():
        owner.settings_dict["NAME"] = scratch
        try:
            made = schema()
            assert made["policies"]
            assert made["functions"]
            for app in ("training", "agents", "memory", "accounts"):
                call_command("migrate", app, "zero", database="owner", verbosity=0)
            gone = schema()
            assert gone["policies"] == []
            assert gone["functions"] == []
            ours = ("memory_", "agents_", "accounts_", "training_")
            assert not [name for name, *_ in gone["tables"] if name.startswith(ours)]
            call_command("migrate", database="owner", verbosity=0)
            assert schema() == made
        finally:
            owner.close()
            owner.settings_dict["NAME"] = database_name
            drop_database(conninfo, scratch)


def test_models_and_migrations_agree(django_db_setup: None, django_db_blocker: Any) -> None:
    with django_db_blocker.unblock():
        call_command("makemigrations", "accounts", "memory", "agents", check=True, dry_run=True, verbosity=0)
