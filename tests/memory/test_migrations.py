"""Migrations go both ways, with data in the tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections
from pytest_django import DjangoDbBlocker

from agora_web.accounts.models import User
from memory.models import Recall
from tests.memory.services.desk import Desk

LONG = "chains+floor(recent=600,opening=60)+threshold(below=0.125)"


@pytest.fixture
def desk(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Desk]:
    with django_db_blocker.unblock():
        person = User.objects.create_user(f"both-ways-{datetime.now(UTC).timestamp()}@example.org", name="Ana")
        yield Desk(person, policy=LONG)
        User.objects.using("owner").get(pk=person.pk).delete()
        for connection in connections.all(initialized_only=True):
            connection.close()


@pytest.mark.parametrize("app", ["memory", "agents"])
def test_the_retention_migrations_can_be_taken_back_and_made_again(desk: Desk, app: str) -> None:
    try:
        call_command("migrate", app, "0001", database="owner", verbosity=0)
        with connections["owner"].cursor() as cursor:
            cursor.execute("SELECT policy FROM memory_bank WHERE id = %s", [desk.bank_id])
            assert cursor.fetchone() == (("importance",) if app == "memory" else (LONG,))
    finally:
        call_command("migrate", database="owner", verbosity=0)  # what depends on it went too
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT evict_at FROM memory_bank WHERE id = %s", [desk.bank_id])
        assert cursor.fetchone() == (1.0,)


def test_traces_keep_their_rows_when_they_become_arrays_and_back(desk: Desk) -> None:
    def stored(column: str) -> Any:
        with connections["owner"].cursor() as cursor:
            cursor.execute(f"SELECT {column} FROM memory_recall WHERE id = %s", [asked.trace.pk])
            return cursor.fetchone()[0]

    desk.configure(policy="importance")
    for text in ("Anna lives in Lisbon", "My bike is red", "I drink tea", "My dog is old", "The sea is blue"):
        desk.tell(text)
    asked, empty = desk.ask("Where does Anna live?"), desk.ask("Which Vikings?")
    with desk.acting():
        before = {trace.pk: trace.rows for trace in Recall.objects.all()}
    assert len(before[asked.trace.pk]) == 5
    assert before[asked.trace.pk][0]["injected"]
    try:
        call_command("migrate", "memory", "0002", database="owner", verbosity=0)
        assert json.loads(stored("rows")) == before[asked.trace.pk]
    finally:
        call_command("migrate", database="owner", verbosity=0)
    with desk.acting():
        assert {trace.pk: trace.rows for trace in Recall.objects.all()} == before
    assert empty.trace.pk in before
