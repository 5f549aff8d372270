"""Reads of training for its pages: counts over all banks, nobody's words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connections
from django.db.models import Count, F, Sum

from training.models import Label, ModelAsked, Source


@dataclass(frozen=True)
class Regrets:
    """What one policy under one adapter let go for room since an instant, and how much of it was missed."""

    policy: str
    adapter: str
    evicted: int  # memories that left for room
    regretted: int  # of those, memories that a later cue would have recalled
    cues: int  # how many cues would have
    said_again: int  # memories that their person then said again

    @property
    def percent(self) -> float:
        """Of what left, how many in a hundred a later cue would have recalled."""
        return 100 * self.regretted / self.evicted if self.evicted else 0.0


# A memory counts for the policy and the adapter that let it go last before the cue came.
_REGRETS = """
WITH gone AS (
    SELECT bank_id, memory, at, seq, data->>'policy' AS policy, coalesce(data->>'adapter', '') AS adapter,
           lead(at) OVER (PARTITION BY bank_id, memory ORDER BY seq) AS until
    FROM memory_event WHERE kind = 'evicted' AND at >= %s AND data->>'policy' <> ''
), missed AS (
    SELECT r.id AS recall, r.bank_id, r.at, (row_->>'memory')::uuid AS memory
    FROM memory_recall r CROSS JOIN LATERAL jsonb_array_elements(r.regretted) AS row_
    WHERE r.at >= %s AND r.regretted <> '[]'::jsonb
), matched AS (
    SELECT g.policy, g.adapter, m.recall, m.memory, EXISTS (
        SELECT 1 FROM training_label l
        WHERE l.memory_id = m.memory AND l.recall_id = m.recall AND l.source = %s) AS told
    FROM missed m JOIN gone g ON g.bank_id = m.bank_id AND g.memory = m.memory AND g.at <= m.at
        AND (g.until IS NULL OR m.at < g.until)
), left_ AS (
    SELECT policy, adapter, count(DISTINCT memory) AS evicted FROM gone GROUP BY policy, adapter
)
SELECT l.policy, l.adapter, l.evicted, count(DISTINCT x.memory), count(DISTINCT x.recall),
       count(DISTINCT x.memory) FILTER (WHERE x.told)
FROM left_ l LEFT JOIN matched x USING (policy, adapter)
GROUP BY l.policy, l.adapter, l.evicted ORDER BY l.evicted DESC, l.policy, l.adapter
"""


def regrets(since: datetime) -> list[Regrets]:
    """What was let go for room since then and missed later, over all banks, by policy and adapter; most evictions
    first. Read as the sweeping role: numbers alone."""
    with connections["worker"].cursor() as cursor:
        cursor.execute(_REGRETS, [since, since, Source.REGRET.value])
        return [Regrets(*row) for row in cursor.fetchall()]


@dataclass(frozen=True)
class Given:
    """What one source said since an instant, over all banks."""

    source: Source
    labels: int
    memories: int
    weight: float  # full human judgements, all labels together


def given(since: datetime) -> list[Given]:
    """How much each source has said since then, most labels first. Read as the sweeping role: numbers alone."""
    rows = Label.objects.using("worker").filter(at__gte=since).values("source")
    counted = rows.annotate(labels=Count("pk"), memories=Count("memory", distinct=True), total=Sum("weight"))
    found = counted.order_by("-labels", "source").values_list("source", "labels", "memories", "total")
    return [Given(Source(source), labels, memories, weight) for source, labels, memories, weight in found]


def unreadable(since: datetime) -> tuple[int, int]:
    """Of the turns about which agents' models were asked since then: how many, and how many answers were none."""
    asked = ModelAsked.objects.using("worker").filter(at__gte=since)
    return asked.count(), asked.filter(rated__lt=F("memories")).count()
