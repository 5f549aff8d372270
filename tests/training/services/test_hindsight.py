"""Hindsight in the app: rested conversations alone, as the owner, replaced and never doubled, and felt by the head."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agora_web.accounts.models import User
from agora_web.celery import app
from memory.models import Bank, Job, JobState, Memory, Recall, Turn, TurnState
from memory.services import memories
from memory.services.jobs import HANDLERS, run_job
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk
from training.models import Label, Source
from training.services import hindsight, labels, own_heads
from training.services.hindsight import LEAST, RESTED, WEIGHT, judge, sweep
from training.services.own_heads import learn, learning_of

PLACES = ["Porto", "Ghent", "Vilnius", "Oslo", "Turin", "Lyon", "Graz", "Bergen", "Malmo", "Split", "Cork", "Bath"]
LATER = datetime.now(UTC) + timedelta(days=1)  # after the longest test run


def live(desk: Desk, cue: str, reply: str, *, injected: list[str] | None = None) -> Turn:
    """A turn as the chat has one: recall, what of it stood in the prompt, and the reply."""
    asked = desk.ask(cue)
    with desk.acting():
        shown = [row.item.id for row in asked.found.injected]
        if injected is not None:
            shown = [desk.memory(text).pk for text in injected]
        Recall.objects.filter(pk=asked.trace.pk).update(injected=shown)
        Turn.objects.filter(pk=asked.turn.pk).update(action=reply, state=TurnState.DONE)
        asked.turn.refresh_from_db()
    return asked.turn


@pytest.fixture
def lived(desk: Desk) -> Desk:
    """Codes that are asked for and given again, between flights that never are."""
    for number, place in enumerate(PLACES):
        desk.tell(f"So the {place} house is {place.lower()}gate", "")
        desk.tell(f"My flight {number}00{number} leaves on {number + 1} March at 7:15 and costs 80 euros", "")
    with desk.acting():
        desk.other = desk.begin()  # type: ignore[attr-defined]
    for place in PLACES:
        live(desk, f"Which house is in {place}?", f"It is {place.lower()}gate.")
    return desk


def bank_of(desk: Desk) -> Bank:
    return Bank.objects.select_related("space").get(pk=desk.bank_id)


def judged(desk: Desk, **of: Any) -> dict[str, float]:
    with desk.acting():
        return dict(Label.objects.filter(source=Source.HINDSIGHT, **of).values_list("text", "value"))


def test_what_replies_took_from_memory_is_worth_keeping_and_what_they_never_used_is_not(lived: Desk) -> None:
    with lived.acting():
        assert judge(bank_of(lived), now=LATER) == 24
    told = judged(lived)
    assert all(told[f"So the {place} house is {place.lower()}gate"] > 0.5 for place in PLACES)
    assert all(value == 0 for text, value in told.items() if "flight" in text)
    with lived.acting():
        assert set(Label.objects.values_list("weight", "by", "reason", "about")) == {
            (WEIGHT, None, "used", "importance"), (WEIGHT, None, "unused", "importance"),
        }  # fmt: skip


def test_a_second_time_replaces_the_labels_and_a_conversation_that_goes_on_is_read_anew(lived: Desk) -> None:
    with lived.acting():
        judge(bank_of(lived), now=LATER)
        judge(bank_of(lived), now=LATER)
        assert Label.objects.filter(source=Source.HINDSIGHT).count() == 24
    flight = "My flight 3003 leaves on 4 March at 7:15 and costs 80 euros"
    live(lived, "Which flight do I take?", "You take flight 3003, at 7:15.", injected=[flight])
    with lived.acting():
        judge(bank_of(lived), now=LATER)
        assert Label.objects.filter(source=Source.HINDSIGHT).count() == 24
    assert judged(lived)[flight] > 0.5


def test_recalled_alone_is_worth_nothing_and_so_is_what_stood_in_no_prompt(desk: Desk) -> None:
    for place in PLACES[:6]:
        desk.tell(f"So the {place} house is {place.lower()}gate", "")
    live(desk, "Which house is in Porto?", "I cannot say.")
    live(desk, "Which house is in Ghent?", "It is ghentgate.", injected=[])
    live(desk, "The Oslo house again", "It is oslogate.")  # a statement: its reply reuses words by the way
    with desk.acting():
        judge(bank_of(desk), now=LATER)
    assert set(judged(desk).values()) == {0.0}


def test_few_replies_or_no_help_leave_labels_without_weight_and_the_shared_head_serves(desk: Desk) -> None:
    for place in PLACES:
        desk.tell(f"So the {place} house is {place.lower()}gate", "")
    for place in PLACES[: LEAST - 1]:
        live(desk, f"Which house is in {place}?", f"It is {place.lower()}gate.")
    with desk.acting():
        judge(bank_of(desk), now=LATER)
        assert set(Label.objects.values_list("weight", flat=True)) == {0.0}
        assert not Job.objects.filter(kind=own_heads.JOB).exists()
        assert learn(bank_of(desk), now=LATER) is None


def test_the_bank_learns_a_head_of_its_own_from_hindsight_and_a_persons_word_outweighs_it(lived: Desk) -> None:
    before = importances(lived)
    with lived.acting():
        judge(bank_of(lived), now=LATER)
        assert Job.objects.filter(kind=own_heads.JOB, key=str(lived.bank_id)).count() == 1
        assert learn(bank_of(lived), now=LATER) is not None
        assert learning_of(bank_of(lived)).labels == 0  # a person has said nothing
        assert bank_of(lived).adapter.startswith("own-")
    after = importances(lived)

    def gap(of: dict[str, float]) -> float:
        houses = [
            value for text, value in of.items() if "house" in text and "flight" not in text and "Which" not in text
        ]
        flights = [value for text, value in of.items() if "flight" in text]
        return sum(houses) / len(houses) - sum(flights) / len(flights)

    assert gap(after) > gap(before)
    with lived.acting():
        for memory in list(Memory.objects.filter(bank=lived.bank_id, text__startswith="My flight")):
            labels.say(memory.pk, "useful", by=lived.person.pk, now=LATER)
        base = own_heads.base_of(bank_of(lived))
        said = set(Label.objects.filter(source=Source.ACTION).values_list("memory", flat=True))
        assert own_heads._after_hindsight(bank_of(lived), base, "user_assistant", without=said) is None  # 12 are left


def importances(desk: Desk) -> dict[str, float]:
    with desk.acting():
        return dict(Memory.objects.filter(bank=desk.bank_id).values_list("text", "importance"))


def test_the_sweep_has_a_bank_judged_once_a_conversation_rests_and_not_again_until_it_goes_on(lived: Desk) -> None:
    now = datetime.now(UTC)
    sweep(now)
    assert not jobs(lived)  # its last turn was just now
    sweep(now + RESTED + timedelta(minutes=1))
    sweep(now + RESTED + timedelta(minutes=2))
    (job,) = jobs(lived)
    assert (job.key, job.owner_id, job.state) == (str(lived.bank_id), lived.person.pk, JobState.PENDING)
    with lived.acting():
        Turn.objects.update(created_at=now - RESTED)
    assert run_job(job.pk)
    assert len(judged(lived)) == 24
    with acting_as(lived.person.pk):
        Job.objects.filter(pk=job.pk).update(created_at=now)
    sweep(now + timedelta(minutes=1))
    assert len(jobs(lived)) == 1


def jobs(desk: Desk) -> list[Job]:
    return list(Job.objects.using("worker").filter(kind=hindsight.JOB, owner_id=desk.person.pk))


def test_what_is_forgotten_is_not_judged_and_what_is_erased_takes_its_label_along(lived: Desk) -> None:
    with lived.acting():
        judge(bank_of(lived), now=LATER)
        memory = lived.memory("So the Porto house is portogate").pk
        memories.forget(memory, now=LATER)
        judge(bank_of(lived), now=LATER)
        assert Label.objects.filter(source=Source.HINDSIGHT).count() == 23
        other = lived.memory("So the Ghent house is ghentgate").pk
        memories.forget(other, now=LATER)
        memories.erase(other, now=LATER)
        assert Label.objects.filter(source=Source.HINDSIGHT).count() == 22


def test_nobody_else_reads_the_labels_or_judges_the_bank(lived: Desk, stranger: User) -> None:
    with lived.acting():
        judge(bank_of(lived), now=LATER)
    with acting_as(stranger.pk):
        assert not Label.objects.exists()
        hindsight.judge_bank(str(lived.bank_id))
        assert not Bank.objects.filter(pk=lived.bank_id).exists()
    assert len(judged(lived)) == 24


def test_a_worker_that_was_only_started_knows_the_job_and_the_task() -> None:
    app.loader.import_default_modules()
    assert HANDLERS[hindsight.JOB] is hindsight.judge_bank
    assert "training.sweep" in app.tasks
