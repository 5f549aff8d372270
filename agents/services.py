"""Seats and agents: the verbs that write."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from agents.models import Agent, Seat
from memory.models import Bank, Conversation, Labelling
from memory.services.banks import BankConfiguration, BankRefused, configure_bank, create_bank
from memory.services.conversations import start_conversation
from memory.services.rebudget import Applied, Promise, apply_change, undo_change
from memory.services.turns import NotFound

log = logging.getLogger(__name__)


def configuration_of(agent: Agent) -> BankConfiguration:
    """How banks of this agent keep and read. Their adapter is no setting of the agent's."""
    return BankConfiguration(
        budget_memories=agent.budget_memories,
        budget_tokens=agent.budget_tokens,
        policy=agent.policy,
        recall_tokens=agent.recall_tokens,
        recall_archive=agent.recall_archive,
        evict_at=agent.evict_at,
    )


def follows_agent(configuration: BankConfiguration, agent: Agent) -> bool:
    """Whether a bank that is set up so keeps and reads as its agent says, whatever adapter serves it."""
    return replace(configuration, adapter="", keeps_adapter=False) == configuration_of(agent)


def take_seat(agent: Agent, user_id: UUID, *, now: datetime) -> Seat:
    """The person's seat with this agent, with its bank; made at first use. Two at once make one."""
    seat = Seat.objects.select_related("bank").filter(agent=agent, user_id=user_id).first()
    if seat is not None:
        return seat
    try:
        with transaction.atomic():
            bank = create_bank(owner_id=user_id, name=agent.name, configuration=configuration_of(agent), now=now)
            return Seat.objects.create(agent=agent, user_id=user_id, bank=bank)
    except IntegrityError:
        return Seat.objects.select_related("bank").get(agent=agent, user_id=user_id)


def start_chat(agent_id: UUID, user_id: UUID, *, now: datetime) -> Conversation:
    """Begin a conversation with an agent. Raises `NotFound` when it is not offered."""
    agent = Agent.objects.filter(pk=agent_id, active=True).first()
    if agent is None:
        raise NotFound(_("There is no such agent, or it takes no new conversations."))
    seat = take_seat(agent, user_id, now=now)
    opened = Labelling.AGENT if agent.labelling else Labelling.SHUT
    return start_conversation(owner_id=user_id, bank_id=seat.bank_id, now=now, labelling=opened)


def change_bank(seat: Seat, promise: Promise, *, now: datetime) -> Applied:
    """Apply what a preview promised of the seat's bank, which from then on is the person's to set up.

    The agent's own settings make it follow the agent again. Raises `PreviewStale` and `BankRefused`.
    """
    with transaction.atomic():
        applied = apply_change(seat.bank_id, promise, now=now)
        own = not follows_agent(promise.configuration, seat.agent)
        Seat.objects.filter(pk=seat.pk).update(own_settings=own)
    return applied


def undo_bank_change(seat: Seat, applied: Applied, *, own_settings: bool, now: datetime) -> int:
    """Take back a change of the seat's bank; returns how many memories came back."""
    with transaction.atomic():
        back = undo_change(seat.bank_id, applied, now=now)
        Seat.objects.filter(pk=seat.pk).update(own_settings=own_settings)
    return back


def bring_bank_in_line(agent: Agent, bank: Bank, *, now: datetime) -> None:
    """Give a bank its agent's present configuration, evicting what no longer fits; unless its person set it up.

    Its adapter stays: that is the bank's own. Where pinned memories stand in the way the bank keeps the configuration
    it has, and the log says so.
    """
    wanted = replace(configuration_of(agent), adapter=bank.adapter, keeps_adapter=bank.keeps_adapter)
    if all(getattr(bank, name) == value for name, value in vars(wanted).items()):
        return
    if Seat.objects.filter(bank=bank, own_settings=True).exists():
        return
    try:
        configure_bank(bank.pk, wanted, now=now)
    except BankRefused as error:
        log.warning("bank %s keeps its configuration: %s", bank.pk, error.sentence)
