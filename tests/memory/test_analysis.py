"""The analyst's door, asked of the database itself: to whom it opens, what it lets be done, and when it shuts."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, models, transaction

from agents.models import Agent, Seat
from agora_web.accounts.models import User
from memory.analysis import Door, door_to, opened_doors
from memory.life_moments import MomentRow
from memory.models import (
    Bank,
    Conversation,
    Doubt,
    Erasure,
    Event,
    Memory,
    MemorySource,
    Posting,
    Recall,
    Turn,
)
from memory.services import memories
from memory.services.banks import open_to_analysts
from memory.services.conversations import forget_conversation
from memory.services.turns import NotFound
from memory.tenancy import EXEMPT_TABLES, acting_as
from tests.memory.test_tenancy import OWNED
from tests.scenes import Life, begin, live, make_agent, make_person, take_turn
from training.models import Label

pytestmark = pytest.mark.django_db


def mask(text: str) -> str:
    return "*" * len(text)


@pytest.fixture
def scribe() -> Agent:
    return make_agent(budget_memories=5)


@pytest.fixture
def life(scribe: Agent) -> Life:
    return live(make_person("ana@example.org", name="Ana"), scribe, "quixotry")


@pytest.fixture
def ben() -> User:
    return make_person("ben@example.org", name="Ben", roles=["analyst"])


def let(life: Life, open_: bool = True) -> None:
    with acting_as(life.person):
        open_to_analysts(life.bank, open_)


def passes(person: User, thing: UUID) -> bool:
    with acting_as(person.pk):
        return door_to(thing, mask).masked


def sights(person: User, bank: UUID) -> dict[str, int]:
    """How many rows of each kind somebody sees who asks the tables themselves, without a door."""
    with acting_as(person.pk):
        return {model.__name__: model.objects.count() for model in OWNED if model.objects.exists()}


def things(life: Life) -> list[UUID]:
    return [life.bank, life.conversation, life.held, life.archived, life.recall]


def test_an_analyst_passes_by_each_thing_of_an_opened_bank_and_by_nothing_of_a_shut_one(life: Life, ben: User) -> None:
    assert [passes(ben, thing) for thing in things(life)] == [False] * 5
    let(life)
    assert [passes(ben, thing) for thing in things(life)] == [True] * 5
    assert not passes(ben, uuid4())
    let(life, False)
    assert [passes(ben, thing) for thing in things(life)] == [False] * 5
    with acting_as(ben.pk):
        assert opened_doors(mask) == []


@pytest.mark.parametrize("roles", [(), ("labeller",), ("operator",), ("administrator",),
                                   ("labeller", "operator", "administrator")])  # fmt: skip
def test_no_other_role_opens_a_door(life: Life, roles: tuple[str, ...]) -> None:
    let(life)
    cleo = make_person("cleo@example.org", roles=roles)
    assert [passes(cleo, thing) for thing in things(life)] == [False] * 5
    with acting_as(cleo.pk):
        assert opened_doors(mask) == []
    with acting_as(None):
        assert opened_doors(mask) == []


def test_an_account_that_is_shut_passes_no_door_and_opens_none(life: Life, ben: User) -> None:
    let(life)
    User.objects.filter(pk=ben.pk).update(is_active=False)
    assert not passes(ben, life.bank)
    User.objects.filter(pk=ben.pk).update(is_active=True)
    assert passes(ben, life.bank)
    User.objects.filter(pk=life.person).update(is_active=False)
    assert not passes(ben, life.bank)


def test_owners_read_their_own_as_themselves_whatever_else_they_are(life: Life) -> None:
    let(life)
    ana = User.objects.get(pk=life.person)
    ana.groups.set(make_person("x@example.org", roles=["analyst"]).groups.all())
    assert not passes(ana, life.bank)
    with acting_as(ana.pk), door_to(life.conversation, mask).open() as door:
        assert Conversation.objects.get(pk=life.conversation).title == door.shown("About quixotry") == "About quixotry"


def test_without_the_door_an_analyst_sees_no_row_of_an_opened_bank(life: Life, ben: User) -> None:
    before = sights(ben, life.bank)
    let(life)
    assert sights(ben, life.bank) == before == {}


def test_behind_the_door_stand_the_owners_rows_and_outside_it_nothing_again(life: Life, ben: User) -> None:
    let(life)
    with acting_as(ben.pk):
        with door_to(life.bank, mask).open() as door:
            assert (door.bank, door.masked) == (life.bank, True)
            assert Memory.objects.filter(bank=life.bank).exists()
            assert door.shown("quixotry") == "********"
        assert not Memory.objects.exists()
        assert not Bank.objects.exists()


REFUSED = "in a read-only transaction|permission denied for table"
CHANGES: list[Any] = [
    lambda life: Memory.objects.filter(pk=life.held).update(pinned=True),
    lambda life: Memory.objects.filter(pk=life.held).delete(),
    lambda life: Turn.objects.update(observation="mine now"),
    lambda life: Recall.objects.filter(pk=life.recall).delete(),
    lambda life: open_to_analysts(life.bank, False),
    lambda life: memories.forget(life.held, now=Memory.objects.get(pk=life.held).at),
    lambda life: Bank.objects.filter(pk=life.bank).select_for_update().get(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_can_be_changed_through_the_door(life: Life, ben: User, change: Any) -> None:
    let(life)
    with acting_as(ben.pk), door_to(life.bank, mask).open(), pytest.raises(DatabaseError, match=REFUSED):
        with transaction.atomic():
            change(life)


def test_nothing_inside_the_door_makes_the_transaction_writable(life: Life, ben: User) -> None:
    let(life)
    with acting_as(ben.pk):
        with door_to(life.bank, mask).open(), pytest.raises(DatabaseError, match="read-write"):
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL transaction_read_only = off")
        User.objects.filter(pk=ben.pk).update(name="Benno")  # what is one's own can be changed outside it again
        assert User.objects.get(pk=ben.pk).name == "Benno"


def test_an_error_behind_the_door_leads_back_outside(life: Life, ben: User) -> None:
    let(life)
    with acting_as(ben.pk):
        with pytest.raises(NotFound), door_to(life.bank, mask).open():
            raise NotFound("There is no such thing.")
        assert not Bank.objects.exists()
        assert User.objects.filter(pk=ben.pk).update(name="Benno") == 1


def test_what_is_forgotten_is_no_way_in(life: Life, ben: User) -> None:
    let(life)
    for thing in (life.forgotten, life.forgotten_conversation):
        assert not passes(ben, thing)
    assert passes(ben, life.recall)
    with acting_as(life.person):
        turn = Turn.objects.get(pk=life.turn)
        forget_conversation(life.conversation, keep_memories=True, now=turn.created_at)
    for thing in (life.conversation, life.recall):
        assert not passes(ben, thing)
    assert passes(ben, life.held)


def test_the_list_names_banks_that_are_open_now_and_no_other_bank_of_their_owners(
    life: Life, ben: User, scribe: Agent
) -> None:
    ana = User.objects.get(pk=life.person)
    other = begin(ana, make_agent("Oracle"))
    take_turn(ana, other, "Oracle hears another quixotry.")
    let(life)
    with acting_as(ben.pk):
        assert [door.bank for door in opened_doors(mask)] == [life.bank]
    assert not passes(ben, other.bank_id)
    assert not passes(ben, other.pk)


def test_only_its_owner_opens_a_bank(life: Life, ben: User) -> None:
    with acting_as(ben.pk), pytest.raises(NotFound):
        open_to_analysts(life.bank, True)
    assert not passes(ben, life.bank)


def test_rows_behind_the_door_lose_their_words_and_those_of_ones_own_do_not() -> None:
    row = MomentRow(uuid4(), 3, "user", 0.5, 9, "held", False, "", None, "", text="secret")
    assert [one.text for one in Door(uuid4(), mask).rows([row])] == ["******"]
    assert Door(None, mask).rows([row]) == [row]


def test_the_functions_are_the_serving_roles_alone() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.proname, a.grantee::regrole::text FROM pg_proc p, aclexplode(p.proacl) a "
            "WHERE p.proname LIKE 'agora_opened%' AND a.grantee <> p.proowner ORDER BY 1, 2"
        )
        assert cursor.fetchall() == [("agora_opened_bank", "agora_app"), ("agora_opened_banks", "agora_app")]
        cursor.execute(
            "SELECT a.grantee::regrole::text FROM pg_proc p, aclexplode(p.proacl) a "
            "WHERE p.proname = 'agora_bank_behind_door' AND a.grantee <> p.proowner"
        )
        assert cursor.fetchall() == [("agora_analyst",)]


# --- the database keeps whoever is behind the door in the opened bank ----------------------------------------------

# How a row's bank is found, of the models that the door shows. What is not named here nobody may read behind it.
SHOWN: dict[type[models.Model], str] = {
    Bank: "pk", Event: "bank", Conversation: "bank", Turn: "conversation__bank", Memory: "bank",
    MemorySource: "memory__bank", Posting: "bank", Recall: "bank", Doubt: "bank", Erasure: "bank",
    Seat: "bank", Agent: "seats__bank", Label: "memory__bank",
}  # fmt: skip
MODELS = [model for app in ("memory", "agents", "training") for model in apps.get_app_config(app).get_models()
          if model._meta.db_table not in EXEMPT_TABLES]  # fmt: skip


@pytest.fixture
def other(life: Life) -> Life:
    """Another bank of the same owner, as full as the first, which stays shut."""
    ana = User.objects.get(pk=life.person)
    found = live(ana, make_agent("Oracle", budget_memories=5), "plumtree")
    for one in (life, found):
        with acting_as(ana.pk):
            Label.objects.create(owner=ana, memory_id=one.held, about="importance", value=1, source="action", text="x")
    return found


def keys(model: type[models.Model], bank: UUID) -> set[Any]:
    return set(model._default_manager.filter(**{SHOWN[model]: bank}).values_list("pk", flat=True))


def counted(model: type[models.Model]) -> int:
    """By a statement of one's own."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {model._meta.db_table}")
        return int(cursor.fetchone()[0])


