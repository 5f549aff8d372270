"""A person with a bank, as the tests of memory's services have one, and somebody else."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from agora_web.accounts.models import User
from tests.memory.services.conftest import database, desk, narrow, person

__all__ = ["database", "desk", "narrow", "person"]


@pytest.fixture
def stranger(database: None) -> Iterator[User]:
    made = User.objects.create_user(f"{uuid.uuid4().hex}@example.org", name="Ben")
    yield made
    User.objects.using("owner").get(pk=made.pk).delete()
