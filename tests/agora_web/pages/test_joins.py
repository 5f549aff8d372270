"""How pages ask the database. Where somebody's rows have just come, the planner believes that there are none, and joins
memories with memories by trying each with each: with 20,000 of them a page did not answer within 20 s."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agora_web.accounts.models import User
from memory.models import Conversation
from memory.tenancy import acting_as
from tests.agora_web.pages.test_banks import ALL, ana, client_of, figures, pages, scribe, talk, things

__all__ = ["ana", "scribe", "talk"]
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])
INNERMOST = re.compile(r"\([^()]*\)")
MEMORIES = re.compile(r'(?:FROM|JOIN) "?memory_memory"?(?!\w)')


def joined(sql: str) -> int:
    """How many times one SELECT of the statement takes the memories; those of its subqueries count for themselves."""
    most = 0
    while inner := INNERMOST.search(sql):
        most = max(most, len(MEMORIES.findall(inner[0])))
        sql = sql.replace(inner[0], "…")
    return max(most, len(MEMORIES.findall(sql)))


def test_the_joins_of_a_statement_are_counted_by_select() -> None:
    one, other = 'FROM "memory_memory"', 'JOIN "memory_memory" T4 ON ("a"."b" = T4."id")'
    assert joined(f"SELECT 1 {one}") == joined(f"SELECT count(*) {one} WHERE id IN (SELECT 2 {one})") == 1
    assert (
        joined(f"SELECT 1 {one} INNER {other}") == joined(f"SELECT 1 WHERE id IN (SELECT 2 {one} INNER {other})") == 2
    )
    assert joined('SELECT 1 FROM "memory_memorysource"') == 0


def test_no_page_and_no_figure_joins_memories_with_memories(ana: User, talk: Conversation) -> None:
    client = client_of(ana)
    with acting_as(ana.pk):
        _recall, memory = things(talk)
    own = ["/memories/", f"/chat/{talk.pk}/", f"/api/conversations/{talk.pk}/", f"/memories/{memory}/"]
    wrong, asked = [], 0
    for address in [*pages(talk), *figures(talk), "/memories/banks/", *ALL, *own]:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200, address
        asked += len(queries)
        wrong += [f"{address}: {query['sql']}" for query in queries if joined(query["sql"]) > 1]
    assert asked > 100
    assert wrong == []
