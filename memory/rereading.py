"""A recall read again: as it was, and less one memory or with one that was in the archive. It changes nothing.

The bank is folded anew, privately, from its ledger up to the event at which the recall read it. What is erased or
being forgotten has no words any more and is not in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.utils.translation import gettext as _

from memory.adapters import AdapterMissing, adapter_named, adapter_of
from memory.engine import attention
from memory.engine.adapter import Adapter
from memory.engine.adapter_file import AdapterUnreadable
from memory.engine.bank import BankEvent, Kind
from memory.engine.hot import HotBank, Loaded
from memory.engine.lexical import terms
from memory.engine.types import BankError, Cue, RecallLimits, Recollection, State
from memory.history import BankHistory, histories
from memory.hot_banks import load, private_bank
from memory.models import Bank, Event, Memory, Recall
from memory.services.recalls import CUE_TERMS, archive_candidates, prepare_cue
from memory.traces import ranked
from memory.why import Shown, Why, as_is

NEAR_ENOUGH = 2e-3  # of logits: a stored trace and its computation differ by rounding alone


class CannotReread(BankError):
    """The recall cannot be read again so; the sentence says why."""


@dataclass(frozen=True)
class Rereading:
    """The recall computed again as it was, and under the other condition (None where none was asked for)."""

    before: Recollection
    after: Recollection | None
    then: bool  # with the bank as it stood at the recall; else as it is now
    adapter: bool  # with the adapter that served then; else with the one that serves now
    exact: bool  # `before` is what the trace has stored
    gone: int  # memories that were in the bank then and have no words any more


def reread(
    why: Why, *, without: UUID | None = None, back: UUID | None = None,
    excluded: Sequence[frozenset[UUID]] = (frozenset(),),
) -> Rereading:  # fmt: skip
    """Read the recall again, and beside it without one memory and with another `back` from the archive.

    `excluded` are the sets of turns that the prompt may have shown anyway, likeliest first: a trace does not keep
    which it was, so the first that reproduces it is taken. Raises `CannotReread`.
    """
    hot, then = _bank_of(why.bank, why.trace)
    adapter, same = _adapter_of(why.bank, why.trace)
    previous, zone = why.previous, why.turn.owner.zone
    prepared = prepare_cue(why.turn, previous=previous, exclude_turns=frozenset(), now=why.trace.at, zone=zone)
    reader = _Reader(why.bank, hot, adapter, prepared.cue, archived=bool(why.trace.archived))
    before, exact = reader.reproduced(why.trace, excluded)
    gone = hot.state.held - len(hot)
    after = None
    if without is not None:
        reader.leave_out(without)
    if back is not None:
        reader.bring(back)
    if without is not None or back is not None:
        after = reader.read()
    return Rereading(before, after, then, same, exact, gone)


class _Reader:
    """Reads one private bank with one cue, again and again."""

    def __init__(self, bank: Bank, hot: HotBank, adapter: Adapter, cue: Cue, *, archived: bool) -> None:
        self._hot, self._adapter, self._cue = hot, adapter, cue
        self._words = list(dict.fromkeys(terms(cue.text)))[:CUE_TERMS]
        self._limits = RecallLimits(tokens=bank.recall_tokens)
        self._archive: list[Loaded] = []
        if archived or bank.recall_archive:
            outside = [memory for memory, mark in hot.state.marks.items() if mark.state is State.ARCHIVED]
            self._archive = archive_candidates(bank, hot, cue, self._words, among=outside)

    def read(self) -> Recollection:
        candidates = self._hot.candidates(self._cue, self._words, self._archive, self._adapter.vector)
        return attention.recall(self._cue, candidates, self._adapter, self._limits)

    def reproduced(self, trace: Recall, excluded: Sequence[frozenset[UUID]]) -> tuple[Recollection, bool]:
        """The recall with the first of `excluded` that gives what the trace has, and whether one does."""
        cue = self._cue
        tried = []
        for turns in excluded:
            self._cue = replace(cue, exclude_turns=cue.exclude_turns | turns)
            tried.append((self._cue, self.read()))
            if reproduces(tried[-1][1], trace):
                return tried[-1][1], True
        self._cue, found = min(tried, key=lambda one: abs(one[1].candidates - trace.candidates))
        return found, False

    def leave_out(self, memory: UUID) -> None:
        """As if the memory had left before."""
        known = self._hot.get(memory) is not None
        if not known and memory not in {found.item.id for found in self._archive}:
            raise CannotReread(_("This memory was not among the candidates, so nothing would be different without it."))
        self._archive = [found for found in self._archive if found.item.id != memory]
        if known:
            self._apply(Kind.EVICTED, memory)

    def bring(self, memory: UUID) -> None:
        """As if the memory had not left."""
        mark = self._hot.state.marks.get(memory)
        if mark is None:
            raise CannotReread(_("This memory was written after the recall, or belongs to another bank."))
        if mark.state is State.HELD:
            raise CannotReread(_("This memory was in the bank at that time already."))
        found = load(_with_words({memory}))
        if memory not in found:
            raise CannotReread(_("This memory has no words any more: it was erased, or is being forgotten."))
        self._archive = [one for one in self._archive if one.item.id != memory]
        self._apply(Kind.RESTORED, memory, found)

    def _apply(self, kind: Kind, memory: UUID, found: dict[UUID, Loaded] | None = None) -> None:
        event = BankEvent(self._hot.state.seq + 1, kind, self._cue.at, memory, {"reason": "reread"})
        self._hot.apply([event], found or {})


def reproduces(found: Recollection, trace: Recall) -> bool:
    """Whether a recollection has the rows of a trace, their logits, and what was handed on."""
    if found.candidates != trace.candidates or set(_chosen(found)) != set(trace.recalled):
        return False
    stored = dict(zip(trace.memories, ranked(trace)[:, 0].tolist(), strict=True))
    computed = dict(zip((item.id for item in found.items), found.logits.tolist(), strict=True))
    return stored.keys() == computed.keys() and all(
        abs(logit - computed[memory]) < NEAR_ENOUGH for memory, logit in stored.items()
    )


def _chosen(found: Recollection) -> list[UUID]:
    return [found.items[row].id for row in found.chosen]


def _bank_of(bank: Bank, trace: Recall) -> tuple[HotBank, bool]:
    """The bank as the recall read it, for this reading alone; as it is now where its ledger does not reach so far."""
    history = histories.open(bank)
    if history.seq < trace.seq:  # a crash can lose a commit that need not be durable, as a trace's is
        return private_bank(bank), False
    state = history.state_at(trace.seq)
    held = {memory for memory, mark in state.marks.items() if mark.state is State.HELD}
    recalls = _recalls(history, bank, trace.seq)
    for memory in held & recalls.keys():
        state.marks[memory] = state.marks[memory]._replace(recalls=recalls[memory])
    hot = HotBank(bank.space.width)
    hot.become(state, load(_with_words(held)))
    return hot, True


def _recalls(history: BankHistory, bank: Bank, seq: int) -> Counter[UUID]:
    """How often each memory had been recalled up to event `seq`, which a history leaves out. What was formed of
    others was recalled as often as the one of them that was recalled most."""
    happened: list[tuple[int, UUID | None, list[str]]] = [
        (event.seq, event.memory, event.data["parts"])
        for event in history.events[:seq]
        if event.kind is Kind.WRITTEN and "parts" in event.data
    ]
    recalled = Event.objects.filter(bank=bank, kind=Kind.RECALLED, seq__lte=seq)
    happened += [(number, None, ids) for number, ids in recalled.values_list("seq", "data__memories").order_by("seq")]
    counts: Counter[UUID] = Counter()
    for _number, formed, ids in sorted(happened, key=lambda one: one[0]):
        memories = map(UUID, ids)
        if formed is None:
            counts.update(memories)
        else:
            counts[formed] = max(map(counts.__getitem__, memories), default=0)
    return counts


def _with_words(memories: set[UUID]) -> set[UUID]:
    rows = Memory.objects.filter(pk__in=memories).exclude(state=State.FORGOTTEN)
    return set(rows.values_list("pk", flat=True))


def _adapter_of(bank: Bank, trace: Recall) -> tuple[Adapter, bool]:
    try:
        return adapter_named(trace.adapter).in_space(bank.space.revision), True
    except (AdapterMissing, AdapterUnreadable):
        return adapter_of(bank), False


# --- side by side ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RereadRow:
    """One memory in both readings; None where it is no candidate, or ranks behind what is kept of a reading."""

    memory: UUID
    rank: int | None
    rank_after: int | None
    weight: float | None
    weight_after: float | None
    logit: float | None
    logit_after: float | None
    fit: float | None
    recalled: bool
    recalled_after: bool
    change: str  # "came", "left", "" for neither
    text: str = ""


def reread_rows(found: Rereading, *, shown: Shown = as_is) -> list[RereadRow]:
    """Both readings by memory, the heaviest of either first. Without an `after` there are none."""
    if found.after is None:
        return []
    before, after = _by_memory(found.before), _by_memory(found.after)
    texts = {item.id: item.text for one in (found.before, found.after) for item in one.items}
    rows = [_beside(memory, before.get(memory), after.get(memory)) for memory in dict.fromkeys([*before, *after])]
    rows.sort(key=lambda row: (-max(row.weight or 0.0, row.weight_after or 0.0), str(row.memory)))
    hidden = set(Memory.objects.filter(pk__in=texts, state=State.FORGOTTEN).values_list("pk", flat=True))
    return [replace(row, text="" if row.memory in hidden else shown(texts[row.memory])) for row in rows]


_Standing = tuple[int, float, float, float, bool]  # rank, weight, logit, fit, recalled


def _by_memory(found: Recollection) -> dict[UUID, _Standing]:
    numbers = zip(found.items, found.weights.tolist(), found.logits.tolist(), found.fit.tolist(), strict=True)
    return {
        item.id: (row + 1, round(weight, 6), round(logit, 5), round(fit, 5), row in found.chosen)
        for row, (item, weight, logit, fit) in enumerate(numbers)
    }


def _beside(memory: UUID, before: _Standing | None, after: _Standing | None) -> RereadRow:
    rank, weight, logit, fit, recalled = before or (None, None, None, None, False)
    later = after or (None, None, None, None, False)
    change = "" if recalled == later[4] else "came" if later[4] else "left"
    return RereadRow(
        memory, rank, later[0], weight, later[1], logit, later[2], fit if fit is not None else later[3],
        recalled, later[4], change,
    )  # fmt: skip
