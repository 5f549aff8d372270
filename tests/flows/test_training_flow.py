"""A training run that is killed, delivered twice, or meets a full disk, with real processes.

The champion serves on, and the pages say what is.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.flows.first_start import FirstStart
from tests.flows.running_agora import ROOT, RunningAgora, eventually
from tests.flows.visitor import _CSRF, Visitor

pytestmark = pytest.mark.flow
HOLD = 4711  # an advisory lock on which the training worker waits in mid-training


@pytest.fixture(scope="module")
def judged(light: RunningAgora, light_start: FirstStart) -> RunningAgora:
    """Running, with a person whose memories are judged."""
    light.start()
    made = light.python("tests.flows.make_judged", light_start.people[20]["email"])
    assert made["labels"] == 80
    return light


@pytest.fixture
def operator(judged: RunningAgora, light_start: FirstStart) -> Visitor:
    """The administrator, at the doors."""
    if not judged.running:
        judged.start()
    return Visitor(judged.address, light_start.people[0]["session"])


def page(operator: Visitor, path: str, form: dict[str, str] | None = None) -> tuple[str, str]:
    """A page's address after redirects, and its text; with a form it is posted."""
    body = None if form is None else urllib.parse.urlencode({**form, "csrfmiddlewaretoken": _CSRF}).encode()
    headers = {"Cookie": operator._cookies, "Referer": operator.address}
    with urllib.request.urlopen(
        urllib.request.Request(operator.address + path, data=body, headers=headers), timeout=60
    ) as answer:
        return str(answer.url), answer.read().decode()


def ask(operator: Visitor) -> str:
    """Press "Train now"; returns the run's id."""
    found = re.search(r"/training/runs/([0-9a-f-]{36})/", page(operator, "/training/", {"seed": "1"})[0])
    assert found is not None
    return found[1]


def state(operator: Visitor, run: str) -> Any:
    return operator.get(f"/api/training/runs/{run}/")


def ended(operator: Visitor, run: str) -> Any:
    return eventually(lambda: (now := state(operator, run))["over"] and now, 120)


def call(agora: RunningAgora, task: str, *words: str) -> None:
    """Deliver a task as the broker does."""
    argv = [sys.executable, "-m", "celery", "-A", "agora_web.celery", "call", task, *words]
    subprocess.run(argv, cwd=ROOT, env=agora.environment, check=True, capture_output=True, timeout=120)


def serves_on(agora: RunningAgora, operator: Visitor) -> None:
    """Nothing but what AGORA ships serves, and a turn is answered and remembered."""
    said = operator.say(operator.begin("Scribe"), "My umbrella is yellow.")
    assert said["state"] == "done"
    used = "SELECT DISTINCT adapter FROM memory_memory WHERE text = 'My umbrella is yellow.'"
    assert str(agora.one(used, {})).startswith("shipped-")


@contextmanager
def held_in_mid_training(agora: RunningAgora) -> Iterator[psycopg.Connection[Any]]:
    """The training worker stops between two steps of training, until this lets go."""
    with agora.database() as holding:
        holding.execute("SELECT pg_advisory_lock(%s)", [HOLD])
        holding.execute(
            "CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN PERFORM pg_advisory_xact_lock({HOLD}); RETURN NEW; END $$"
        )
        holding.execute(
            "CREATE TRIGGER wait_here BEFORE UPDATE ON training_trainingrun FOR EACH ROW "
            "WHEN (NEW.stage = 'train' AND NEW.progress > 0.4) EXECUTE FUNCTION wait_here()"
        )
        yield holding


def let_go(agora: RunningAgora) -> None:
    with agora.database() as owner:
        owner.execute("DROP TRIGGER wait_here ON training_trainingrun")
        owner.execute("DROP FUNCTION wait_here()")


JOB = "SELECT {} FROM memory_job WHERE kind = 'training.run' AND key = %(run)s"


