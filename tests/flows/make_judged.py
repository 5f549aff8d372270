"""Gives a person of a running home conversations whose memories are judged: python -m tests.flows.make_judged EMAIL

Prints {"bank", "labels"}.
"""

import json
import sys
from datetime import UTC, datetime

import django


def main(email: str) -> None:
    django.setup()
    from agora_web.accounts.models import User
    from tests.memory.services.desk import Desk
    from tests.training.services.judged import converse, judge, set_rules

    desk = Desk(User.objects.get(email=email))
    converse(desk)
    labels = judge(desk, now=datetime.now(UTC))
    set_rules()
    print(json.dumps({"bank": str(desk.bank_id), "labels": labels}))


if __name__ == "__main__":
    main(sys.argv[1])
