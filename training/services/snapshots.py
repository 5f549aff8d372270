"""The labels of one moment as numbers, frozen: read bank by bank as each owner, written as the training worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import F, Q, QuerySet

from memory.engine.adapter import Adapter
from memory.engine.bank import replay
from memory.engine.importance import KINDS, kind_of
from memory.engine.types import Floats
from memory.hot_banks import read_events
from memory.models import Bank, Memory, Turn
from memory.tenancy import acting_as
from training.learner.dataset import Dataset
from training.learner.frozen import Frozen, frozen_in
from training.learner.recall_examples import MODES
from training.models import About, Label, Snapshot
from training.services.judged_cues import CueRows
from training.services.judgements import judged
from training.services.own_heads import standardised


@dataclass(frozen=True)
class Judgement:
    """What was said of a memory, or of two, by everybody together."""

    memory: UUID
    other: UUID | None
    value: float
    weight: float


@dataclass
class _Rows:
    """A dataset in the making."""

    z: list[Floats] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    group: list[int] = field(default_factory=list)
    other: list[int] = field(default_factory=list)
    memory: list[bytes] = field(default_factory=list)
    conversations: dict[UUID, int] = field(default_factory=dict)

    def add(self, z: Floats, kind: str, conversation: UUID, memory: UUID, value: float, weight: float) -> None:
        self.z.append(z)
        self.value.append(value)
        self.weight.append(weight)
        self.kind.append(KINDS.index(kind))
        self.group.append(self.conversations.setdefault(conversation, len(self.conversations)))
        self.other.append(-1)
        self.memory.append(memory.bytes)

    def frozen(self, width: int) -> Dataset:
        return Dataset(
            z=np.array(self.z, dtype=np.float64).reshape(len(self.z), width),
            value=np.array(self.value, dtype=np.float64),
            weight=np.array(self.weight, dtype=np.float64),
            kind=np.array(self.kind, dtype=np.int64),
            group=np.array(self.group, dtype=np.int64),
            other=np.array(self.other, dtype=np.int64),
            memory=np.frombuffer(b"".join(self.memory), dtype=np.uint8).reshape(len(self.memory), 16).copy(),
        )


def freeze(champion: Adapter, *, now: datetime, alive: Callable[[float], None] = lambda share: None) -> Snapshot:
    """Freeze every label of importance as the champion sees the labelled memories, and every judged cue with what its
    trace kept; `alive` is told the share done. The same labels give the same bytes."""
    rows, cues = _Rows(), CueRows()
    sources: Counter[str] = Counter()
    window: list[datetime] = []
    banks = list(_labelled_banks())
    for number, bank in enumerate(banks):
        with acting_as(bank.owner_id):
            labels = _labels_of(bank)
            sources.update(labels.values_list("source", flat=True))
            window += labels.values_list("at", flat=True)
            _add_bank(rows, bank, champion, judgements(bank))
            cues.add_bank(bank)
        alive((number + 1) / len(banks))
    about = {"sources": dict(sorted(sources.items())), "banks": len(banks), "window": _ends(window + cues.window)}
    about["conversations"] = len({*rows.conversations, *cues.conversations})
    about["relevance"] = {"sources": dict(sorted(cues.sources.items()))}
    return _kept(Frozen(rows.frozen(_width(champion)), cues.frozen()), about, now)


def _ends(window: Sequence[datetime]) -> list[str]:
    return [min(window).isoformat(), max(window).isoformat()] if window else []


def _kept(frozen: Frozen, about: dict[str, Any], now: datetime) -> Snapshot:
    packed, digest = frozen.packed()
    about["judgements"] = {kind: frozen.judgements.judgements(kind) for kind in KINDS}
    about["relevance"] |= {"cues": len(frozen.cues), **{mode: frozen.cues.judgements(mode) for mode in MODES}}
    return Snapshot.objects.using("worker").create(
        digest=digest, rows=packed, about=about, memories=_names(frozen.memories()), turns=_names(frozen.cues.turns()),
        at=now,
    )  # fmt: skip


def _names(ids: Iterable[UUID]) -> list[str]:
    return [str(one) for one in ids]


def frozen_by(snapshot: Snapshot) -> Frozen:
    """What a snapshot holds. Raises `DatasetUnreadable`."""
    return frozen_in(bytes(snapshot.rows), snapshot.digest)


def dataset_of(snapshot: Snapshot) -> Dataset:
    """The judgements of importance of a snapshot. Raises `DatasetUnreadable`."""
    return frozen_by(snapshot).judgements


def cut_out(memories: Sequence[UUID]) -> list[UUID]:
    """Take the rows of erased memories, and the cues of turns that are gone, out of every snapshot that has some;
    returns these snapshots' ids.

    What is left gets a digest of its own: a run that is learned again from it is another run.
    """
    touched: list[UUID] = []
    turns = _turns_gone()
    holding = Q(memories__has_any_keys=_names(memories)) | Q(turns__has_any_keys=_names(turns))
    for snapshot in Snapshot.objects.using("worker").filter(holding).order_by("at").iterator(20):
        before = frozen_by(snapshot)
        left = before.without(memories, turns)
        rows, digest = left.packed()
        Snapshot.objects.using("worker").filter(pk=snapshot.pk, digest=snapshot.digest).update(
            rows=rows, digest=digest, memories=_names(left.memories()), turns=_names(left.cues.turns()),
            erased=F("erased") + before.size - left.size,
        )  # fmt: skip
        touched.append(snapshot.pk)
    return touched


def _turns_gone() -> set[UUID]:
    """Turns whose cues are frozen and that are no more: they went with their conversations."""
    kept = Snapshot.objects.using("worker").exclude(turns=[]).values_list("turns", flat=True)
    frozen = {UUID(turn) for turns in kept for turn in turns}
    return frozen - set(Turn.objects.using("worker").filter(pk__in=frozen).values_list("pk", flat=True))


def _labelled_banks() -> Iterable[Bank]:
    """Banks with a label, in a fixed order; found as the sweeping role."""
    labels = Label.objects.using("worker").filter(weight__gt=0)
    banks = Bank.objects.using("worker").filter(pk__in=labels.values("memory__bank")).select_related("space")
    return banks.order_by("pk")


def _labels_of(bank: Bank) -> QuerySet[Label]:
    return Label.objects.filter(memory__bank=bank.pk, about=About.IMPORTANCE, weight__gt=0)


def judgements(bank: Bank) -> list[Judgement]:
    """What is known of each memory by the rule for labels that disagree; comparisons of the same two as one, the mean
    by weight."""
    known = [Judgement(memory, None, value, weight) for memory, (value, weight) in judged(bank).items()]
    total: dict[tuple[UUID, UUID], tuple[float, float]] = {}
    compared = _labels_of(bank).exclude(other=None).order_by("pk").values_list("memory", "other", "value", "weight")
    for memory, other, value, weight in compared:
        sums, weights = total.get((memory, other), (0.0, 0.0))
        total[memory, other] = (sums + value * weight, weights + weight)
    return known + [Judgement(*pair, sums / weight, weight) for pair, (sums, weight) in total.items()]


def _add_bank(rows: _Rows, bank: Bank, champion: Adapter, said: Sequence[Judgement]) -> None:
    """The bank's rows, by memory in the order of writing."""
    events = read_events(bank)
    state = replay(events)
    kind = kind_of(state.statistics, state.kind)
    wanted = {one.memory for one in said} | {one.other for one in said if one.other}
    memories, z = standardised(events, champion.importance, kind, wanted)
    place = {memory: number for number, memory in enumerate(memories)}
    of: dict[UUID, tuple[UUID, tuple[UUID, str]]] = {
        pk: (conversation, (turn or pk, side))
        for pk, conversation, turn, side in Memory.objects.filter(pk__in=memories).values_list(
            "pk", "place_conversation", "turn", "side"
        )
    }
    known = [one for one in said if one.memory in of and (one.other is None or one.other in of)]
    pieces = Counter(of[one.memory][1] for one in known if one.other is None)
    for one in sorted(known, key=lambda one: (place[one.memory], place.get(one.other, -1) if one.other else -1)):
        conversation, side = of[one.memory]
        weight = one.weight if one.other else one.weight / pieces[side]
        rows.add(z[place[one.memory]], kind, conversation, one.memory, one.value, weight)
        if one.other is not None:  # the other side stands right behind, in the same conversation: they stay together
            rows.add(z[place[one.other]], kind, conversation, one.other, 0.0, 0.0)
            rows.other[-2] = len(rows.other) - 1


def _width(champion: Adapter) -> int:
    return len(next(iter(champion.importance.priors.values())).weights)
