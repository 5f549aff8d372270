"""After an erasure: a receipt of it, and whoever else has to act because it happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from django.utils import timezone

from memory.engine.bank import Kind
from memory.models import Bank, Erasure, Event

Follower = Callable[[Erasure], None]
FOLLOWERS: list[Follower] = []


def follows_erasures(follower: Follower) -> Follower:
    """Register what is called with each erasure's receipt, in the transaction that erases, as the bank's owner."""
    FOLLOWERS.append(follower)
    return follower


def keep_receipt(bank: Bank, what: str, counts: Mapping[str, int], numbers: tuple[int, int]) -> Erasure:
    """Write down that an erasure took place, which lies between two numbers of the ledger; have others follow it."""
    receipt = Erasure.objects.create(
        owner_id=bank.owner_id, bank=bank, what=what, counts={name: n for name, n in sorted(counts.items()) if n},
        first_seq=numbers[0], last_seq=numbers[1], looked=not FOLLOWERS, at=timezone.now(),
    )  # fmt: skip
    for follower in FOLLOWERS:
        follower(receipt)
    return receipt


def erased_in(receipt: Erasure) -> list[UUID]:
    """The ids of what was erased: the ledger keeps them, the receipt does not."""
    lines = Event.objects.filter(bank=receipt.bank_id, kind=Kind.ERASED)
    ids = lines.filter(seq__gte=receipt.first_seq, seq__lte=receipt.last_seq).values_list("memory", flat=True)
    return [memory for memory in ids if memory is not None]