def test_behind_the_door_every_table_shows_the_opened_bank_and_nothing_of_another(
    life: Life, other: Life, ben: User
) -> None:
    let(life)
    with acting_as(life.person):
        theirs = {model: (keys(model, life.bank), keys(model, other.bank)) for model in SHOWN}
    for model, (here, there) in theirs.items():
        assert here, f"{model.__name__}: a test without rows proves nothing"
        assert there, f"{model.__name__}: a test without rows proves nothing"
    with acting_as(ben.pk), door_to(life.bank, mask).open():
        for model, (here, _there) in theirs.items():
            assert set(model._default_manager.values_list("pk", flat=True)) == here, model.__name__
            assert counted(model) == len(here), model.__name__
        assert not Memory.objects.filter(pk__in=[other.held, other.archived, other.forgotten]).exists()


@pytest.mark.parametrize("model", [model for model in MODELS if model not in SHOWN], ids=lambda model: model.__name__)
def test_what_no_page_of_the_door_needs_may_not_even_be_asked_for(
    life: Life, ben: User, model: type[models.Model]
) -> None:
    let(life)
    with acting_as(ben.pk), door_to(life.bank, mask).open():
        for ask in (model._default_manager.count, lambda: counted(model)):
            with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
                ask()


def test_the_role_behind_the_door_may_read_these_tables_and_do_nothing_else() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, a.privilege_type FROM pg_class c, aclexplode(c.relacl) a "
            "WHERE a.grantee = 'agora_analyst'::regrole"
        )
        tables = {model._meta.db_table for model in SHOWN} | {"memory_encoderspace", "memory_adapterversion"}
        assert set(cursor.fetchall()) == {(name, "SELECT") for name in tables}
        cursor.execute(
            "SELECT c.attrelid::regclass::text, c.attname, a.privilege_type FROM pg_attribute c, "
            "aclexplode(c.attacl) a WHERE a.grantee = 'agora_analyst'::regrole"
        )
        assert set(cursor.fetchall()) == {("accounts_user", name, "SELECT") for name in ("id", "time_zone")}
        cursor.execute("SELECT rolcanlogin, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = 'agora_analyst'")
        assert cursor.fetchall() == [(False, False, False)]
        cursor.execute("SELECT pg_has_role('agora_app', 'agora_analyst', 'USAGE'), pg_has_role('agora_app', "
                       "'agora_analyst', 'SET')")  # fmt: skip
        assert cursor.fetchone() == (False, True), "the application has nothing of the role until it becomes it"


