"""Another policy, budget or adapter for a bank: a dry run, the same in earnest, and its undoing."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _

from memory.adapters import adapter_named, adapter_of, importance_by, register_adapter
from memory.engine.adapter import Adapter
from memory.engine.bank import BankEvent, BankState, Kind, Mark, as_marked, replay
from memory.engine.hot import HotBank
from memory.engine.rebudget import ChangePlan, plan_change
from memory.engine.retention import policy_named
from memory.engine.types import Budget, MemoryItem, State
from memory.hot_banks import hot_banks, memory_item, read_events
from memory.models import Bank, Memory
from memory.services.banks import (
    BankConfiguration,
    BankRefused,
    check_configuration,
    check_pinned,
    write_configured,
)
from memory.services.ledger import BankMissing, LedgerWriter, writing


class PreviewStale(BankRefused):
    """The bank is not any more what the dry run saw."""

    retryable = True


@dataclass(frozen=True)
class Promise:
    """What is kept of a dry run while a person reads it: enough to do the same, or to see that it is not the same."""

    configuration: BankConfiguration
    seq: int  # the bank's last event that the dry run saw
    at: datetime  # the moment as of which it ranked
    digest: str


@dataclass(frozen=True)
class Preview:
    """A dry run: the settings before, what the wanted ones would do, and the promise by which they are applied."""

    former: BankConfiguration
    plan: ChangePlan
    promise: Promise

    @property
    def changes_nothing(self) -> bool:
        """Whether neither a setting nor a memory would change."""
        return self.former == self.promise.configuration and not self.plan.leaving and not self.plan.rescored


@dataclass(frozen=True)
class Applied:
    """What undoing needs: the settings before, and between which events of the ledger the change lies."""

    former: BankConfiguration
    before: int
    after: int
    left: int  # how many memories left


def configuration_of_bank(bank: Bank) -> BankConfiguration:
    """How a bank is set up now."""
    return BankConfiguration(**{field.name: getattr(bank, field.name) for field in fields(BankConfiguration)})


def preview_change(bank_id: UUID, wanted: BankConfiguration, *, now: datetime) -> Preview:
    """The dry run: nothing changes. Raises `BankError` with a sentence where the bank cannot be set up so."""
    check_configuration(wanted)
    bank = Bank.objects.select_related("space").filter(pk=bank_id).first()
    if bank is None:
        raise BankMissing(_("There is no such memory bank."))
    hot = hot_banks.open(bank)
    with hot.lock:
        plan = _plan(bank, hot, wanted, now)
        return Preview(configuration_of_bank(bank), plan, Promise(wanted, hot.state.seq, now, plan.digest))


def apply_change(bank_id: UUID, promise: Promise, *, now: datetime) -> Applied:
    """Do what the dry run said, and nothing else. Raises `PreviewStale` when the bank has changed since."""
    wanted = promise.configuration
    check_configuration(wanted)
    with writing(bank_id) as writer:
        bank, before = writer.bank, writer.hot.state.seq
        plan = _plan(bank, writer.hot, wanted, promise.at) if before == promise.seq else None
        if plan is None or plan.digest != promise.digest:
            raise PreviewStale(_("The bank has changed since the preview. Here is a new one: look, then apply it."))
        former = configuration_of_bank(bank)
        _configure(writer, wanted, now)
        for kind, memory, data in plan.steps():
            writer.add(kind, memory, now, **data)
        return Applied(former, before, writer.next_seq - 1, len(plan.leaving))


def undo_change(bank_id: UUID, applied: Applied, *, now: datetime) -> int:
    """Bring back the settings and scores from before a change, and what left by it; returns how many memories came.

    What a person or a later turn has changed since stays as it is. What does not fit any more leaves again.
    """
    former = applied.former
    with writing(bank_id) as writer:
        check_pinned(writer.hot.state, former)
        done = read_events(writer.bank, after=applied.before, upto=applied.after)
        since = read_events(writer.bank, after=applied.after)
        gone = adapter_of(writer.bank).version
        _configure(writer, former, now)
        marks = writer.hot.state.marks | _score_as_before(writer, done, applied.before, now)
        back = _still_out(writer, done, since)
        marks |= _score_what_came(writer, since, gone, adapter_named(former.adapter), now)
        for row in back:
            writer.add(Kind.RESTORED, row.pk, now, reason="undone")
        held = [as_marked(item, marks[item.id]) for item in [*writer.hot, *map(memory_item, back)]]
        plan = plan_change(
            held, Budget(former.budget_memories, former.budget_tokens), policy_named(former.policy), now, scores={},
            adapter=adapter_named(former.adapter).version,
        )  # fmt: skip
        for kind, memory, data in plan.steps():
            writer.add(kind, memory, now, **data)
        return len({row.pk for row in back} - {out.item.id for out in plan.leaving})


def _plan(bank: Bank, hot: HotBank, wanted: BankConfiguration, at: datetime) -> ChangePlan:
    """The one computation behind dry run and real run."""
    state, adapter, policy = hot.state, adapter_named(wanted.adapter), policy_named(wanted.policy)
    check_pinned(state, wanted)
    held = list(hot)
    scores = _scores(held, state, adapter)
    return plan_change(
        held, _limit(bank, state, wanted, rescored=bool(scores)), policy, at, adapter=adapter.version, scores=scores
    )


def _limit(bank: Bank, state: BankState, wanted: BankConfiguration, *, rescored: bool) -> Budget:
    """What the bank is brought under: the whole budget where keeping stays as it is, else the share that evicts."""
    whole = Budget(wanted.budget_memories, wanted.budget_tokens)
    present = (state.budget, state.policy, state.evict_at, bank.adapter)
    if not rescored and present == (whole, wanted.policy, wanted.evict_at, wanted.adapter):
        return whole
    return state.limit_of(whole, wanted.evict_at)


def _scores(held: list[MemoryItem], state: BankState, adapter: Adapter) -> dict[UUID, float]:
    """The new importance of every held memory that another adapter has scored, by its stored features."""
    others = {item.id: item.role for item in held if state.marks[item.id].adapter != adapter.version}
    if not others:
        return {}
    stored = Memory.objects.filter(pk__in=others).values_list("pk", "features")
    return {
        memory: importance_by(adapter, values, others[memory], state)
        for memory, values in stored.iterator(2_000) if values
    }  # fmt: skip


def _configure(writer: LedgerWriter, configuration: BankConfiguration, now: datetime) -> None:
    """The settings in the bank's row and its ledger, and the adapter's row that scores will name."""
    register_adapter(adapter_named(configuration.adapter))
    Bank.objects.filter(pk=writer.bank.pk).update(**vars(configuration))
    write_configured(writer, configuration, now)


def _score_as_before(writer: LedgerWriter, done: list[BankEvent], before: int, now: datetime) -> dict[UUID, Mark]:
    """Give what a change scored anew the score that it had; returns the marks so changed."""
    marks, past = writer.hot.state.marks, replay(read_events(writer.bank, upto=before)).marks
    changed: dict[UUID, Mark] = {}
    for event in done:
        memory = event.memory
        if event.kind is not Kind.RESCORED or memory is None or marks[memory].state is State.ERASED:
            continue
        if marks[memory].adapter == event.data["adapter"]:  # nobody has scored it since
            importance, adapter = past[memory].importance, past[memory].adapter
            writer.add(Kind.RESCORED, memory, now, importance=importance, adapter=adapter)
            changed[memory] = marks[memory]._replace(importance=importance, adapter=adapter)
    return changed


def _score_what_came(
    writer: LedgerWriter, since: list[BankEvent], gone: str, adapter: Adapter, now: datetime
) -> dict[UUID, Mark]:
    """Score what the adapter that goes has written since by the one that comes back: one order for all that is held."""
    if gone == adapter.version:
        return {}
    marks = writer.hot.state.marks
    held = {item.id: item.role for item in writer.hot}
    came = [event.memory for event in since if event.kind is Kind.WRITTEN and event.memory in held]
    changed: dict[UUID, Mark] = {}
    stored = Memory.objects.filter(pk__in=came, adapter=gone).values_list("pk", "features")
    for memory, values in stored.iterator(2_000):
        if values:
            score = importance_by(adapter, values, held[memory], writer.hot.state)
            writer.add(Kind.RESCORED, memory, now, importance=score, adapter=adapter.version)
            changed[memory] = marks[memory]._replace(importance=score, adapter=adapter.version)
    return changed


def _still_out(writer: LedgerWriter, done: list[BankEvent], since: list[BankEvent]) -> list[Memory]:
    """What a change evicted and nobody has touched since, less what the bank holds in the same words."""
    touched = {event.memory for event in since}
    gone = {event.memory for event in done if event.kind is Kind.EVICTED and event.memory} - touched
    rows = Memory.objects.filter(pk__in=gone, state=State.ARCHIVED).defer("vector", "features").order_by("written_seq")
    return [row for row in rows if bytes(row.content) not in writer.hot.by_content]
