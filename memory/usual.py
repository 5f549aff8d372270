"""What is usual in a bank and of which kind it is: two parts of its fold, without its texts, vectors and recalls."""

from __future__ import annotations

import json

from django.db import connection

from memory.engine.bank import Kind
from memory.engine.importance import kind_of
from memory.engine.statistics import RoleStatistics
from memory.engine.types import Role
from memory.hot_banks import hot_banks
from memory.models import Bank, Event

# One JSON for all: to convert ten thousands of them one by one would take most of the time.
_WRITTEN = (
    "SELECT json_agg(json_build_array(data ->> 'role', data -> 'features'))::text FROM memory_event "
    "WHERE bank_id = %s AND kind = %s AND data ? 'features'"
)


def usual_in(bank: Bank) -> tuple[RoleStatistics, str]:
    """The statistics of everything written and not erased, and the kind, of a bank that the caller may read.

    From the hot bank where this process holds it as it is now; else from the ledger, which costs a fraction of a hot
    bank. What was erased has no features there any more.
    """
    if 0 < bank.last_seq <= hot_banks.seen(bank.pk):
        state = hot_banks.open(bank).state
        return state.statistics, kind_of(state.statistics, state.kind)
    statistics = RoleStatistics()
    with connection.cursor() as cursor:
        cursor.execute(_WRITTEN, [bank.pk, Kind.WRITTEN.value])
        for role, features in json.loads(cursor.fetchone()[0] or "[]"):
            if features:
                statistics.add(Role(role), features)
    configured = Event.objects.filter(bank=bank, kind=Kind.CONFIGURED).order_by("-seq").values_list("data", flat=True)
    told = configured[:1]
    return statistics, kind_of(statistics, told[0].get("kind", "") if told else "")
