"""Compares each bank's table and its ledger, read afresh: python -m tests.flows.compare_banks

Prints {"banks": how many, "events": how many}; ends with an error where the three views of a bank differ.
"""

import json

import django


def main() -> None:
    django.setup()
    from agora_web.accounts.models import User
    from memory.engine.bank import replay
    from memory.engine.hot import check
    from memory.engine.types import State
    from memory.hot_banks import private_bank, read_events
    from memory.models import Bank, Memory
    from memory.tenancy import acting_as

    banks = events = 0
    for user in User.objects.all():
        with acting_as(user.pk):
            for bank in Bank.objects.select_related("space"):
                hot = private_bank(bank)
                check(hot)
                ledger = read_events(bank)
                state = replay(ledger)
                assert state == hot.state, "the live bank is not what its ledger says"
                assert state.seq == bank.last_seq, "the ledger and the bank's row disagree about its length"
                told = {
                    memory: (mark.state, mark.pinned)
                    for memory, mark in state.marks.items()
                    if mark.state is not State.ERASED
                }
                rows = Memory.objects.filter(bank=bank).values_list("pk", "state", "pinned")
                table = {pk: (State(state), pinned) for pk, state, pinned in rows}
                assert table == told, "the table is not what the ledger says"
                banks, events = banks + 1, events + len(ledger)
    print(json.dumps({"banks": banks, "events": events}))


if __name__ == "__main__":
    main()
