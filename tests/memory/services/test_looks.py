"""The log of looks: who leaves a line in it, what it counts, and who sees it."""

from __future__ import annotations

from datetime import date
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, connections, transaction

from agora_web.accounts.models import User
from memory.analysis import door_to
from memory.models import Look
from memory.services.banks import open_to_analysts
from memory.services.looks import Visit, note_look
from memory.services.turns import NotFound
from memory.tenancy import acting_as
from tests.scenes import begin, make_agent, make_person


@pytest.fixture
def ana(db: None) -> User:
    return make_person("ana@example.org", time_zone="Pacific/Kiritimati")


@pytest.fixture
def ben(db: None) -> User:
    return make_person("ben@example.org", name="Ben", roles=["analyst"])


@pytest.fixture
def bank(ana: User) -> UUID:
    """An opened bank of Ana's."""
    begun = begin(ana, make_agent())
    with acting_as(ana.pk):
        open_to_analysts(begun.bank_id, True)
    return begun.bank_id


def look(person: User, bank: UUID, *visits: Visit) -> None:
    with acting_as(person.pk):
        for visit in visits:
            note_look([bank], visit)


def log(person: User) -> list[tuple[UUID | None, int, int]]:
    with acting_as(person.pk):
        return list(Look.objects.values_list("analyst", "pages", "exports"))


def test_a_day_of_one_analyst_is_one_line_that_counts(ana: User, ben: User, bank: UUID) -> None:
    look(ben, bank, Visit.PAGE, Visit.FIGURE, Visit.FIGURE, Visit.PAGE, Visit.EXPORT)
    assert log(ana) == [(ben.pk, 2, 1)]
    look(make_person("cleo@example.org", roles=["analyst"]), bank, Visit.PAGE)
    assert len(log(ana)) == 2
    with acting_as(ana.pk):
        one = Look.objects.get(analyst=ben)
        assert one.first < one.last
        Look.objects.filter(pk=one.pk).update(day=date(2020, 1, 1))
    look(ben, bank, Visit.PAGE)  # another day, another line
    with acting_as(ana.pk):
        assert sorted(Look.objects.filter(analyst=ben).values_list("pages", flat=True)) == [1, 2]


def test_the_day_is_the_owners(ana: User, ben: User, bank: UUID) -> None:
    dora = make_person("dora@example.org", time_zone="Etc/GMT+12")
    begun = begin(dora, make_agent("Oracle"))
    with acting_as(dora.pk):
        open_to_analysts(begun.bank_id, True)
    days = []
    for owner, opened in ((ana, bank), (dora, begun.bank_id)):
        look(ben, opened, Visit.PAGE)
        with acting_as(owner.pk):
            one = Look.objects.get()
            assert one.day == one.first.astimezone(owner.zone).date()
            days.append(one.day)
    assert days[0] > days[1], "26 hours lie between the two zones"


def test_the_log_is_its_owners_alone_and_an_analyst_can_neither_see_nor_change_it(
    ana: User, ben: User, bank: UUID
) -> None:
    look(ben, bank, Visit.PAGE)
    assert log(ben) == []
    with acting_as(ben.pk):
        assert Look.objects.update(pages=0) == 0
        assert Look.objects.all().delete()[0] == 0
        with door_to(bank, str).open(), pytest.raises(DatabaseError, match="permission denied"):
            Look.objects.count()
        with pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
            Look.objects.create(owner=ana, bank_id=bank, analyst=ben, day=date.today(), first="2026-01-01T00:00Z",
                                last="2026-01-01T00:00Z")  # fmt: skip
    assert log(ana) == [(ben.pk, 1, 0)]


@pytest.mark.parametrize("roles", [(), ("labeller", "operator", "administrator")])
def test_who_is_no_analyst_leaves_no_line(ana: User, bank: UUID, roles: tuple[str, ...]) -> None:
    with pytest.raises(NotFound):
        look(make_person("cleo@example.org", roles=roles), bank, Visit.PAGE)
    with pytest.raises(NotFound):
        look(ana, bank, Visit.PAGE)
    assert log(ana) == []


def test_nothing_is_noted_of_a_bank_that_was_shut_meanwhile_and_the_page_is_not_shown(
    ana: User, ben: User, bank: UUID
) -> None:
    with acting_as(ana.pk):
        open_to_analysts(bank, False)
    with pytest.raises(NotFound):
        look(ben, bank, Visit.PAGE)
    assert log(ana) == []


def test_nothing_can_be_noted_behind_the_door(ben: User, bank: UUID) -> None:
    with acting_as(ben.pk), door_to(bank, str).open(), pytest.raises(DatabaseError):
        note_look([bank], Visit.PAGE)


def test_the_line_of_an_analyst_who_is_gone_stays_without_them(ana: User, ben: User, bank: UUID) -> None:
    look(ben, bank, Visit.PAGE)
    with acting_as(ben.pk):
        ben.delete()
        connection.check_constraints()
    assert log(ana) == [(None, 1, 0)]


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
@pytest.mark.parametrize("gone", ["bank", "owner"])
def test_the_log_goes_with_the_bank_and_with_the_owner(ana: User, ben: User, bank: UUID, gone: str) -> None:
    look(ben, bank, Visit.PAGE)
    with acting_as(ana.pk):
        seats = ana if gone == "owner" else Look.objects.get().bank
        seats.delete()
    assert Look.objects.using("owner").count() == 0
    connections["owner"].close()


def test_the_function_is_the_serving_roles_alone(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT a.grantee::regrole::text, p.prosecdef FROM pg_proc p, aclexplode(p.proacl) a "
            "WHERE p.proname = 'agora_looked' AND a.grantee <> p.proowner"
        )
        assert cursor.fetchall() == [("agora_app", True)]
