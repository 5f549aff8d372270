"""The doctor: what it finds in a healthy AGORA, and the cure it names for each thing that is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from celery import current_app
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import OperationalError, connections
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask
from pytest_django import DjangoDbBlocker

from agora_web import doctor
from agora_web.accounts.models import User
from agora_web.doctor import processes, remembering, starting, storage
from agora_web.doctor.illness import Ill
from agora_web.local.locks import FileLock
from agora_web.local.paths import LocalPaths
from memory.encoding import encoder
from memory.engine.encoder import Space
from memory.models import Bank, EncoderSpace, Event, Memory
from tests.toy import ToyEncoder


@pytest.fixture
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The database, committed to in earnest: the doctor looks with several roles."""
    with django_db_blocker.unblock():
        yield
        PeriodicTask.objects.all().delete()
        Bank.objects.using("owner").filter(name="of another encoder").delete()
        EncoderSpace.objects.using("owner").filter(revision="0").delete()
        User.objects.using("owner").filter(email="doctors.patient@example.org").delete()
        for connection in connections.all(initialized_only=True):
            connection.close()


def change(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    """Let the settings have been told something else."""
    monkeypatch.setattr(settings, "AGORA", type(settings.AGORA)(**{**vars(settings.AGORA), **fields}))


def test_a_healthy_database_passes_every_check_on_it(database: None) -> None:
    assert storage.database().startswith("PostgreSQL 18")
    assert "up to date" in storage.schema()
    assert "pgvector" in storage.extension()
    assert "show nothing without a user" in storage.row_level_security()
    assert storage.disk()


def test_the_round_trip_leaves_nothing_behind(database: None) -> None:
    tables = (User, Bank, Memory, Event)
    before = [model.objects.using("owner").count() for model in tables]
    assert "written, recalled and deleted" in remembering.round_trip()
    assert [model.objects.using("owner").count() for model in tables] == before


def test_a_memory_that_is_not_recalled_is_a_failure(database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "QUESTION", "Where do pelicans sleep?")
    with pytest.raises(Ill, match="not recalled"):
        remembering.round_trip()


def test_a_table_without_policies_is_named(database: None) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute("CREATE TABLE diary (words text)")
    try:
        with pytest.raises(Ill, match="diary") as ill:
            storage.row_level_security()
    finally:
        with connections["owner"].cursor() as cursor:
            cursor.execute("DROP TABLE diary")
    assert "migrate" in ill.value.cure


def test_rows_that_show_without_a_user_are_named(database: None) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute("CREATE TABLE diary (words text)")
        cursor.execute("INSERT INTO diary VALUES ('dear')")
        cursor.execute("ALTER TABLE diary ENABLE ROW LEVEL SECURITY")
        cursor.execute("ALTER TABLE diary FORCE ROW LEVEL SECURITY")
        cursor.execute("CREATE POLICY everyone ON diary USING (true)")
    try:
        with pytest.raises(Ill, match="diary"):
            storage.row_level_security()
    finally:
        with connections["owner"].cursor() as cursor:
            cursor.execute("DROP TABLE diary")


def test_a_bank_of_another_encoder_is_found(database: None) -> None:
    assert "as in every bank" in remembering.encoder_width()
    person = User.objects.using("owner").create(email="doctors.patient@example.org")
    space = EncoderSpace.objects.using("owner").create(model="older", revision="0", width=32)
    Bank.objects.using("owner").create(owner=person, name="of another encoder", space=space)
    with pytest.raises(Ill, match="older") as ill:
        remembering.encoder_width()
    assert "AGORA_ENCODER" in ill.value.cure


def test_an_encoder_that_lies_about_its_width_is_found(database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Narrow(ToyEncoder):
        space = Space("toy", "1", 63)

    monkeypatch.setattr(encoder(), "inner", Narrow())
    with pytest.raises(Ill, match="63 wide"):
        remembering.encoder_width()


def test_beat_is_alive_while_it_notes_its_runs(database: None) -> None:
    with pytest.raises(Ill, match="not scheduled anything"):
        processes.beat()
    every = IntervalSchedule.objects.create(every=10, period="seconds")
    task = PeriodicTask.objects.create(name="sweep", task="memory.sweep", interval=every, last_run_at=timezone.now())
    assert "seconds ago" in processes.beat()
    PeriodicTask.objects.filter(pk=task.pk).update(last_run_at=timezone.now() - timedelta(minutes=7))
    with pytest.raises(Ill, match="7 minutes ago"):
        processes.beat()


def test_without_workers_each_line_says_how_to_start_one(services: None) -> None:
    assert processes.broker()
    for queue in ("default", "training"):
        with pytest.raises(Ill, match=queue) as ill:
            processes.worker(queue)
        assert f"-Q {queue}" in ill.value.cure


def test_a_worker_is_found_by_the_queue_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    class Inspect:
        def active_queues(self) -> dict[str, list[dict[str, str]]]:
            return {"default@here": [{"name": "default"}]}

    monkeypatch.setattr(current_app.control, "inspect", lambda timeout: Inspect())
    assert "default@here" in processes.worker("default")
    with pytest.raises(Ill, match="training"):
        processes.worker("training")


def test_a_broker_that_is_away_is_a_finding_with_a_cure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    away = f"redis+socket://{tmp_path}/nobody.sock"
    read = current_app.connection_for_read
    for name in ("connection_for_read", "connection_for_write"):
        monkeypatch.setattr(current_app, name, lambda url=None, **more: read(away))
    with pytest.raises(Ill) as ill:
        processes.broker()
    assert "make run" in ill.value.cure


class Models(BaseHTTPRequestHandler):
    """Lists one model to who has the key."""

    def do_GET(self) -> None:
        allowed = self.headers["Authorization"] == "Bearer key"
        body = json.dumps({"data": [{"id": "tiny"}]}).encode() if self.path == "/v1/models" else b"<html>"
        self.send_response(200 if allowed else 401)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture
def llm_url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Models)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_language_model_is_asked_for_its_models(monkeypatch: pytest.MonkeyPatch, llm_url: str) -> None:
    change(monkeypatch, llm_base_url=llm_url, llm_api_key="key")
    assert "tiny" in processes.language_model()
    change(monkeypatch, llm_base_url=f"{llm_url}/v1/", llm_api_key="key", llm_model="tiny")
    assert "tiny" in processes.language_model()


@pytest.mark.parametrize(
    ("told", "cause", "cure"),
    [
        ({"llm_api_key": "wrong"}, "401", "AGORA_LLM_API_KEY"),
        ({"llm_api_key": "key", "llm_model": "huge"}, "huge", "AGORA_LLM_MODEL"),
        ({"llm_api_key": "key", "llm_base_url": "{}/elsewhere"}, "lists no models", "AGORA_LLM_BASE_URL"),
        ({"llm_base_url": "http://127.0.0.1:9/v1"}, "lists no models", "AGORA_LLM_BASE_URL"),
    ],
)
def test_a_language_model_that_does_not_serve_has_its_cure(
    monkeypatch: pytest.MonkeyPatch, llm_url: str, told: dict[str, str], cause: str, cure: str
) -> None:
    told = {"llm_base_url": f"{llm_url}/v1"} | {name: value.format(llm_url) for name, value in told.items()}
    change(monkeypatch, **told)
    with pytest.raises(Ill, match=cause) as ill:
        processes.language_model()
    assert cure in ill.value.cure


def test_the_demo_model_that_is_not_up_is_said_so() -> None:
    with pytest.raises(Ill, match="demo model") as ill:
        processes.language_model()
    assert "AGORA_LLM_BASE_URL" in ill.value.cure


def test_the_command_prints_a_line_a_check_and_fails_when_one_did(database: None) -> None:
    out = StringIO()
    with pytest.raises(CommandError, match="of 12 checks failed") as error:
        call_command("doctor", stdout=out)
    assert error.value.returncode == 1
    lines = out.getvalue().splitlines()
    assert len(lines) == len(doctor.checks())
    assert all(line.startswith(("ok   ", "FAIL ")) for line in lines)
    assert all(" – " in line for line in lines if line.startswith("FAIL"))
    assert {line.split(":")[0] for line in lines if line.startswith("ok")} >= {"ok   database", "ok   memory"}


def test_the_command_prints_json(database: None) -> None:
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("doctor", "--json", stdout=out)
    report = json.loads(out.getvalue())
    assert report["ok"] is False
    assert [check["name"] for check in report["checks"]] == [check.name for check in doctor.checks()]
    assert all(check["cure"] for check in report["checks"] if not check["ok"])


def test_checks_that_need_the_database_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> str:
        raise Ill("PostgreSQL does not answer.", "Start it.")

    def never() -> str:
        raise AssertionError("it was looked at")

    monkeypatch.setattr(
        doctor, "checks",
        lambda: [
            doctor.Check("database", away), doctor.Check("memory", never, needs_database=True),
            doctor.Check("disk", storage.disk),
        ],
    )  # fmt: skip
    found = {finding.name: finding for finding in doctor.diagnose()}
    assert not found["memory"].ok
    assert found["memory"].cure == "Mend the database first."
    assert found["disk"].ok


def late(answers_after: int) -> Callable[[], str]:
    """A check that fails so many times first."""
    asked = iter(range(answers_after + 1))

    def look() -> str:
        if next(asked, answers_after) < answers_after:
            raise Ill("Beat has not scheduled anything yet.", "Start it.")
        return "Beat noted a run."

    return look


def test_what_comes_late_is_waited_for_while_agora_is_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "still_s", lambda: 60.0)
    monkeypatch.setattr(doctor, "checks", lambda: [doctor.Check("beat", late(3), comes_late=True)])
    told: list[str] = []
    slept: list[float] = []
    (finding,) = doctor.diagnose(told.append, sleep=slept.append)
    assert finding.ok
    assert told == ["beat"]
    assert len(slept) == 3


