"""The operators' pages of the schedule and the rules."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from memory.models import Job
from memory.tenancy import acting_as
from tests.scenes import make_person
from training.models import Rules
from training.scheduling import rows
from training.scheduling.rows import RUN_NOW
from training.services.schedule import seed

pytestmark = pytest.mark.django_db
SEEDS = {
    "caretaking": {"task": "memory.sweep", "schedule": 10.0},
    "retraining": {"task": "training.retrain", "schedule": "0 3 * * *"},
    "re-scoring": {"task": "training.rescore_banks", "schedule": "0 3 * * *"},
}
TIMES = "/training/schedule/times/?task=training.retrain"
RULES = {
    "promote": "shadow", "confidence": "0.9", "most_lost": "0.01", "least_labels": "50", "retrain_after": "200",
    "share_uncertain": "0.5", "share_leaving": "0.2", "share_random": "0.3", "reviews_wanted": "2",
    "counterfactuals_a_day": "10",
}  # fmt: skip


@pytest.fixture
def client() -> Client:
    seed(SEEDS, {told["task"] for told in SEEDS.values()})
    signed_in = Client()
    signed_in.force_login(make_person("op@example.org", roles=["operator"], time_zone="Asia/Kolkata"))
    return signed_in


def row(task: str = "training.retrain") -> PeriodicTask:
    return PeriodicTask.objects.get(task=task)


def test_only_operators_and_administrators_come_in() -> None:
    for roles, status in (((), 403), (("labeller",), 403), (("analyst",), 403), (("operator",), 200),
                          (("administrator",), 200)):  # fmt: skip
        signed_in = Client()
        signed_in.force_login(make_person(f"{'-'.join(roles) or 'none'}@example.org", roles=roles))
        for path in ("/training/schedule/", "/training/schedule/rules/"):
            assert signed_in.get(path).status_code == status, (roles, path)
            if status == 403:
                assert signed_in.post(path, {"off": "training.retrain"}).status_code == 403


def test_before_beat_has_run_the_page_says_so() -> None:
    signed_in = Client()
    signed_in.force_login(make_person("op@example.org", roles=["operator"]))
    assert "Nothing is scheduled yet" in signed_in.get("/training/schedule/").content.decode()


def test_the_page_says_when_in_words_and_next_in_the_persons_zone(client: Client) -> None:
    page = client.get("/training/schedule/").content.decode()
    assert "At 03:00" in page
    assert "08:30" in page, "three o'clock UTC in Kolkata"
    assert "Always on" in page


def test_new_times_are_saved_in_the_zone_that_was_chosen(client: Client) -> None:
    assert 'value="0 3 * * *"' in client.get(TIMES).content.decode()
    answer = client.post(TIMES, {"cron": " 15  2 * * sun ", "zone": "Asia/Kolkata", "enabled": "on"}, follow=True)
    assert "“Retraining” is saved." in answer.content.decode()
    assert str(row().crontab) == "15 2 * * sun (m/h/dM/MY/d) Asia/Kolkata"


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"cron": "0 25 * * *", "zone": "UTC"}, "“25” does not name hours"),
        ({"cron": "", "zone": "UTC"}, "This field is required"),
        ({"cron": "0 2 * * *", "zone": "Europe/Rome"}, "not one of the available choices"),
    ],
)
def test_wrong_times_are_refused_with_a_sentence(client: Client, told: dict[str, str], sentence: str) -> None:
    answer = client.post(TIMES, told)
    assert answer.status_code == 400
    assert sentence in answer.content.decode()
    assert row().crontab.hour == "3"


def test_there_is_no_form_for_what_keeps_the_house_going_or_is_not_there(client: Client) -> None:
    for task in ("memory.sweep", "memory.summaries", "x"):
        assert client.get(f"/training/schedule/times/?task={task}").status_code == 404


def test_a_task_is_switched_off_and_on(client: Client) -> None:
    client.post("/training/schedule/", {"off": "training.retrain"})
    assert not row().enabled
    assert "not while it is off" in client.get("/training/schedule/").content.decode()
    client.post("/training/schedule/", {"on": "training.retrain"})
    assert row().enabled


def test_run_now_says_what_follows_and_is_undone(client: Client) -> None:
    answer = client.post("/training/schedule/", {"run": "training.retrain"}, follow=True)
    assert "handed to the workers" in answer.content.decode()
    answer = client.post("/training/schedule/", {"run": "training.rescore_banks"}, follow=True)
    page = answer.content.decode()
    assert "It begins in 60 seconds" in page
    assert "Undo" in page
    answer = client.post("/training/schedule/", {"undo": "training.rescore_banks"}, follow=True)
    assert "It does not run." in answer.content.decode()
    person = make_person("op2@example.org", roles=["operator"])
    with acting_as(person.pk):
        states = dict(Job.objects.filter(kind=RUN_NOW).values_list("key", "state"))
    assert states == {"training.retrain": "pending", "training.rescore_banks": "cancelled"}
    answer = client.post("/training/schedule/", {"run": "os.system"}, follow=True)
    assert "no such task" in answer.content.decode()


def test_rules_are_saved_and_hold(client: Client) -> None:
    assert "The rules hold." in client.post("/training/schedule/rules/", RULES, follow=True).content.decode()
    person = make_person("ana@example.org")
    with acting_as(person.pk):
        rules = Rules.objects.get()
    assert (rules.promote, rules.confidence, rules.retrain_after, rules.reviews_wanted) == ("shadow", 0.9, 200, 2)


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"share_random": "0.5"}, "make 1.20; they must make 1"),
        ({"share_uncertain": "0.8", "share_leaving": "0.2", "share_random": "0"}, "At least 0.1 must be at random"),
        ({"share_uncertain": "-0.1"}, "greater than or equal to 0"),
        ({"confidence": "1"}, "less than or equal to 0.999"),
        ({"confidence": "nan"}, "Enter a number"),
        ({"least_labels": "5"}, "greater than or equal to 20"),
        ({"reviews_wanted": "0"}, "greater than or equal to 1"),
        ({"promote": "always"}, "not one of the available choices"),
    ],
)
def test_rules_that_make_no_sense_are_refused(client: Client, told: dict[str, str], sentence: str) -> None:
    answer = client.post("/training/schedule/rules/", RULES | told)
    assert answer.status_code == 400
    assert sentence in answer.content.decode()


def test_an_alarm_stands_on_every_page_of_those_who_can_mend_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "SETTLING_S", -1.0)
    PeriodicTask.objects.update(last_run_at=timezone.now() - timedelta(minutes=7))
    for path in ("/training/schedule/", "/jobs/", "/memories/"):
        page = client.get(path).content.decode()
        assert "has been silent for 7 minutes" in page, path
        assert "Something does not run" in page, path
    other = Client()
    other.force_login(make_person("ana@example.org"))
    assert "has been silent" not in other.get("/memories/").content.decode()
    PeriodicTask.objects.update(last_run_at=timezone.now())
    assert "Something does not run" not in client.get("/jobs/").content.decode()