def test_killed_in_mid_training_a_run_is_taken_up_from_its_snapshot_with_the_same_weights(
    judged: RunningAgora, operator: Visitor
) -> None:
    whole = ended(operator, ask(operator))
    assert whole["state"] == "done", whole
    with held_in_mid_training(judged):
        run = ask(operator)
        about = {"run": run}
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        eventually(lambda: judged.one(waiting, {}), 120)
        frozen = state(operator, run)["snapshot"]["digest"]
        judged.kill("training")
        assert judged.ended() == 128 + signal.SIGKILL
    judged.start()
    let_go(judged)
    seen = state(operator, run)
    assert (seen["state"], seen["stage"], seen["over"], seen["challenger"]) == ("running", "train", False, None)
    serves_on(judged, operator)
    with judged.database() as owner:
        owner.execute("UPDATE memory_job SET lease_until = now() - interval '1 second' WHERE key = %(run)s", about)
    assert "no sign of life" in page(operator, f"/training/runs/{run}/")[1]
    assert state(operator, run)["silent"]
    call(judged, "memory.run_due_jobs")
    done = ended(operator, run)
    assert (done["state"], done["error"]) == ("done", "")
    assert done["snapshot"]["digest"] == frozen
    assert judged.one(JOB.format("attempts"), about) == 2
    same = "SELECT count(DISTINCT weights) FROM memory_adapterversion WHERE version IN (%(one)s, %(other)s)"
    assert judged.one(same, {"one": whole["challenger"], "other": done["challenger"]}) == 1
    serves_on(judged, operator)


def test_delivered_twice_a_run_is_carried_out_once(judged: RunningAgora, operator: Visitor) -> None:
    with held_in_mid_training(judged):
        run = ask(operator)
        job = str(judged.one(JOB.format("id"), {"run": run}))
        eventually(lambda: state(operator, run)["stage"] == "train", 120)
        call(judged, "memory.run_job", "--args", f'["{job}"]', "--queue", "default")  # another worker gets it too
        call(judged, "memory.run_due_jobs")
    let_go(judged)
    done = ended(operator, run)
    assert done["state"] == "done"
    assert judged.one(JOB.format("attempts"), {"run": run}) == 1
    made = "SELECT count(*) FROM memory_adapterversion WHERE manifest->>'run' = %(run)s"
    assert judged.one(made, {"run": run}) == 1


@contextmanager
def full_disk(agora: RunningAgora) -> Iterator[None]:
    """No room for what is kept of snapshots: every write there goes to /dev/full, where the kernel says ENOSPC.

    A small disk of its own would need the right to mount one, which a plain container has not.
    """
    with agora.database() as owner:
        owner.execute("DELETE FROM training_trainingrun")
        owner.execute("DELETE FROM training_snapshot")
        owner.execute("TRUNCATE training_snapshot CASCADE")
        found = owner.execute(
            "SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE relname = 'training_snapshot'"
        ).fetchone()
    assert found is not None
    file = Path(agora.paths.postgres_data) / found[0]
    beside = file.with_name(f"{file.name}.beside")
    assert file.stat().st_size == 0
    file.rename(beside)
    file.symlink_to("/dev/full")
    try:
        yield
    finally:
        file.unlink()
        beside.rename(file)


def test_a_full_disk_leaves_a_sentence_and_the_run_goes_on_once_there_is_room(
    judged: RunningAgora, operator: Visitor
) -> None:
    with full_disk(judged):
        run = ask(operator)
        seen = eventually(lambda: (now := state(operator, run))["error"] and now, 120)
        assert "disk of the database is full" in seen["error"]
        assert seen["state"] in ("pending", "running"), "it waits, or is being tried again by now"
        assert (seen["challenger"], seen["snapshot"]) == (None, None)
        assert "disk of the database is full" in page(operator, f"/training/runs/{run}/")[1]
        assert "disk of the database is full" in page(operator, "/jobs/")[1]
        serves_on(judged, operator)
    with judged.database() as owner:
        owner.execute("UPDATE memory_job SET run_after = now() WHERE key = %(run)s", {"run": run})
    call(judged, "memory.run_due_jobs")
    done = ended(operator, run)
    assert (done["state"], done["error"]) == ("done", "")
    eventually(lambda: judged.one(JOB.format("state"), {"run": run}) == "done", 30)  # the job's row follows the run's
