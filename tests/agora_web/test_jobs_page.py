"""The page of background jobs: filters, pages, retry and cancel."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from agora_web.accounts.models import User
from agora_web.pages.jobs import KINDS
from memory.models import Job, JobState
from memory.services.jobs import HANDLERS
from memory.tenancy import acting_as
from tests.scenes import make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> User:
    return make_person("op@example.org", roles=["operator"])


@pytest.fixture
def client(operator: User) -> Client:
    signed_in = Client()
    signed_in.force_login(operator)
    return signed_in


def make_job(person: User, kind: str = "memory.score_archive", state: str = JobState.PENDING, **fields: object) -> Job:
    with acting_as(person.pk):
        job: Job = Job.objects.create(kind=kind, key=uuid4().hex, owner=person, state=state, **fields)
    return job


def again(job: Job, person: User) -> Job:
    with acting_as(person.pk):
        found: Job = Job.objects.get(pk=job.pk)
    return found


def test_filters_by_state_and_kind_and_an_empty_answer_says_so(client: Client, operator: User) -> None:
    make_job(operator, error="first of all", state=JobState.FAILED)
    make_job(operator, "training.own_head", error="second of all")
    assert "first of all" in (page := client.get("/jobs/").content.decode())
    assert "second of all" in page
    page = client.get("/jobs/?state=failed").content.decode()
    assert ("first of all" in page, "second of all" in page) == (True, False)
    page = client.get("/jobs/?kind=training.own_head").content.decode()
    assert ("first of all" in page, "second of all" in page) == (False, True)
    assert "Nothing is of this kind and state now." in client.get("/jobs/?state=running").content.decode()


def test_more_than_a_page_is_reached_page_by_page(client: Client, operator: User) -> None:
    with acting_as(operator.pk):
        Job.objects.bulk_create(
            Job(kind="memory.erase", key=str(n), owner=operator, error=f"note {n:03}.", state=JobState.DONE,
                created_at=timezone.now() - timedelta(minutes=n)) for n in range(250)
        )  # fmt: skip
    pages = [client.get(f"/jobs/?page={number}").content.decode() for number in (1, 2, 3)]
    assert "Page 1 of 3, 250 jobs" in pages[0]
    assert [sum(f"note {n:03}." in page for n in range(250)) for page in pages] == [100, 100, 50]
    assert "page=2" in pages[0]
    assert "note 249." in pages[2]


def test_a_failed_job_is_tried_again_from_the_beginning(client: Client, operator: User) -> None:
    ana = make_person()
    job = make_job(ana, state=JobState.FAILED, attempts=5, error="The disk is full.", finished_at=timezone.now())
    answer = client.post("/jobs/?state=failed", {"retry": str(job.pk)})
    assert answer["Location"] == "/jobs/?state=failed"
    after = again(job, ana)
    assert (after.state, after.attempts, after.owner_id, after.finished_at) == (JobState.PENDING, 0, ana.pk, None)


def test_a_failed_job_whose_successor_waits_is_not_tried_twice(client: Client, operator: User) -> None:
    job = make_job(operator, state=JobState.FAILED)
    with acting_as(operator.pk):
        Job.objects.create(kind=job.kind, key=job.key, owner=operator)
    answer = client.post("/jobs/", {"retry": str(job.pk)}, follow=True)
    assert "The same waits already, or runs." in answer.content.decode()
    assert again(job, operator).state == JobState.FAILED


def test_a_waiting_job_is_cancelled_and_a_running_one_is_not(client: Client, operator: User) -> None:
    waiting, running = make_job(operator), make_job(operator, state=JobState.RUNNING)
    assert "It is cancelled." in client.post("/jobs/", {"cancel": str(waiting.pk)}, follow=True).content.decode()
    assert again(waiting, operator).state == JobState.CANCELLED
    answer = client.post("/jobs/", {"cancel": str(running.pk)}, follow=True)
    assert "Only a job that waits can be cancelled" in answer.content.decode()
    assert again(running, operator).state == JobState.RUNNING


def test_an_erasure_that_a_person_was_promised_cannot_be_cancelled(client: Client, operator: User) -> None:
    job = make_job(operator, "memory.erase", run_after=timezone.now() + timedelta(minutes=10))
    assert f'name="cancel" value="{job.pk}"' not in client.get("/jobs/").content.decode()
    client.post("/jobs/", {"cancel": str(job.pk)})
    assert again(job, operator).state == JobState.PENDING


@pytest.mark.parametrize("told", [{"retry": str(uuid4())}, {"cancel": "x"}, {}])
def test_a_job_that_is_not_there_is_a_sentence(client: Client, told: dict[str, str]) -> None:
    assert "There is no such job any more." in client.post("/jobs/", told, follow=True).content.decode()


def test_nobody_else_may_look_or_change() -> None:
    for roles in ((), ("labeller",), ("analyst",)):
        ana = make_person(f"{'-'.join(roles) or 'none'}@example.org", roles=roles)
        job = make_job(ana)
        signed_in = Client()
        signed_in.force_login(ana)
        assert signed_in.get("/jobs/").status_code == 403
        assert signed_in.post("/jobs/", {"cancel": str(job.pk)}).status_code == 403
        assert again(job, ana).state == JobState.PENDING


def test_every_kind_of_work_is_told_in_words() -> None:
    for module in ("agents.tasks", "memory.tasks", "training.tasks"):  # what a worker has loaded
        import_module(module)
    assert {kind for kind in HANDLERS if not kind.startswith("test.")} == set(KINDS)
