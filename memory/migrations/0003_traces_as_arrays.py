"""The rows of a trace become one matrix of numbers beside the ids of their memories, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import django.contrib.postgres.fields
import numpy as np
from django.db import migrations, models

BATCH = 200
HIGHLY = 0.62  # of `prior-1`; other adapters' limits show in their rows
FACTS = ("recalled", "injected", "cited")
PACKED = ("memories", "signals", "numbers", "highly", "archived", *FACTS)


def pack(trace: Any) -> None:
    rows = trace.rows
    names = list(rows[0]["signals"]) if rows else []
    matrix = [
        [
            row["logit"], row["weight"], row["fit"],
            *(row["signals"][name] for name in names), *(row["contributions"].get(name, 0.0) for name in names),
        ]
        for row in rows
    ]  # fmt: skip
    trace.signals, trace.numbers = names, np.array(matrix, dtype="<f4").tobytes()
    lesser = max((row["fit"] for row in rows if row["group"] != "highly"), default=0.0)
    highly = min((row["fit"] for row in rows if row["group"] == "highly"), default=HIGHLY)
    trace.highly = highly if highly > lesser else lesser + 1.0
    trace.memories = [UUID(row["memory"]) for row in rows]
    trace.archived = [UUID(row["memory"]) for row in rows if row["state"] == "archived"]
    for fact in FACTS:
        setattr(trace, fact, [UUID(row["memory"]) for row in rows if row[fact]])


def unpack(trace: Any) -> None:
    names, many = trace.signals, len(trace.signals)
    matrix = np.frombuffer(trace.numbers, dtype="<f4").reshape(len(trace.memories), 3 + 2 * many)
    trace.rows = [
        {
            "memory": str(memory),
            "signals": {name: round(x, 5) for name, x in zip(names, row[3 : 3 + many], strict=True)},
            "contributions": {n: round(x, 5) for n, x in zip(names, row[3 + many :], strict=True) if round(x, 5)},
            "logit": round(row[0], 5),
            "weight": round(row[1], 6),
            "fit": round(row[2], 5),
            "state": "archived" if memory in trace.archived else "held",
            "group": "highly" if row[2] >= trace.highly else "maybe" if row[2] >= trace.floor else "below",
            **{fact: memory in getattr(trace, fact) for fact in FACTS},
        }
        for memory, row in zip(trace.memories, matrix.tolist(), strict=True)
    ]


def converted(change: Callable[[Any], None], fields: tuple[str, ...]) -> Callable[[Any, Any], None]:
    """All traces by `change`, a batch at a time, however many there are."""

    def convert(apps: Any, editor: Any) -> None:
        traces = apps.get_model("memory", "Recall").objects.using(editor.connection.alias).order_by("pk")
        last = UUID(int=0)
        while batch := list(traces.filter(pk__gt=last)[:BATCH]):
            for trace in batch:
                change(trace)
            traces.model.objects.using(editor.connection.alias).bulk_update(batch, fields)
            last = batch[-1].pk

    return convert


def ids() -> django.contrib.postgres.fields.ArrayField:
    return django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None)


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0002_retention"),
    ]

    operations = [
        migrations.AddField("recall", "highly", models.FloatField(default=HIGHLY), preserve_default=False),
        *(migrations.AddField("recall", name, ids()) for name in ("memories", "archived", *FACTS)),
        migrations.AddField(
            "recall",
            "signals",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=40), default=list, size=None
            ),
        ),
        migrations.AddField("recall", "numbers", models.BinaryField(default=bytes)),
        # numbers do not compress: trying costs more than writing them
        migrations.RunSQL(
            "ALTER TABLE memory_recall ALTER COLUMN numbers SET STORAGE EXTERNAL", migrations.RunSQL.noop
        ),
        migrations.RunPython(converted(pack, PACKED), converted(unpack, ("rows",))),
        migrations.RemoveField("recall", "rows"),
    ]
