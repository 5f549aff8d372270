"""Making banks and changing what they may hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from memory.adapters import register_serving_adapter
from memory.encoding import encoder
from memory.engine.bank import Kind
from memory.engine.retention import POLICIES
from memory.engine.types import BankError, Budget, State
from memory.models import Bank, EncoderSpace
from memory.services.ledger import LedgerWriter, writing
from memory.services.memories import evict_to_budget


class BankRefused(BankError):
    """The bank cannot be set up so; the sentence says why and what to do."""


@dataclass(frozen=True)
class BankConfiguration:
    """How a bank keeps and reads."""

    budget_memories: int
    budget_tokens: int
    policy: str
    recall_tokens: int
    recall_archive: bool


@transaction.atomic
def create_bank(*, owner_id: UUID, name: str, configuration: BankConfiguration, now: datetime) -> Bank:
    """Make an empty bank in the space of the present encoder; its first event is its configuration."""
    space = encoder().space
    row, _made = EncoderSpace.objects.get_or_create(
        model=space.model, revision=space.revision, defaults={"width": space.width}
    )
    register_serving_adapter()
    bank = Bank.objects.create(owner_id=owner_id, name=name, space=row, **vars(configuration))
    with writing(bank.pk) as writer:
        _configured(writer, configuration, now)
    bank.refresh_from_db()
    return bank


def configure_bank(bank_id: UUID, configuration: BankConfiguration, *, now: datetime) -> None:
    """Change a bank's budget, policy and reading; what no longer fits is evicted at once.

    Raises `BankRefused` when the pinned memories alone would not fit, or the policy is unknown.
    """
    if configuration.policy not in POLICIES:
        raise BankRefused(_("There is no retention policy “%(name)s”.") % {"name": configuration.policy})
    with writing(bank_id) as writer:
        pinned = [m for m in writer.hot.state.marks.values() if m.state is State.HELD and m.pinned]
        tokens = sum(mark.tokens for mark in pinned)
        if len(pinned) >= configuration.budget_memories or tokens >= configuration.budget_tokens:
            raise BankRefused(_("The pinned memories alone would not fit. Unpin some first."))
        before = (writer.hot.state.budget.memories, writer.hot.state.budget.tokens, writer.hot.state.policy)
        wanted = (configuration.budget_memories, configuration.budget_tokens, configuration.policy)
        Bank.objects.filter(pk=bank_id).update(**vars(configuration))
        if before != wanted:
            _configured(writer, configuration, now)
            evict_to_budget(writer, [], now, budget=Budget(*wanted[:2]), policy=configuration.policy)


def _configured(writer: LedgerWriter, configuration: BankConfiguration, now: datetime) -> None:
    writer.add(
        Kind.CONFIGURED, None, now, memories=configuration.budget_memories, tokens=configuration.budget_tokens,
        policy=configuration.policy,
    )  # fmt: skip
