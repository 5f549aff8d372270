"""An agent whose conversations are no longer open to labelling: those that its setting had opened are closed again."""

from __future__ import annotations

from uuid import UUID

from agents.models import Agent, Seat
from memory.models import Conversation, Labelling
from memory.services.jobs import enqueue, handles
from memory.tenancy import acting_as

JOB = "agents.close_labelling"


def close_soon(agent: Agent) -> None:
    """Have each owner's conversations closed as that owner: nobody else can change them."""
    enqueue(JOB, str(agent.pk), owner_id=None)


@handles(JOB)
def close(key: str) -> None:
    """Close what the agent's setting opened; what an owner opened themselves stays open."""
    if Agent.objects.using("worker").filter(pk=UUID(key), labelling=True).exists():
        return  # the administrator thought better of it
    for person, bank in Seat.objects.using("worker").filter(agent=UUID(key)).values_list("user_id", "bank_id"):
        with acting_as(person):
            Conversation.objects.filter(bank=bank, labelling=Labelling.AGENT).update(labelling=Labelling.SHUT)
