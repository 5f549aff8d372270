"""Erased memories leave every table but the ledger, which keeps ids and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from memory.encoding import encoder
from memory.engine.bank import Kind
from memory.models import Memory, Recall
from memory.traces import TRACE_FIELDS, forget_rows

TRACES = "traces"  # recalls that stay, without their rows about what is gone


def scrub(memories: Sequence[UUID]) -> Counter[str]:
    """Take memories out of every table but the ledger, which keeps ids and numbers, and of these none of the text's.

    Returns how many of each kind of thing went, by model.
    """
    names, gone = {str(memory) for memory in memories}, set(memories)
    counts: Counter[str] = Counter()
    for trace in Recall.objects.filter(_names_any(memories)):
        forget_rows(trace, gone)
        trace.regretted = [row for row in trace.regretted if row["memory"] not in names]
        trace.save(update_fields=[*TRACE_FIELDS, "regretted"])
        counts[TRACES] += 1
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_event SET data = data - 'features' WHERE memory = ANY(%s) AND kind = %s",
            [list(memories), Kind.WRITTEN.value],
        )
    counts.update(Memory.objects.filter(pk__in=memories).delete()[1])
    transaction.on_commit(encoder().clear)
    return counts


def _names_any(memories: Sequence[UUID]) -> Q:
    condition = Q(memories__overlap=list(memories))
    for memory in memories:
        condition |= Q(regretted__contains=[{"memory": str(memory)}])
    return condition
