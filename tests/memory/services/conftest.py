"""A person with a bank, on the real database. Everything commits, as in earnest; the person's rows go at the end."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

import memory.services.sweeps  # noqa: F401 (what jobs do, as a worker has it loaded)
from agora_web.accounts.models import User
from memory.hot_banks import hot_banks
from memory.models import Job
from tests.memory.services.desk import Desk


@pytest.fixture
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The database without a transaction around the test: what commits is seen by other connections and threads."""
    with django_db_blocker.unblock():
        yield
        Job.objects.using("owner").all().delete()  # those of the house belong to nobody, and go with nobody
        for connection in connections.all(initialized_only=True):
            connection.close()


@pytest.fixture
def person(database: None) -> Iterator[User]:
    made = User.objects.create_user(f"{uuid.uuid4().hex}@example.org", name="Ana")
    yield made
    hot_banks.clear()
    User.objects.using("owner").get(pk=made.pk).delete()


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def desk(person: User) -> Desk:
    """A bank of that person with a wide budget, and what one does with it."""
    return Desk(person)


@pytest.fixture
def narrow(person: User) -> Desk:
    """The same with room for three memories."""
    return Desk(person, memories=3)
