"""Judges what a person of a running home holds, as many presses would: python -m tests.flows.judge_bank EMAIL

Prints how many labels there are now.
"""

import json
import sys
from datetime import UTC, datetime

import django


def main(email: str) -> None:
    django.setup()
    from agora_web.accounts.models import User
    from memory.models import Memory
    from memory.tenancy import acting_as
    from tests.training.services.judged import hotels, set_rules
    from training.models import About, Label, Source

    person = User.objects.get(email=email)
    with acting_as(person.pk):
        judged = Label.objects.filter(about=About.IMPORTANCE).values("memory")
        for memory in Memory.objects.exclude(pk__in=judged):
            Label.objects.create(
                owner=person, memory=memory, about=About.IMPORTANCE, value=hotels(memory.text), source=Source.QUEUE,
                by=person, text=memory.text, at=datetime.now(UTC),
            )  # fmt: skip
        labels = Label.objects.filter(about=About.IMPORTANCE).count()
    set_rules()
    print(json.dumps(labels))


if __name__ == "__main__":
    main(sys.argv[1])
