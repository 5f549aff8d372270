"""The real database, committed to as a bench does; what a bench made is swept away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from django.db import connections
from pytest_django import DjangoDbBlocker

from agora_web.accounts.models import User
from memory.hot_banks import hot_banks


@pytest.fixture
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield
        hot_banks.clear()
        User.objects.using("owner").filter(email__startswith="bench-").delete()
        for connection in connections.all(initialized_only=True):
            connection.close()


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Several threads wait for each other longer than sums over toy banks take."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
