"""Making banks and changing what they may hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from memory.adapters import adapter_named, register_adapter, serving_name
from memory.encoding import encoder
from memory.engine.bank import DAY, BankState, Kind
from memory.engine.retention import policy_named
from memory.engine.types import BankError, Budget
from memory.models import LEAST_EVICT_AT, Bank, EncoderSpace
from memory.services.evictions import evict_to_budget
from memory.services.ledger import LedgerWriter, writing
from memory.services.turns import NotFound


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
    evict_at: float = 1.0  # remembering fills this share of the budget that pinned memories leave
    adapter: str = ""  # the version that scores and recalls; "" is the one that AGORA ships
    keeps_adapter: bool = False  # its person chose that version: no promotion changes it


@transaction.atomic
def create_bank(*, owner_id: UUID, name: str, configuration: BankConfiguration, now: datetime) -> Bank:
    """Make an empty bank in the space of the present encoder; its first event is its configuration.

    A configuration that names no adapter takes the one that serves by default.
    """
    if not configuration.adapter:
        configuration = replace(configuration, adapter=serving_name())
    check_configuration(configuration)
    space = encoder().space
    row, _made = EncoderSpace.objects.get_or_create(
        model=space.model, revision=space.revision, defaults={"width": space.width}
    )
    register_adapter(adapter_named(configuration.adapter))
    bank = Bank.objects.create(owner_id=owner_id, name=name, space=row, **vars(configuration))
    with writing(bank.pk) as writer:
        write_configured(writer, configuration, now)
    bank.refresh_from_db()
    return bank


def configure_bank(bank_id: UUID, configuration: BankConfiguration, *, now: datetime) -> None:
    """Change a bank's budget, policy and reading; what no longer fits is evicted at once.

    Raises `BankRefused` when the pinned memories alone would not fit, and `BankError` when no policy is named so.
    """
    check_configuration(configuration)
    with writing(bank_id) as writer:
        state = writer.hot.state
        check_pinned(state, configuration)
        before = (state.budget.memories, state.budget.tokens, state.policy, state.evict_at)
        wanted = (
            configuration.budget_memories, configuration.budget_tokens, configuration.policy, configuration.evict_at
        )  # fmt: skip
        Bank.objects.filter(pk=bank_id).update(**vars(configuration))
        if before != wanted:
            write_configured(writer, configuration, now)
            limit = state.limit_of(Budget(*wanted[:2]), configuration.evict_at)
            evict_to_budget(writer, [], now, budget=limit, policy=configuration.policy)


def open_to_analysts(bank_id: UUID, open_: bool) -> None:
    """The owner's word on whether analysts may look at a bank; it holds at once. Raises `NotFound`."""
    if not Bank.objects.filter(pk=bank_id).update(open_to_analysts=open_):
        raise NotFound(_("There is no such memory bank."))


def check_pinned(state: BankState, configuration: BankConfiguration) -> None:
    """Raise `BankRefused` where the pinned memories alone would not fit."""
    if state.pinned >= configuration.budget_memories or state.pinned_tokens >= configuration.budget_tokens:
        raise BankRefused(_("The pinned memories alone would not fit. Unpin some first."))


def check_configuration(configuration: BankConfiguration) -> None:
    """Raise `BankError` with a sentence where a bank cannot be set up so."""
    policy_named(configuration.policy)
    adapter_named(configuration.adapter)
    if not LEAST_EVICT_AT <= configuration.evict_at <= 1:
        raise BankRefused(_("A bank evicts at half of its budget at the earliest, at all of it at the latest."))


def write_configured(writer: LedgerWriter, configuration: BankConfiguration, now: datetime) -> None:
    """Record the configuration. The event carries what is not the usual: an old ledger, without it, says the same."""
    unusual: dict[str, Any] = {
        "evict_at": configuration.evict_at, "unit": policy_named(configuration.policy).unit,
        "adapter": configuration.adapter, "kind": writer.hot.state.kind,
    }  # fmt: skip
    usual: dict[str, Any] = {"evict_at": 1.0, "unit": DAY, "adapter": "", "kind": ""}
    writer.add(
        Kind.CONFIGURED, None, now, None, memories=configuration.budget_memories, tokens=configuration.budget_tokens,
        policy=configuration.policy, **{name: value for name, value in unusual.items() if value != usual[name]},
    )  # fmt: skip
