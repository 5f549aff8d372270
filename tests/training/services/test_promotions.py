"""Promotion: only what is better serves by itself, an operator's reason is kept, and a roll-back leaves no trace in any
bank but a longer ledger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agora_web.accounts.models import User
from memory import adapters
from memory.adapters import importance_by, serving_adapter, serving_name, shipped_adapter
from memory.engine.bank import Mark
from memory.engine.types import Role, State
from memory.models import AdapterVersion, Bank, Job, Memory
from memory.services import memories
from memory.services.banks import BankConfiguration
from memory.services.jobs import HANDLERS, run_job
from memory.services.memories import MemoryRefused
from memory.services.rebudget import configuration_of_bank, preview_change
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk
from tests.training.services.challengers import GOOD, ended_run, stored, upside_down, work
from tests.training.services.test_own_heads import PLACES, judge, questions
from training.models import BankStep, Promotion, PromotionMode, Rules, RunState, StepState, TrainingRun
from training.services import own_heads, promotions, rescoring
from training.services.promotions import PromotionRefused, after_run, may_promote, promote, promote_again, roll_back

NOW = datetime(2026, 5, 3, 9, tzinfo=UTC)
TOLD = ["My boat is called Seagull", "Rent is 900 euros", "The key lies under the third pot", "Hello there",
        "Ana's birthday is 5 May", "I never eat walnuts", "How are you?", "Flight TP361 leaves at 7:40"]  # fmt: skip


@pytest.fixture
def full(desk: Desk, operator: User) -> Desk:
    for number, text in enumerate(TOLD):
        desk.tell(text, f"I have noted number {number}.")
    fill_up(desk, budget_memories=16, evict_at=0.5)
    return desk


def fill_up(desk: Desk, **fields: Any) -> None:
    """Set the bank up, then bring memories back beyond the share at which it evicts: what is scored anew evicts."""
    desk.configure(**fields)
    for text in desk.texts(State.ARCHIVED)[:4]:
        with desk.acting(), suppress(MemoryRefused):
            memories.restore(desk.memory(text).pk, now=NOW)


@pytest.fixture
def challenger(full: Desk) -> AdapterVersion:
    return stored(upside_down())


def promoted(operator: User, what: Any = "run-1", *, reason: str = "I looked at it.", **more: Any) -> Promotion:
    with acting_as(operator.pk):
        return promote(what, by=operator.pk, reason=reason, now=datetime.now(UTC), **more)


def rolled_back(operator: User, promotion: Promotion) -> Promotion:
    with acting_as(operator.pk):
        return roll_back(promotion.pk, by=operator.pk, now=datetime.now(UTC))


def everything(desk: Desk) -> tuple[BankConfiguration, dict[UUID, Mark], dict[UUID, tuple[float, str]]]:
    """Settings, what the ledger knows of every memory, and what their rows say."""
    state = desk.agree()
    with desk.acting():
        bank = Bank.objects.get(pk=desk.bank_id)
        rows = Memory.objects.filter(bank=bank).values_list("pk", "importance", "adapter")
        return configuration_of_bank(bank), dict(state.marks), {pk: (score, by) for pk, score, by in rows}


def bank_of(desk: Desk) -> Bank:
    with desk.acting():
        return Bank.objects.select_related("space").get(pk=desk.bank_id)


def step_of(desk: Desk, promotion: Promotion) -> BankStep:
    return BankStep.objects.using("worker").get(promotion=promotion, bank=desk.bank_id)


# --- what may be promoted -------------------------------------------------------------------------------------------


def run_with(**changed: Any) -> TrainingRun:
    return TrainingRun(state=RunState.DONE, challenger_id="run-1", report=deepcopy(GOOD) | changed)


def test_a_challenger_that_is_better_and_loses_nowhere_may_be_promoted() -> None:
    assert may_promote(run_with(), Rules()) == []


@pytest.mark.parametrize(("changed", "says"), [
    ({"better": 0.94}, "94 % sure; promoting asks for 95 %"),
    ({"better": float("nan")}, "promoting asks for 95 %"),
    ({"verdict": "not better", "sentence": "It is not better."}, "It is not better."),
    ({"guards": [{"name": "public slice", "lost": 0.021, "ok": True}]}, "“public slice” it loses 0.021"),
    ({"guards": [{"name": "public slice", "lost": 0.0, "ok": False}]}, "“public slice”"),
    ({"by_kind": {"tool_use": {"champion": 0.5, "challenger": 0.47}}}, "“agents that use tools” lose 0.030"),
    (
        {"guards": [{"name": "own:tool_use", "of": "own", "kind": "tool_use", "lost": 0.021, "ok": True}]},
        "“held-out conversations, agents that use tools” it loses 0.021",
    ),
    ({"by_kind": {"tool_use": {"champion": 0.5, "challenger": float("nan")}}}, "“agents that use tools” lose nan"),
])  # fmt: skip
def test_what_is_not_better_or_loses_somewhere_is_refused_in_a_sentence(changed: dict[str, Any], says: str) -> None:
    (refusal,) = may_promote(run_with(**changed), Rules())
    assert says in refusal
    assert refusal.endswith(".")


def test_each_reason_against_is_told_and_a_run_that_failed_has_nothing_to_promote() -> None:
    both = may_promote(run_with(better=0.5, by_kind={"tool_use": {"champion": 0.5, "challenger": 0.4}}), Rules())
    assert len(both) == 2
    for state in (RunState.FAILED, RunState.CANCELLED, RunState.RUNNING):
        assert "no challenger" in may_promote(TrainingRun(state=state, challenger_id="run-1", report=GOOD), Rules())[0]
    assert "no challenger" in may_promote(TrainingRun(state=RunState.DONE, report=GOOD), Rules())[0]


# --- promote --------------------------------------------------------------------------------------------------------


def test_promoting_scores_every_bank_that_follows_anew_and_new_banks_begin_with_it(
    full: Desk, operator: User, challenger: AdapterVersion
) -> None:
    assert serving_adapter().version == shipped_adapter().version
    state = full.agree()
    with full.acting():
        known = {row.pk: row for row in Memory.objects.filter(bank=full.bank_id)}
    usual = {pk: importance_by(shipped_adapter(), row.features, Role(row.role), state) for pk, row in known.items()}
    held_before = {pk for pk, row in known.items() if row.state == State.HELD}
    made = promoted(operator, ended_run(challenger), reason="")
    assert serving_adapter().version == "run-1"
    assert bank_of(full).adapter == "", "a bank's row says what serves it until its own step is done"
    work()
    settings_now, marks, rows = everything(full)
    assert settings_now.adapter == "run-1"
    held = [pk for pk, mark in marks.items() if mark.state is State.HELD]
    assert held
    assert {rows[pk][1] for pk in held} == {"run-1"}
    assert held_before > set(held)
    for pk in held:
        assert rows[pk][0] == pytest.approx(1 - usual[pk], abs=1e-3)
    step = step_of(full, made)
    assert (step.state, step.rescored, step.left, step.error) == (StepState.DONE, 12, 4, "")
    assert Desk(full.person).agree()
    with full.acting():
        assert set(Bank.objects.values_list("adapter", flat=True)) == {"run-1"}
    assert full.ask("Where is the key?").trace.adapter == "run-1"


def test_without_a_run_or_against_the_rules_it_takes_a_reason_and_that_is_kept(
    full: Desk, operator: User, challenger: AdapterVersion
) -> None:
    with pytest.raises(PromotionRefused, match="No run has compared"):
        promoted(operator, reason=" ")
    unsure = ended_run(challenger, report=GOOD | {"better": 0.6})
    with pytest.raises(PromotionRefused, match="60 % sure"):
        promoted(operator, unsure, reason="")
    made = promoted(operator, unsure, reason="The labels are few but right.")
    assert (made.reason, made.by_id, made.automatic, made.run_id) == (
        "The labels are few but right.", operator.pk, False, unsure.pk,
    )  # fmt: skip


def test_a_challenger_of_another_champion_than_serves_is_not_taken_for_better(
    full: Desk, operator: User, challenger: AdapterVersion
) -> None:
    stored(upside_down("run-0"))
    with pytest.raises(PromotionRefused, match="compared with run-0"):
        promoted(operator, ended_run(challenger, champion="run-0"), reason="")


def test_what_serves_what_is_missing_and_what_is_one_banks_own_are_never_promoted(
    full: Desk, operator: User, challenger: AdapterVersion
) -> None:
    stored(upside_down("own-1"), kind="own", bank="1")
    stored(upside_down("run-2"))
    AdapterVersion.objects.filter(version="run-2").update(weights=b"no weights")
    adapters._at_hand.clear()
    for version, why in (
        (shipped_adapter().version, "serves already"), ("run-9", "There is no adapter"), ("own-1", "for one bank"),
        ("run-2", "does not agree with its manifest"), ("", "no challenger"),
    ):  # fmt: skip
        with pytest.raises(PromotionRefused, match=why):
            promoted(operator, version)
    assert not Promotion.objects.using("worker").exists()


def test_a_bank_whose_person_chose_its_adapter_stays_with_it(
    full: Desk, operator: User, challenger: AdapterVersion
) -> None:
    full.configure(adapter="prior-2", keeps_adapter=True)
    promoted(operator)
    work()
    assert bank_of(full).adapter == "prior-2"


def test_one_promotion_at_a_time_goes_through_the_banks(full: Desk, operator: User, challenger: AdapterVersion) -> None:
    stored(upside_down("run-2"))
    promoted(operator)
    with pytest.raises(PromotionRefused, match="still on its way through the banks: 1 to go"):
        promoted(operator, "run-2")
    work()
    promoted(operator, "run-2")


def test_nobody_but_operators_promotes(full: Desk, stranger: User, challenger: AdapterVersion) -> None:
    with acting_as(stranger.pk), pytest.raises(DatabaseError, match="row-level security"):
        promote("run-1", by=stranger.pk, reason="Mine.", now=NOW)
    assert serving_name() == ""


# --- jobs -----------------------------------------------------------------------------------------------------------


def test_a_job_delivered_twice_changes_a_bank_once(full: Desk, operator: User, challenger: AdapterVersion) -> None:
    made = promoted(operator)
    work()
    state = full.agree()
    step = step_of(full, made)
    for _twice in range(2):
        rescoring.spread(str(made.pk))
        with full.acting():
            rescoring.bring_into_line(str(step.pk))
    assert full.agree() == state
    assert BankStep.objects.using("worker").filter(promotion=made).count() == 1


def test_a_turn_that_comes_between_makes_the_step_look_again(
    full: Desk, operator: User, challenger: AdapterVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = promoted(operator)
    told = iter(["News of the harbour", "More news of it"])

    def interrupted(*args: Any, **more: Any) -> Any:
        seen = preview_change(*args, **more)
        if text := next(told, None):
            full.tell(text)
        return seen

    monkeypatch.setattr(rescoring, "preview_change", interrupted)
    work()
    assert step_of(full, made).state == StepState.DONE
    assert full.memory("More news of it").adapter == "run-1"
    full.agree()


def test_a_step_that_fails_leaves_its_bank_says_why_and_is_tried_again(
    full: Desk, operator: User, challenger: AdapterVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(full)
    made = promoted(operator)
    with monkeypatch.context() as broken:
        broken.setattr(rescoring, "apply_change", lambda *_a, **_k: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            work()
    step = step_of(full, made)
    assert (step.state, step.error) == (StepState.WAITING, "ZeroDivisionError: see the worker's log.")
    assert everything(full) == before
    job = Job.objects.using("worker").get(kind=rescoring.JOB, key=str(step.pk))
    assert job.run_after > job.created_at, "it pauses before it is tried again"
    Job.objects.using("worker").filter(pk=job.pk).update(run_after=NOW)
    assert run_job(job.pk)
    assert (step_of(full, made).state, step_of(full, made).error) == (StepState.DONE, "")


def test_a_step_that_cannot_be_done_has_failed_and_an_operator_can_have_it_tried_again(
    full: Desk, operator: User, challenger: AdapterVersion
) -> None:
    made = promoted(operator)
    with full.acting():
        Bank.objects.filter(pk=full.bank_id).update(policy="best")
    with pytest.raises(Exception, match="no retention policy"):
        work()
    assert (step_of(full, made).state, bank_of(full).adapter) == (StepState.FAILED, "")
    assert "no retention policy" in step_of(full, made).error
    with full.acting():
        Bank.objects.filter(pk=full.bank_id).update(policy="importance")
    with acting_as(operator.pk):
        assert rescoring.ask_again(made, using="default") == 1
    work()
    assert (step_of(full, made).state, bank_of(full).adapter) == (StepState.DONE, "run-1")


def test_workers_know_how_to_do_both_jobs() -> None:
    from agora_web.celery import app

    app.loader.import_default_modules()
    assert HANDLERS[promotions.JOB] is rescoring.spread
    assert HANDLERS[rescoring.JOB] is rescoring.bring_into_line


# --- roll back ------------------------------------------------------------------------------------------------------


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.fixed_dictionaries({}, optional={
    "budget_memories": st.integers(5, 20), "budget_tokens": st.integers(60, 400),
    "policy": st.sampled_from(["fifo", "longest", "chains+floor(recent=2)+importance"]),
    "evict_at": st.sampled_from([0.5, 0.8, 1.0]), "recall_archive": st.booleans(),
}))  # fmt: skip
def test_rolled_back_every_bank_is_as_it_was(
    full: Desk, operator: User, challenger: AdapterVersion, fields: dict[str, Any]
) -> None:
    fill_up(full, **fields)
    before = everything(full)
    made = promoted(operator)
    work()
    after = everything(full)
    assert after != before
    rolled_back(operator, made)
    assert serving_name() == ""
    work()
    assert everything(full) == before
    assert step_of(full, made).state == StepState.UNDONE
    with acting_as(operator.pk):
        again = promote_again(made.pk, by=operator.pk, now=datetime.now(UTC))
    work()
    assert everything(full) == after, "undoing the roll-back promotes the same"
    assert again.reason == made.reason
    rolled_back(operator, again)
    work()
    assert everything(full) == before


def test_what_people_did_since_stays_when_it_is_rolled_back(
    full: Desk, operator: User, challenger: AdapterVersion
) -> None:
    before = set(full.texts(State.ARCHIVED))
    made = promoted(operator)
    work()
    gone = [text for text in full.texts(State.ARCHIVED) if text not in before]
    assert len(gone) == 4
    with full.acting():
        memories.erase(full.memory(gone[0]).pk, now=NOW)
    full.tell("News of the harbour", "")
    full.configure(recall_tokens=77, adapter="run-1")
    rolled_back(operator, made)
    work()
    news = full.memory("News of the harbour")
    assert (bank_of(full).recall_tokens, news.adapter) == (77, shipped_adapter().version)
    assert set(gone[1:]) <= set(full.texts())
    assert gone[0] not in full.texts()
    full.agree()


def test_a_bank_that_its_person_gave_another_adapter_since_is_left_alone(
    full: Desk, operator: User, challenger: AdapterVersion
) -> None:
    made = promoted(operator)
    work()
    full.configure(adapter="prior-2", keeps_adapter=True)
    before = everything(full)
    rolled_back(operator, made)
    work()
    assert everything(full) == before


def test_a_bank_made_while_it_served_goes_back_with_the_others(
    full: Desk, operator: User, challenger: AdapterVersion
) -> None:
    made = promoted(operator)
    work()
    young = Desk(full.person)
    young.tell("My boat is called Seagull", "")
    assert bank_of(young).adapter == "run-1"
    rolled_back(operator, made)
    work()
    assert bank_of(young).adapter == ""
    assert young.memory("My boat is called Seagull").adapter == shipped_adapter().version


def test_a_roll_back_overtakes_the_steps_that_still_wait(
    full: Desk, operator: User, challenger: AdapterVersion
) -> None:
    before = everything(full)
    made = promoted(operator)
    rescoring.spread(str(made.pk))
    rolled_back(operator, made)
    work()
    assert everything(full) == before
    assert step_of(full, made).state == StepState.UNDONE


def test_only_the_newest_is_rolled_back_and_each_once(full: Desk, operator: User, challenger: AdapterVersion) -> None:
    stored(upside_down("run-2"))
    first = promoted(operator)
    work()
    second = promoted(operator, "run-2")
    work()
    with pytest.raises(PromotionRefused, match="Roll that one back first"):
        rolled_back(operator, first)
    rolled_back(operator, second)
    work()
    assert (serving_name(), bank_of(full).adapter) == ("run-1", "run-1")
    with pytest.raises(PromotionRefused, match="rolled back already"):
        rolled_back(operator, second)
    rolled_back(operator, first)
    work()
    assert (serving_name(), bank_of(full).adapter) == ("", "")
    with pytest.raises(PromotionRefused, match="promoted since"), acting_as(operator.pk):
        promote_again(second.pk, by=operator.pk, now=NOW)


def test_a_bank_made_at_the_very_moment_is_reached_by_the_clock(
    full: Desk, operator: User, challenger: AdapterVersion
) -> None:
    made = promoted(operator)
    work()
    late = Desk(full.person)
    with late.acting():  # it read what served before, and committed after the others were looked up
        Bank.objects.filter(pk=late.bank_id).update(adapter="")
    rescoring.catch_up()
    work()
    assert bank_of(late).adapter == "run-1"
    rescoring.catch_up()
    assert work() == 0
    rolled_back(operator, made)
    work()
    assert (bank_of(late).adapter, bank_of(full).adapter) == ("", "")


def test_what_had_learned_from_something_erased_since_never_serves_again(
    full: Desk, operator: User, challenger: AdapterVersion
) -> None:
    stored(upside_down("run-2"))
    promoted(operator)
    work()
    second = promoted(operator, "run-2")
    work()
    AdapterVersion.objects.filter(version="run-1").update(manifest={**challenger.manifest, "erased": True})
    for attempt in (lambda: rolled_back(operator, second), lambda: promoted(operator, "run-1")):
        with pytest.raises(PromotionRefused, match="does not come back"):
            attempt()
    assert serving_name() == "run-2"


# --- heads of a bank's own ------------------------------------------------------------------------------------------


@pytest.fixture
def odd(desk: Desk, operator: User) -> Desk:
    """A person who finds questions worth keeping, and whose bank has learned so."""
    for number, place in enumerate(PLACES):
        desk.tell(f"My flight {number}00{number} to {place} leaves on {number + 1} March and costs 80 euros", "")
        desk.tell(f"How do you feel about {place} today?", "")
    judge(desk, questions)
    with desk.acting():
        own_heads.learn(bank_of(desk), now=NOW)
    assert bank_of(desk).adapter.endswith("-1")
    return desk


def mild(version: str = "run-1") -> Any:
    """A shared adapter that differs a little from the shipped one."""
    from dataclasses import replace

    shipped = shipped_adapter()
    priors = {kind: replace(one, weights=one.weights * 1.05) for kind, one in shipped.importance.priors.items()}
    return replace(shipped, version=version, importance=type(shipped.importance)(priors))


def test_a_head_of_a_banks_own_is_learned_anew_around_the_new_base_and_comes_back(odd: Desk, operator: User) -> None:
    stored(mild())
    before = everything(odd)
    made = promoted(operator)
    work()
    own = bank_of(odd).adapter
    assert own == f"own-{odd.bank_id.hex[:8]}-2"
    assert AdapterVersion.objects.get(version=own).parent_id == "run-1"
    rolled_back(operator, made)
    work()
    assert everything(odd) == before


def test_words_said_while_it_served_count_on_around_the_former_base(odd: Desk, operator: User) -> None:
    stored(mild())
    made = promoted(operator)
    work()
    odd.tell("How do you feel about Bergen today?", "")
    judge(odd, questions)
    with odd.acting():
        own_heads.learn(bank_of(odd), now=NOW)
    assert bank_of(odd).adapter.endswith("-3")
    rolled_back(operator, made)
    work()
    own = AdapterVersion.objects.get(version=bank_of(odd).adapter)
    assert (own.parent_id, own.manifest["labels"]) == (shipped_adapter().version, 2 * len(PLACES) + 1)
    odd.agree()


def test_a_head_that_had_learned_from_something_erased_since_does_not_come_back(odd: Desk, operator: User) -> None:
    stored(mild())
    made = promoted(operator)
    work()
    with odd.acting():
        memories.erase(odd.memory("How do you feel about Riga today?").pk, now=NOW)
    work()
    assert bank_of(odd).adapter.endswith("-3"), "learned anew without it"
    rolled_back(operator, made)
    work()
    own = AdapterVersion.objects.get(version=bank_of(odd).adapter)
    assert (own.parent_id, own.manifest["labels"]) == (shipped_adapter().version, 2 * len(PLACES) - 1)
    assert step_of(odd, made).state == StepState.UNDONE
    odd.agree()


# --- after a run ----------------------------------------------------------------------------------------------------


@pytest.fixture
def ruled(operator: User) -> Iterator[Any]:
    def rule(**fields: Any) -> None:
        Rules.objects.using("worker").update_or_create(pk=1, defaults=fields)

    yield rule
    Rules.objects.using("worker").all().delete()


def test_after_a_run_the_rules_decide(full: Desk, ruled: Any, challenger: AdapterVersion) -> None:
    run = ended_run(challenger)
    assert after_run(run) is None, "an operator decides"
    ruled(promote="shadow")
    shadow = after_run(run)
    assert shadow is not None
    assert (shadow.mode, serving_name()) == (PromotionMode.SHADOW, "")
    ruled(promote="automatic")
    served = after_run(run)
    assert served is not None
    assert (served.mode, served.automatic, served.by_id, serving_name()) == (PromotionMode.SERVE, True, None, "run-1")
    work()
    assert bank_of(full).adapter == "run-1"
    assert promotions.shadowing("worker") is None, "what serves shadows no more"


def test_no_rule_promotes_what_is_not_better_or_fails(full: Desk, ruled: Any, challenger: AdapterVersion) -> None:
    ruled(promote="automatic", confidence=0.99)
    assert after_run(ended_run(challenger)) is None
    ruled(promote="automatic", confidence=0.95)
    assert after_run(ended_run(challenger, state=RunState.FAILED)) is None
    stored(upside_down("run-0"))
    assert after_run(ended_run(challenger, champion="run-0")) is None, "compared with what does not serve"
    assert not Promotion.objects.using("worker").exists()


def test_a_shadow_changes_no_bank_and_ends_when_told(full: Desk, operator: User, challenger: AdapterVersion) -> None:
    before = everything(full)
    made = promoted(operator, reason="", mode=PromotionMode.SHADOW)
    work()
    assert everything(full) == before
    rolled_back(operator, made)
    assert promotions.shadowing("worker") is None
    assert timedelta(0) <= datetime.now(UTC) - Promotion.objects.using("worker").get(pk=made.pk).undone_at