@pytest.mark.parametrize(
    ("check", "left"),
    [
        (doctor.Check("beat", late(9), comes_late=True), (0.0,)),
        (doctor.Check("beat", late(9), comes_late=True), (3.0, 2.0, 1.0, 0.0)),
        (doctor.Check("disk", late(1)), (60.0,)),
    ],
    ids=["AGORA has run for long", "its time to start runs out", "it is there from the start"],
)
def test_nothing_is_waited_for_that_should_be_there(
    monkeypatch: pytest.MonkeyPatch, check: doctor.Check, left: tuple[float, ...]
) -> None:
    answers = iter(left)
    monkeypatch.setattr(starting, "still_s", lambda: next(answers))
    monkeypatch.setattr(doctor, "checks", lambda: [check])
    (finding,) = doctor.diagnose(sleep=lambda seconds: None)
    assert not finding.ok
    assert finding.cure == "Start it."


def test_agora_is_starting_for_a_while_after_its_first_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    paths = LocalPaths(tmp_path)
    paths.make()
    monkeypatch.setattr(settings, "PATHS", paths)
    assert starting.still_s() == 0.0
    paths.up_pid.write_text("process 1\n")
    began = paths.up_pid.stat().st_mtime
    assert starting.still_s(lambda: began) == 0.0, "nobody holds the lock: it was killed"
    with FileLock(paths.up_lock).held():
        assert starting.still_s(lambda: began + 10) == pytest.approx(starting.TAKES_S - 10)
        assert starting.still_s(lambda: began + 1000) == 0.0
        paths.up_pid.unlink()
        assert starting.still_s() == 0.0


def test_a_database_that_is_away_is_a_finding_with_a_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        def cursor(self) -> None:
            raise OperationalError("connection refused\nis it running?")

    monkeypatch.setattr(storage, "connection", Away())
    with pytest.raises(Ill, match=r"connection refused\)") as ill:
        storage.database()
    assert "make run" in ill.value.cure
    change(monkeypatch, database_url="postgresql://somewhere/agora")
    with pytest.raises(Ill) as ill:
        storage.database()
    assert "DATABASE_URL" in ill.value.cure
