"""A bank's judged recalls as rows of a snapshot: what its traces kept, and what was said of whose fit. No text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import numpy as np
from django.db.models import QuerySet

from memory.engine.signals import NAMES
from memory.engine.types import Floats
from memory.models import Bank, Recall
from memory.services.recalls import mode_of_trace
from memory.traces import fits_in, signals_in
from training.learner.cues import Cues, nothing
from training.learner.recall_examples import MODES
from training.models import About, Label
from training.services.judgements import settled

Said = dict[UUID, tuple[float, float]]  # of each memory that was judged: its fit 0..1, and how much that counts for


@dataclass
class CueRows:
    """Cues in the making, over all banks."""

    signals: list[Floats] = field(default_factory=list)
    fit: list[Floats] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    shown: list[bool] = field(default_factory=list)
    cue: list[int] = field(default_factory=list)
    memory: list[bytes] = field(default_factory=list)
    mode: list[int] = field(default_factory=list)
    group: list[int] = field(default_factory=list)
    turn: list[bytes] = field(default_factory=list)
    conversations: dict[UUID, int] = field(default_factory=dict)
    sources: Counter[str] = field(default_factory=Counter)
    window: list[datetime] = field(default_factory=list)

    def add_bank(self, bank: Bank) -> None:
        """Add a bank's judged recalls, in order of time. Read as its owner."""
        labels = labels_of_fit(bank)
        self.sources.update(labels.values_list("source", flat=True))
        self.window += labels.values_list("at", flat=True)
        rows = labels.order_by("at", "pk").values_list("recall", "memory", "source", "value", "weight")
        said: dict[UUID, Said] = {}
        judged = settled(((recall, memory), source, value, weight) for recall, memory, source, value, weight in rows)
        for (recall, memory), judgement in judged.items():
            said.setdefault(recall, {})[memory] = judgement
        for trace in _readable(said):
            self._add(trace, said[trace.pk])

    def _add(self, trace: Recall, said: Said) -> None:
        if not set(trace.memories) & set(said):  # of what it missed, a trace has no numbers
            return
        injected = set(trace.injected)
        judgements = [said.get(memory, (0.0, 0.0)) for memory in trace.memories]
        self.signals.append(signals_in(trace, NAMES))
        self.fit.append(fits_in(trace))
        self.value += [value for value, _weight in judgements]
        self.weight += [weight for _value, weight in judgements]
        self.shown += [memory in injected for memory in trace.memories]
        self.cue += [len(self.mode)] * len(trace.memories)
        self.memory += [memory.bytes for memory in trace.memories]
        self.mode.append(MODES.index(mode_of_trace(trace)))
        self.group.append(self.conversations.setdefault(trace.turn.conversation_id, len(self.conversations)))
        self.turn.append(trace.turn_id.bytes)

    def frozen(self) -> Cues:
        """The cues as arrays."""
        if not self.mode:
            return nothing()
        return Cues(
            signals=np.concatenate(self.signals), fit=np.concatenate(self.fit),
            value=np.array(self.value, dtype=np.float64), weight=np.array(self.weight, dtype=np.float64),
            shown=np.array(self.shown, dtype=bool), cue=np.array(self.cue, dtype=np.int64),
            memory=_ids(self.memory), mode=np.array(self.mode, dtype=np.int64),
            group=np.array(self.group, dtype=np.int64), turn=_ids(self.turn),
        )  # fmt: skip


def labels_of_fit(bank: Bank) -> QuerySet[Label]:
    """What was said of the fit of a bank's memories, but in conversations that are being forgotten."""
    return Label.objects.filter(
        memory__bank=bank.pk, about=About.RELEVANCE, weight__gt=0, recall__turn__conversation__forgotten_until=None
    )  # fmt: skip


def _readable(said: dict[UUID, Said]) -> Iterator[Recall]:
    """The judged traces that have every signal of today, by time."""
    traces = Recall.objects.filter(pk__in=said).select_related("turn").order_by("at", "pk")
    yield from (trace for trace in traces.iterator(200) if set(NAMES) <= set(trace.signals))


def _ids(parts: list[bytes]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(len(parts), 16).copy()
