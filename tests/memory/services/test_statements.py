"""What a turn reads by statements of its own says the same as Django's models do."""

from __future__ import annotations

from typing import Any

import pytest

from memory.models import Bank
from memory.services.statements import bank_of_conversation, lock_bank
from tests.memory.services.desk import Desk


def as_django_reads(desk: Desk) -> Bank:
    return Bank.objects.select_related("space").get(pk=desk.bank_id)


def values(bank: Bank | None) -> dict[str, Any]:
    assert bank is not None
    return {
        of.__name__ + "." + field.attname: getattr(row, field.attname)
        for of, row in ((Bank, bank), (type(bank.space), bank.space))
        for field in of._meta.concrete_fields
    }


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"last_seq": 10**12},
        {"name": "another's"},
        {"budget_tokens": 7},
        {"recall_archive": True},
        {"policy": "fifo"},
    ],
)
def test_a_bank_is_read_as_it_stands_whatever_changed_since_it_was_read_last(
    desk: Desk, change: dict[str, Any]
) -> None:
    with desk.acting():
        before = bank_of_conversation(desk.conversation_id)
        Bank.objects.filter(pk=desk.bank_id).update(**change)
        after, locked = bank_of_conversation(desk.conversation_id), lock_bank(desk.bank_id, [b"no such content"])
        assert locked is not None
        assert values(after) == values(locked[0]) == values(as_django_reads(desk))
        assert (values(before) == values(after)) is not bool(change)
        assert locked[1] == []
        Bank.objects.filter(pk=desk.bank_id).update(**{name: getattr(before, name) for name in change})


def test_changing_one_reading_of_a_bank_changes_no_other(desk: Desk) -> None:
    with desk.acting():
        one = bank_of_conversation(desk.conversation_id)
        assert one is not None
        one.name, one.space.model = "changed", "changed"
        assert values(bank_of_conversation(desk.conversation_id)) == values(as_django_reads(desk))
