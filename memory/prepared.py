"""Statements written by hand, prepared once a connection: for what every turn asks of the database.

Django's own way through a query costs more than these queries do. Settings keep `prepare_threshold` on for them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg.adapt import Dumper
from psycopg.pq import Format

from memory.engine.types import Floats

_REAL, _REALS = 700, 1021  # PostgreSQL's numbers of the types `real` and `real[]`


def run(statement: str, values: Sequence[Any], *, using: str = DEFAULT_DB_ALIAS) -> tuple[Any, ...] | None:
    """Run a statement in the open transaction of the alias; its first row, or None."""
    connection = connections[using]
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        if any(isinstance(value, Reals) for value in values):
            cursor.adapters.register_dumper(Reals, _RealsDumper)
        cursor.execute(statement, values, prepare=True)
        return cursor.fetchone() if cursor.description else None


def array(values: Collection[UUID] | Collection[str]) -> str:
    """PostgreSQL's spelling of an array of ids or of plain words."""
    return "{" + ",".join(map(str, values)) + "}"


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
