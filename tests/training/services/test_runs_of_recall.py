"""A run learns recall from what people say of recalled memories, through real traces, with and without importance."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

import numpy as np
import pytest

from agora_web.accounts.models import User
from memory.adapters import adapter_named, serving_adapter
from memory.engine.signals import NAMES
from memory.models import AdapterVersion, Job, JobState
from memory.services.jobs import run_job
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk
from tests.training.services.judged import LEAST, PLACES, judge, set_rules
from tests.training.services.test_runs import again, ask, job_of
from tests.training.services.test_thumbs import replied
from training.learner.shared_head import LEAST_CUES
from training.models import About, Label, Rules
from training.services import labels, promotions, runs, thumbs

QUESTION = NAMES.index("is_question")


@pytest.fixture(autouse=True)
def no_rules(operator: User) -> Iterator[None]:
    yield
    Rules.objects.using("owner").all().delete()
    Job.objects.using("owner").filter(kind=runs.JOB).delete()


def told_in(number: int) -> tuple[str, str, str]:
    """What is said in one of these conversations. The shipped head puts first what tells, this person what asks."""
    place = f"{PLACES[number % len(PLACES)]} {number}"
    return f"The hotel in {place} has a garden", f"Is the hotel in {place} nice?", f"Was the hotel in {place} loud?"


def talk(desk: Desk, conversations: int, now: datetime) -> None:
    """In each conversation a hotel is told of and then asked about; the reply is poor, and what asks is useful."""
    for number in range(conversations):
        desk.conversation_id = desk.begin()
        told = told_in(number)
        for text in told:
            desk.tell(text, "")
        asked = replied(desk, desk.ask(f"What about the hotel in {PLACES[number % len(PLACES)]} {number}?"))
        with desk.acting():
            thumbs.raise_thumb(asked.turn.pk, "down", by=desk.person.pk, now=now)
        for text in told[1:]:
            memory = desk.memory(text).pk
            if memory in asked.trace.recalled:
                with desk.acting():
                    labels.say(memory, "useful", by=desk.person.pk, recall_id=asked.trace.pk, now=now)


def only_relevance(desk: Desk) -> int:
    with desk.acting():
        Label.objects.filter(about=About.IMPORTANCE).delete()
        return Label.objects.filter(about=About.RELEVANCE).count()


def test_words_and_thumbs_on_real_recalls_teach_a_challenger_that_is_better_and_can_be_promoted(
    desk: Desk, operator: User, now: datetime
) -> None:
    set_rules()
    talk(desk, 24, now)
    assert only_relevance(desk) >= LEAST_CUES
    run = ask(operator, now)
    assert run_job(job_of(run).pk)
    done = again(run)
    assert done.report["verdict"] == "better", json.dumps(done.report, indent=1)
    fitting = done.report["metrics"]["fitting:asking"]
    assert fitting["challenger"] > fitting["champion"]
    assert fitting["low"] > 0
    assert done.report["recall"]["by_mode"]["asking"]["moved"]
    assert {"own:asking", "public:asking"} <= {guard["name"] for guard in done.report["guards"]}
    assert len(done.curves["loss.asking"]) > 1
    assert len(done.curves["left_out.asking"]) > 1
    assert done.challenger is not None
    manifest = done.challenger.manifest
    assert (manifest["learned"], manifest["recall"]) == ([], ["asking"])
    assert manifest["relevance"]["asking"] >= LEAST_CUES
    assert set(manifest["calibration"]) >= {"temperature", "floor", "enough"}
    champion, challenger = serving_adapter(), adapter_named(done.challenger.version)
    assert challenger.recall.asking[QUESTION] > champion.recall.asking[QUESTION]
    assert (challenger.recall.telling == champion.recall.telling).all()
    for kind, prior in champion.importance.priors.items():
        assert np.array_equal(challenger.importance.priors[kind].weights, prior.weights)
    with acting_as(operator.pk):
        promotions.promote(done, by=operator.pk, now=now)
    assert serving_adapter().version == done.challenger.version


def test_recall_and_importance_are_learned_in_one_run(desk: Desk, operator: User, now: datetime) -> None:
    set_rules()
    talk(desk, 24, now)
    only_relevance(desk)
    judge(desk, lambda text: float("garden" not in text), now=now)
    run = ask(operator, now)
    assert run_job(job_of(run).pk)
    report = again(run).report
    assert set(report["by_kind"]) == {"user_assistant"}
    assert set(report["recall"]["by_mode"]) == {"asking"}
    assert {one["kind"] for one in report["metrics"].values()} == {"user_assistant", "asking"}


def test_too_few_labels_of_both_say_how_many_of_each_are_missing(desk: Desk, operator: User, now: datetime) -> None:
    set_rules()
    talk(desk, 3, now)
    run = ask(operator, now)
    with pytest.raises(runs.RunFailed):
        run_job(job_of(run).pk)
    failed = again(run)
    assert failed.snapshot is not None
    missing = LEAST_CUES - failed.snapshot.about["relevance"]["asking"]
    assert 0 < missing < LEAST_CUES
    assert f"{missing} of which memories fit a cue" in failed.error
    assert f"{LEAST} of agents that use tools" in failed.error
    assert (job_of(run).state, serving_adapter().version) == (JobState.FAILED, failed.champion_id)
    assert not AdapterVersion.objects.filter(version__startswith="shared-").exists()
