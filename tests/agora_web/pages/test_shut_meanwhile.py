"""An opened bank that its owner shuts while an analyst's page is read: whatever was read by then, nothing breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from agora_web.accounts.models import User
from memory import analysis
from memory.models import Bank, Conversation
from tests.agora_web.pages.test_banks import ALL, ana, ben, figures, let, pages, scribe, talk

__all__ = ["ana", "ben", "scribe", "talk"]
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


class ShutAfter:
    """Shuts the bank once so many statements were run behind its door."""

    def __init__(self, bank: Any, statements: int) -> None:
        self._bank, self._left = bank, statements
        self.shut = False
        self._behind = False

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if self._behind and not self.shut:
            if not self._left:
                self.shut = True
                Bank.objects.using("owner").filter(pk=self._bank).update(open_to_analysts=False)
            self._left -= 1
        self._behind = self._behind or sql == analysis._OPEN
        return execute(sql, params, many, context)


def test_whenever_a_bank_is_shut_its_pages_are_there_or_not_and_never_broken(ben: User, talk: Conversation) -> None:
    broken: list[str] = []
    client = Client(raise_request_exception=False)
    client.force_login(ben)
    shared = ["/memories/banks/", *ALL]  # of several banks: the others are still there
    for address in [*pages(talk), *figures(talk), *shared]:
        statements = 0
        while True:
            let(talk)
            door = ShutAfter(talk.bank_id, statements)
            with connection.execute_wrapper(door):
                status = client.get(address).status_code
            if not door.shut:
                break
            if status != 200 and (address in shared or status != 404):
                broken.append(f"{address} after {statements} statements: {status}")
            statements += 1
        assert statements > 3, address
    assert broken == []
