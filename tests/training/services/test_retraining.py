"""When a training starts by itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from memory.models import Job, Memory
from tests.memory.services.desk import Desk
from training.models import About, Label, Rules, Source, TrainingRun
from training.services import retraining
from training.services.retraining import new_labels, retrain_after_labels, retrain_by_the_clock


@pytest.fixture
def quiet(database: None) -> Iterator[None]:
    """No run and no rules before, and none left behind."""
    yield
    for run in TrainingRun.objects.using("worker").filter(asked_by=None):
        Job.objects.using("worker").filter(key=str(run.pk)).delete()
    TrainingRun.objects.using("owner").all().delete()
    Rules.objects.using("owner").all().delete()


def label(desk: Desk, at: datetime) -> None:
    desk.tell(f"Something new at {at:%H:%M:%S.%f}.")
    with desk.acting():
        memory = Memory.objects.latest("written_seq")
        Label.objects.create(
            owner_id=desk.person.pk,
            memory=memory,
            about=About.IMPORTANCE,
            value=1,
            source=Source.ACTION,
            text="x",
            at=at,
        )


def test_by_the_clock_a_run_is_asked_for_only_when_a_label_is_new(quiet: None, desk: Desk) -> None:
    now = datetime.now(UTC)
    before = new_labels()
    label(desk, now - timedelta(minutes=1))
    assert new_labels() == before + 1
    rules = Rules.objects.using("worker").create(pk=1, least_labels=10_000)
    assert retrain_by_the_clock(now) is None, "it could not but fail"
    rules.least_labels = 1
    rules.save(using="worker")
    run = retrain_by_the_clock(now)
    assert run is not None
    assert (run.trigger, run.asked_by_id) == ("schedule", None)
    assert new_labels() == 0
    assert retrain_by_the_clock(now + timedelta(hours=1)) is None
    label(desk, now + timedelta(hours=2))
    again = retrain_by_the_clock(now + timedelta(hours=3))
    assert again is not None
    assert again.pk == run.pk, "one that waits is enough"


def test_by_the_clock_enough_said_of_what_fits_a_cue_is_enough(
    quiet: None, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    Rules.objects.using("worker").create(pk=1, least_labels=10_000)
    label(desk, now - timedelta(minutes=1))
    with desk.acting():
        asked = desk.ask("What was said?")
        Label.objects.filter(memory__bank=desk.bank_id).update(about=About.RELEVANCE, recall=asked.trace)
    assert retrain_by_the_clock(now) is None
    monkeypatch.setattr(retraining, "LEAST_CUES", 1)
    assert retrain_by_the_clock(now) is not None


def test_after_so_many_labels_as_the_rules_say_and_never_where_they_say_none(quiet: None, desk: Desk) -> None:
    now = datetime.now(UTC)
    label(desk, now - timedelta(minutes=2))
    assert retrain_after_labels(now) is None
    wanted = new_labels() + 1
    Rules.objects.using("worker").create(pk=1, retrain_after=wanted)
    assert retrain_after_labels(now) is None
    label(desk, now - timedelta(minutes=1))
    run = retrain_after_labels(now)
    assert run is not None
    assert run.trigger == "labels"
