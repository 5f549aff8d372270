"""Statements written by hand, prepared once a connection: for what every turn asks of the database.

Django's and psycopg's own way through a query costs more than these queries do, so they go to libpq directly; values
and rows are converted by psycopg as ever. The settings leave psycopg's own preparing off: it would drop these too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

import numpy as np
import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import abc
from psycopg.adapt import AdaptersMap, Dumper, PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult

from memory.engine.types import Floats

_REAL, _REALS = 700, 1021  # PostgreSQL's numbers of the types `real` and `real[]`


class Prepared:
    """What is kept of a connection from one statement to the next."""

    def __init__(self, adapters: AdaptersMap) -> None:
        self.names: dict[tuple[str, tuple[int, ...]], bytes] = {}  # on the server, by statement and types of its values
        # Looking the converters up anew would take longer than converting. It does not hold the connection itself:
        # both shall end together. Django has set what would be read off one (UTF-8, the time zone).
        self.conversion: abc.Transformer = Transformer(_Adapters(adapters))


@dataclass(frozen=True)
class _Adapters:
    adapters: AdaptersMap
    connection: None = None


_prepared: WeakKeyDictionary[psycopg.Connection[Any], Prepared] = WeakKeyDictionary()


def run(statement: str, values: Sequence[Any], *, using: str = DEFAULT_DB_ALIAS) -> tuple[Any, ...] | None:
    """Run a statement in the open transaction of the alias; its first row, or None. Each `%s` is one of `values`."""
    connection = connections[using]
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors:
        return _run(connection.connection, statement, values)


def begin(statement: str, *, using: str = DEFAULT_DB_ALIAS) -> None:
    """Begin the transaction of an outermost atomic block and run `statement`, in one round trip.

    It takes no values: nothing of anybody's text may stand in it.
    """
    connection = connections[using]
    connection.ensure_connection()
    with connection.wrap_database_errors:
        _checked(connection.connection, connection.connection.pgconn.exec_(f"BEGIN; {statement}".encode()))


def _run(driver: psycopg.Connection[Any], statement: str, values: Sequence[Any]) -> tuple[Any, ...] | None:
    server = driver.pgconn
    if server.transaction_status == TransactionStatus.IDLE and not driver.autocommit:
        _checked(driver, server.exec_(b"BEGIN"))
    prepared = _prepared_on(driver)
    conversion = prepared.conversion
    given = conversion.dump_sequence(values, [PyFormat.AUTO] * len(values))
    types, formats = conversion.types or (), conversion.formats
    name = prepared.names.get((statement, types))
    if name is None:
        name = f"agora_{len(prepared.names)}".encode()
        _checked(driver, server.prepare(name, _numbered(statement), types))
        prepared.names[statement, types] = name
    # the stub knows no None among the values, libpq and psycopg's C code do
    found = _checked(driver, server.exec_prepared(name, given, formats))  # type: ignore[arg-type]
    if not found.ntuples:
        return None
    conversion.set_pgresult(found)
    return conversion.load_row(0, tuple)


def _prepared_on(driver: psycopg.Connection[Any]) -> Prepared:
    prepared = _prepared.get(driver)
    if prepared is None:
        driver.adapters.register_dumper(Reals, _RealsDumper)
        prepared = _prepared[driver] = Prepared(driver.adapters)
    return prepared


def _checked(driver: psycopg.Connection[Any], found: PGresult) -> PGresult:
    if found.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        raise error_from_result(found, driver.info.encoding)
    return found


@lru_cache(maxsize=256)
def _numbered(statement: str) -> bytes:
    """The statement with PostgreSQL's own placeholders: `%s` by `%s` they become $1, $2, ..."""
    first, *others = statement.split("%s")
    return (first + "".join(f"${number}{part}" for number, part in enumerate(others, start=1))).encode()


def array(values: Collection[UUID] | Collection[str]) -> str:
    """PostgreSQL's spelling of an array of ids or of plain words."""
    return "{" + ",".join(map(str, values)) + "}"


def contents(hashes: Collection[bytes]) -> str:
    """PostgreSQL's spelling of an array of bytes: psycopg's own way with a list takes longer than the look-up."""
    return "{" + ",".join(f'"\\\\x{one.hex()}"' for one in hashes) + "}"


class Reals:
    """Numbers on their way into a `real[]`, in PostgreSQL's binary form: a header, then length and value of each."""

    def __init__(self, numbers: Floats) -> None:
        body = np.empty(len(numbers), dtype=[("length", ">i4"), ("value", ">f4")])
        body["length"], body["value"] = 4, numbers
        header = np.array([1, 0, _REAL, len(numbers), 1], dtype=">i4")  # dimensions, nulls, kind; size, first index
        self.data = header.tobytes() + body.tobytes()


class _RealsDumper(Dumper):
    format = Format.BINARY
    oid = _REALS

    def dump(self, obj: Reals) -> bytes:
        return obj.data
