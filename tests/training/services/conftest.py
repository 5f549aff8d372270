"""A person with a bank, as the tests of memory's services have one, somebody else, and an operator."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Group

from agora_web.accounts.models import User
from memory import adapters
from memory.models import AdapterVersion
from tests.memory.services.conftest import database, desk, narrow, now, person
from training.models import Promotion, Snapshot, TrainingRun

__all__ = ["database", "desk", "narrow", "now", "person"]


@pytest.fixture
def stranger(database: None) -> Iterator[User]:
    made = User.objects.create_user(f"{uuid.uuid4().hex}@example.org", name="Ben")
    yield made
    User.objects.using("owner").get(pk=made.pk).delete()


@pytest.fixture
def operator(database: None) -> Iterator[User]:
    """Somebody who may promote; what was promoted and stored goes with them."""
    made = User.objects.create_user(f"{uuid.uuid4().hex}@example.org", name="Olga")
    made.groups.set(Group.objects.filter(name="operator"))
    yield made
    for model in (Promotion, TrainingRun, Snapshot):
        model.objects.using("owner").all().delete()
    AdapterVersion.objects.using("owner").exclude(manifest__kind__in=["shipped", "prior"]).delete()
    AdapterVersion.objects.using("owner").update(serves=False)
    adapters._at_hand.clear()  # in earnest a version never means something else
    User.objects.using("owner").get(pk=made.pk).delete()
