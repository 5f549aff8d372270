"""The pages of runs: who may see them, what the next run lacks, asking, cancelling, and the report."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from agora_web.accounts.models import User
from memory.figure_rows import read_csv
from memory.models import AdapterVersion, Job, JobState
from memory.tenancy import acting_as
from tests.memory.charts.test_parts import checked
from tests.scenes import PASSWORD, make_person
from training.charts_runs import CurveRow, curve_rows
from training.learner.shared_head import LEAST_CUES
from training.models import RunState, TrainingRun
from training.services.runs import JOB

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 3, 9, tzinfo=UTC)
REPORT: dict[str, Any] = {
    "metrics": {
        "ranking:two_people": {"champion": 0.7, "challenger": 0.75, "low": 0.01, "high": 0.09, "n": 120,
                               "kind": "two_people", "of": "ranking"},
    },
    "better": 0.97, "confidence": 0.95, "verdict": "guarded", "sentence": "It loses too much elsewhere.",
    "guards": [{"name": "public:tool_use", "of": "public", "kind": "tool_use", "champion": 0.85, "challenger": 0.8,
                "lost": 0.05, "most": 0.02, "ok": False}],
    "by_kind": {"two_people": {"labels": 300, "strength": 10.0, "moved": True, "left_out": 0.99,
                               "held_out_conversations": 9, "better": 0.97}},
    "missing": {},
}  # fmt: skip
OF_RECALL: dict[str, Any] = {
    **REPORT,
    "metrics": {
        **REPORT["metrics"],
        "attended:asking": {"champion": 0.2, "challenger": 0.35, "low": 0.1, "high": 0.2, "n": 60, "kind": "asking",
                            "of": "attended"},
        "fitting:asking": {"champion": 0.6, "challenger": 0.9, "low": 0.2, "high": 0.4, "n": 60, "kind": "asking",
                           "of": "fitting"},
    },
    "guards": [{"name": "public:asking", "of": "public", "kind": "asking", "champion": 0.92, "challenger": 0.915,
                "lost": 0.005, "most": 0.02, "ok": True}],
    "recall": {
        "by_mode": {"asking": {"labels": 140, "strength": 10.0, "moved": True, "left_out": 0.99,
                               "held_out_conversations": 7, "better": 0.98}},
        "calibration": {"enough": True, "fitting": 40, "unfitting": 128, "need": 30,
                        "temperature": {"champion": 1.073, "challenger": 1.073},
                        "floor": {"champion": 0.357, "challenger": 0.371}},
    },
}  # fmt: skip


def client_of(*roles: str) -> Client:
    client = Client()
    client.force_login(make_person(f"{'-'.join(roles) or 'plain'}@example.org", roles=roles))
    return client


def chief() -> User:
    """Somebody who may change every row of runs and jobs."""
    email = "chief@example.org"
    return User.objects.filter(email=email).first() or User.objects.create_superuser(email, PASSWORD)


def run_of(**fields: Any) -> TrainingRun:
    AdapterVersion.objects.get_or_create(version="shipped-2")
    with acting_as(chief().pk):
        return TrainingRun.objects.create(champion_id="shipped-2", created_at=NOW, **fields)


def grow(run: TrainingRun, **fields: Any) -> None:
    with acting_as(chief().pk):
        assert TrainingRun.objects.filter(pk=run.pk).update(**fields)


def job_for(run: TrainingRun, **fields: Any) -> None:
    with acting_as(chief().pk):
        Job.objects.create(kind=JOB, key=str(run.pk), **fields)


@pytest.mark.parametrize(("roles", "see", "ask"), [
    ((), 403, 403), (("labeller",), 403, 403), (("analyst",), 200, 403), (("operator",), 200, 302),
    (("administrator",), 200, 302),
])  # fmt: skip
def test_runs_open_to_staff_and_are_asked_for_by_operators(roles: tuple[str, ...], see: int, ask: int) -> None:
    client = client_of(*roles)
    assert client.get("/training/").status_code == see
    assert client.post("/training/", {"seed": "3"}).status_code == ask
    with acting_as(chief().pk):
        assert TrainingRun.objects.filter(seed=3).exists() == (ask == 302)
        assert Job.objects.filter(kind=JOB).exists() == (ask == 302)


def test_the_page_says_what_the_next_run_lacks_and_that_none_ran_yet() -> None:
    page = client_of("operator").get("/training/").content.decode()
    assert "0 of 100 judgements" in page
    assert "which memories fit a cue" in page
    assert f"0 of {LEAST_CUES} judgements" in page
    assert f"{LEAST_CUES} more judgements of which memories fit a cue" in page
    assert "No run yet" in page
    assert "Train now" in page
    assert "Train now" not in client_of("analyst").get("/training/").content.decode()


def test_a_wrong_seed_is_refused_with_a_sentence() -> None:
    answer = client_of("operator").post("/training/", {"seed": "zero"})
    assert answer.status_code == 400
    assert "Enter a whole number" in answer.content.decode()


def test_a_second_ask_leads_to_the_run_that_waits() -> None:
    client = client_of("operator")
    first = client.post("/training/", {"seed": "1"})
    assert client.post("/training/", {"seed": "2"})["Location"] == first["Location"]
    assert "A run waits already" in client.get(first["Location"]).content.decode()


def test_the_report_shows_champion_beside_challenger_with_intervals_guards_and_kinds() -> None:
    run = run_of(state=RunState.DONE, report=REPORT, progress=1.0, finished_at=NOW)
    page = " ".join(client_of("analyst").get(f"/training/runs/{run.pk}/").content.decode().split())
    for said in ("It loses too much elsewhere.", "0.700", "0.750", "+0.050", "[0.010, 0.090]", "falls",
                 "learned from 300 judgements, measured on 9 conversations", "0.97"):  # fmt: skip
        assert said in page, said
    assert "Cancel the run" not in page


def test_the_report_shows_recall_by_mode_with_temperature_and_floor_before_and_after() -> None:
    analyst = client_of("analyst")
    run = run_of(state=RunState.DONE, report=OF_RECALL, progress=1.0, finished_at=NOW)
    page = " ".join(analyst.get(f"/training/runs/{run.pk}/").content.decode().split())
    for said in ("fitting memories ahead of others", "mean weight on what fitted", "cues that ask", "+0.300",
                 "learned from 140 judgements, measured on 7 conversations", "1.073", "0.357", "0.371"):  # fmt: skip
        assert said in page, said
    assert "Both stay" not in page
    few = {**OF_RECALL["recall"]["calibration"], "enough": False, "fitting": 12}
    report = {**OF_RECALL, "recall": {**OF_RECALL["recall"], "calibration": few}}
    run = run_of(state=RunState.DONE, report=report, progress=1.0, finished_at=NOW)
    page = analyst.get(f"/training/runs/{run.pk}/").content.decode()
    assert "12 memories were called fitting and 128 unfitting, and 30 of each are needed" in page
    plain = run_of(state=RunState.DONE, report=REPORT, progress=1.0, finished_at=NOW)
    old = analyst.get(f"/training/runs/{plain.pk}/").content.decode()
    assert "temperature of the weights" not in old, "a report of old has no recall"


def test_a_failed_run_says_why_and_what_its_row_could_not_say_its_job_does() -> None:
    client = client_of("operator")
    run = run_of(state=RunState.RUNNING, stage="train", progress=0.4)
    job_for(run, state=JobState.FAILED, error="Its workers ended.")
    told = client.get(f"/api/training/runs/{run.pk}/").json()
    assert (told["state"], told["error"], told["over"]) == ("failed", "Its workers ended.", True)
    assert "Its workers ended." in client.get("/training/").content.decode()


def test_a_run_whose_worker_is_silent_or_that_waits_for_another_try_says_so() -> None:
    client = client_of("operator")
    run = run_of(state=RunState.RUNNING, stage="train", progress=0.4)
    job_for(run, state=JobState.RUNNING, lease_until=NOW)
    assert client.get(f"/api/training/runs/{run.pk}/").json()["silent"]
    with acting_as(chief().pk):
        Job.objects.update(state=JobState.PENDING, error="The disk is full.", lease_until=None)
    told = client.get(f"/api/training/runs/{run.pk}/").json()
    assert (told["state"], told["error"], told["silent"], told["over"]) == (
        "pending",
        "The disk is full.",
        False,
        False,
    )


def test_a_run_is_cancelled_by_who_may_and_only_while_it_is_not_over() -> None:
    run = run_of(state=RunState.RUNNING)
    job_for(run, state=JobState.RUNNING, lease_until=NOW + timedelta(days=9999))
    path = f"/training/runs/{run.pk}/cancel/"
    assert client_of("analyst").post(path).status_code == 403
    operator = client_of("operator")
    assert "Cancel the run" in operator.get(f"/training/runs/{run.pk}/").content.decode()
    assert operator.get(path).status_code == 405
    assert "is being cancelled" in operator.post(path, follow=True).content.decode()
    with acting_as(chief().pk):
        assert TrainingRun.objects.get(pk=run.pk).cancel_requested
        TrainingRun.objects.update(state=RunState.DONE)
    assert "This run is over" in operator.post(path, follow=True).content.decode()


def test_what_is_no_run_is_not_found() -> None:
    client = client_of("operator")
    assert client.get(f"/training/runs/{uuid4()}/").status_code == 404
    assert client.get(f"/api/training/runs/{uuid4()}/").status_code == 404


def test_the_curves_are_figures_that_grow_with_the_run_and_end_as_a_fresh_page_has_them() -> None:
    run = run_of(state=RunState.RUNNING, stage="train")
    client = client_of("operator")
    page = client.get(f"/training/runs/{run.pk}/").content.decode()
    address = f"/api/training/runs/{run.pk}/loss/"
    assert f'data-figure="{address}"' in page
    assert "blob:" in client.get(f"/training/runs/{run.pk}/")["Content-Security-Policy"]
    drawn = client.get(address).json()
    assert (drawn["figure"], drawn["empty"]) == (None, "It has not learned yet: the curve grows as it does.")
    for values in ([0.7], [0.7, 0.5, 0.4]):
        grow(run, curves={"loss.two_people": values, "left_out.two_people": [0.6]})
        drawn = client.get(address).json()
        checked(drawn["figure"])
        assert drawn["figure"]["data"][0]["y"] == values
        assert drawn["table"]["rows"] == [
            ["conversations of two people", step, value] for step, value in enumerate(values, start=1)
        ]
    assert drawn["sentence"] == "Conversations of two people: from 0.700 to 0.400; lowest 0.400, highest 0.700."
    rows = b"".join(client.get(address, {"format": "csv"})).decode()
    assert list(read_csv(CurveRow, StringIO(rows))) == curve_rows({"loss.two_people": [0.7, 0.5, 0.4]}, "loss")
    assert client.get(f"/api/training/runs/{run.pk}/left_out/").json()["table"]["total"] == 1
    grow(run, state=RunState.FAILED, curves={})
    assert client.get(address).json()["empty"] == "It ended before it had anything to show here."
    assert client_of().get(address).status_code == 403
    assert client.get(f"/api/training/runs/{uuid4()}/loss/").status_code == 404
