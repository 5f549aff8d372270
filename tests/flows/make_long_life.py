"""Gives a person of a running home a long conversation: python -m tests.flows.make_long_life EMAIL TURNS

Prints {"conversation"}.
"""

import json
import sys

import django


def main(email: str, turns: int) -> None:
    django.setup()
    from django.utils import timezone

    from agents.models import Agent
    from agents.services import take_seat
    from agora_web.accounts.models import User
    from memory.services.table_statistics import refresh_table_statistics
    from memory.tenancy import acting_as
    from tests.memory.long_life import make_long_life

    person = User.objects.get(email=email)
    with acting_as(person.pk):
        seat = take_seat(Agent.objects.get(name="Scribe"), person.pk, now=timezone.now())
        conversation = make_long_life(person.pk, seat.bank, turns)
    refresh_table_statistics()
    print(json.dumps({"conversation": str(conversation.pk)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
