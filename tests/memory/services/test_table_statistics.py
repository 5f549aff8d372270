"""The planner's statistics after much was written."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connections

from agora_web.management.commands.import_conversation import MANY_TURNS
from memory.services.table_statistics import refresh_table_statistics
from memory.tenancy import acting_as
from tests.memory.long_life import make_long_life
from tests.scenes import begin, make_agent, make_person

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def rows_of(table: str) -> tuple[int, int]:
    """How many rows a table has, and how many its statistics give it."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        (count,) = cursor.fetchone()
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [table])
        (told,) = cursor.fetchone()
    return int(count), int(told)


@pytest.mark.parametrize("table", ["memory_memory", "memory_event", "memory_memorysource", "memory_turn"])
def test_after_a_refresh_the_planner_knows_how_many_rows_there_are(table: str) -> None:
    person = make_person()
    begun = begin(person, make_agent("Long"))
    with acting_as(person.pk):
        make_long_life(person.pk, begun.bank, 200, traced=2)
    there, told = rows_of(table)
    assert there >= 200
    assert told != there
    refresh_table_statistics()
    assert rows_of(table) == (there, there)


def test_an_import_of_many_turns_ends_with_a_refresh(tmp_path: Path) -> None:
    make_agent()
    person = make_person()
    talk = tmp_path / "talk.jsonl"
    lines = ({"conversation": "talk", "id": str(n), "observation": f"Hut {n} is red."} for n in range(MANY_TURNS))
    talk.write_text("".join(json.dumps(line) + "\n" for line in lines))
    call_command(
        "import_conversation", str(talk), user=person.email, agent="Scribe", stdout=StringIO(), stderr=StringIO()
    )
    assert rows_of("memory_turn") == (MANY_TURNS, MANY_TURNS)
