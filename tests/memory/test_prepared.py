"""Statements that go past Django's cursors: the same values, errors and transactions as any other."""

from __future__ import annotations

import gc
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4
from weakref import ref

import numpy as np
import pytest
from django.db import DataError, ProgrammingError, connection, transaction
from django.db.transaction import TransactionManagementError

from memory.prepared import Reals, array, contents, run
from memory.tenancy import acting_as

pytestmark = pytest.mark.django_db(transaction=True)


def one(statement: str, *values: Any) -> Any:
    found = run(statement, values)
    return found[0] if found else None


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("uuid", uuid4()),
        ("timestamptz", datetime(2026, 5, 3, 7, 30, tzinfo=UTC)),
        ("text", "it's “100 %s” \\ and more"),
        ("text", None),
        ("bytea", b"\x00\xff"),
        ("bigint", 2**40),
        ("float8", 0.25),
        ("boolean", True),
        ("text[]", ["a", 'b"c', None]),
    ],
)
def test_a_value_comes_back_as_it_went(kind: str, value: Any) -> None:
    with transaction.atomic():
        assert one(f"SELECT %s::{kind}", value) == value


def test_arrays_of_ids_and_of_numbers_arrive_whole() -> None:
    ids = [uuid4(), uuid4()]
    with transaction.atomic():
        assert one("SELECT %s::uuid[]", array(ids)) == ids
        assert one("SELECT (%s::real[])[2]", Reals(np.array([0.5, 0.25], dtype=np.float32))) == 0.25


def test_hashes_arrive_as_an_array_of_bytes() -> None:
    hashes = [b"", b"\x00\xff", b'"\\{,}']
    with transaction.atomic():
        assert one("SELECT %s::bytea[]", contents(hashes)) == hashes
        assert one("SELECT %s::bytea[]", contents([])) == []


def test_what_is_kept_of_a_connection_ends_with_it() -> None:
    def end() -> None:
        connection.close()
        connection.close_pool()
        gc.collect()

    end()  # errors of other tests may still hold theirs
    with transaction.atomic():
        one("SELECT %s::int", 1)
        driver = ref(connection.connection)
    end()
    assert driver() is None


def test_a_statement_serves_values_of_different_types_in_turn() -> None:
    with transaction.atomic():
        assert [one("SELECT pg_typeof(%s)::text", value) for value in (1, 2**40, 1)] == [
            "smallint",
            "bigint",
            "smallint",
        ]


def test_an_error_is_django_s_and_breaks_the_transaction_until_its_rollback() -> None:
    with pytest.raises(DataError, match="invalid input syntax"), transaction.atomic():
        run("SELECT %s::uuid", ["no id"])
    with transaction.atomic():
        assert one("SELECT %s::text", "and on") == "and on"


def test_a_statement_that_does_not_parse_is_told_at_once_and_may_be_tried_again() -> None:
    for _ in range(2):
        with pytest.raises(ProgrammingError, match="syntax"), transaction.atomic():
            run("SELEC %s", [1])


def test_nothing_runs_in_a_transaction_that_is_already_lost() -> None:
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            run("SELECT 1", [])


def test_what_was_prepared_outlives_a_rollback_and_not_its_connection() -> None:
    for _ in range(2):
        with transaction.atomic():
            assert one("SELECT %s::int", 7) == 7
            transaction.set_rollback(True)
    connection.close()
    with transaction.atomic():
        assert one("SELECT %s::int", 8) == 8


def test_acting_as_begins_a_transaction_that_a_rollback_takes_back_whole() -> None:
    person, scrap = uuid4(), "CREATE TEMPORARY TABLE scrap (n int)"
    with acting_as(person):
        assert one("SELECT current_setting('agora.user')") == str(person)
        assert one(scrap) is None
        transaction.set_rollback(True)
    with transaction.atomic():
        assert one("SELECT coalesce(current_setting('agora.user', true), '')") == ""
        assert one("SELECT to_regclass('pg_temp.scrap')::text") is None
