"""Somebody with a conversation of six turns, signed in."""

from __future__ import annotations

import pytest
from django.test import Client

from agora_web.accounts.models import User
from memory.models import Conversation
from tests.memory.test_life import six_turns
from tests.scenes import make_person


@pytest.fixture
def ana() -> User:
    return make_person()


@pytest.fixture
def conversation(ana: User) -> Conversation:
    return six_turns(ana)


@pytest.fixture
def client(ana: User) -> Client:
    client = Client()
    client.force_login(ana)
    return client