LIFTED: dict[str, str] = {
    "role": "RESET ROLE",
    "own role": "SET LOCAL ROLE agora_app",
    "no bank": "SELECT set_config('agora.bank', '', true)",
    "another bank": "SELECT set_config('agora.bank', '{other}', true)",
    "the owner": "SELECT set_config('agora.user', '{owner}', true)",
    "nobody": "SELECT set_config('agora.user', '', true)",
}


@pytest.mark.parametrize("how", LIFTED)
def test_what_is_set_anew_behind_the_door_shows_less_and_ends_with_it(
    life: Life, other: Life, ben: User, how: str
) -> None:
    let(life)
    with acting_as(ben.pk):
        with door_to(life.bank, mask).open(), connection.cursor() as cursor:
            assert Memory.objects.exists()
            cursor.execute(LIFTED[how].format(other=other.bank, owner=life.person))
            for model in SHOWN:
                if model is not Agent:  # agents are everybody's, for whoever is not behind the door
                    assert not model._default_manager.exists(), model.__name__
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_user, current_setting('agora.bank', true), current_setting('agora.user'), "
                           "current_setting('transaction_read_only')")  # fmt: skip
            assert cursor.fetchone() == ("agora_app", "", str(ben.pk), "off")


def test_acting_as_the_owner_behind_the_door_shows_nothing(life: Life, other: Life, ben: User) -> None:
    let(life)
    with acting_as(ben.pk), door_to(life.bank, mask).open():
        with acting_as(life.person):
            assert not Memory.objects.exists()
        assert {row.bank_id for row in Memory.objects.all()} == {life.bank}
