"""kill -9 in mid-turn, of each process in turn: what was said is kept, and the bank is what its ledger says."""

from __future__ import annotations

import signal
import subprocess
import sys
from itertools import count
from typing import Any

import pytest

from tests.flows.first_start import FirstStart
from tests.flows.running_agora import ROOT, RunningAgora, eventually
from tests.flows.visitor import Visitor
from tests.scripted_llm import Script, ScriptedLlm

pytestmark = pytest.mark.flow
WORDS = [f"word{number}" for number in range(400)]
SLOW = Script(text=" ".join(WORDS), delay_s=0.1)
SCRIPTED = "SmolLM"  # its words come from the server that AGORA_LLM_BASE_URL names
_people = count(1)


@pytest.fixture
def agora(light: RunningAgora, llm: ScriptedLlm) -> RunningAgora:
    """Running when the test begins; each test kills a part of it."""
    llm.reset()
    if not light.running:
        light.start()
    return light


@pytest.fixture
def visitor(agora: RunningAgora, light_start: FirstStart) -> Visitor:
    """Somebody new each time."""
    return Visitor(agora.address, light_start.people[next(_people)]["session"])


def run_into_a_slow_turn(agora: RunningAgora, visitor: Visitor, llm: ScriptedLlm) -> tuple[str, str, str]:
    """Two turns that are done and one in mid-stream; returns conversation, running turn, its saved text."""
    conversation = visitor.begin(SCRIPTED)
    assert visitor.say(conversation, "My bicycle is called Quicksilver.")["state"] == "done"
    assert visitor.say(conversation, "I keep it in the shed behind the house.")["state"] == "done"
    llm.queue(SLOW)
    with visitor.socket(conversation) as chat:
        turn = chat.send_message("Tell me a very long story about a bicycle.")
        chat.until_said(turn, 40)
        saved = eventually(lambda: visitor.turn(turn)["action"]["text"])
    assert visitor.turn(turn)["state"] == "running"
    return conversation, turn, saved


def found_by_the_sweep(visitor: Visitor, turn: str) -> Any:
    """The turn once beat's sweep has ended it: nobody looks on."""
    return eventually(lambda: (now := visitor.turn(turn))["state"] == "interrupted" and now, 60)


def found_by_a_page(visitor: Visitor, conversation: str, turn: str) -> Any:
    """The turn as a page sees it that comes back and follows it: what was streamed, then the end."""
    with visitor.socket(conversation) as chat:
        chat.send(type="follow", turn=turn, last_seq="")
        ended = chat.until_ended(turn)
    streamed = "".join(frame["text"] for frame in chat.frames if frame["type"] == "delta")
    assert " ".join(WORDS).startswith(streamed.strip())
    return ended


@pytest.mark.parametrize("victim", ["web", "worker", "postgres", "valkey"])
def test_a_turn_cut_off_by_kill_9_keeps_what_was_said_and_can_be_tried_again(
    agora: RunningAgora, visitor: Visitor, llm: ScriptedLlm, victim: str
) -> None:
    conversation, turn, saved = run_into_a_slow_turn(agora, visitor, llm)

    agora.kill(victim)
    assert agora.ended() == 128 + signal.SIGKILL
    assert not agora.processes()
    agora.start()

    cut_off = found_by_the_sweep(visitor, turn) if victim == "web" else found_by_a_page(visitor, conversation, turn)
    assert cut_off["state"] == "interrupted"
    assert cut_off["observation"]["text"] == "Tell me a very long story about a bicycle."
    said = cut_off["action"]["text"]
    assert said.startswith(saved)
    assert said.split() == WORDS[: len(said.split())]
    assert cut_off["error"]["retry"] is True
    assert cut_off["error"]["sentence"]
    assert agora.python("tests.flows.compare_banks")["banks"] >= 2

    with visitor.socket(conversation) as chat:
        chat.send(type="retry", turn=turn)
        again = chat.until_ended(turn)
    assert again["state"] == "done", again["error"]
    assert again["action"]["text"].startswith("A scripted reply")
    after = visitor.say(conversation, "Where is Quicksilver, my bicycle?")
    assert after["state"] == "done"
    assert after["ordinal"] == 4

    page = visitor.get(f"/api/conversations/{conversation}/")
    assert [one["state"] for one in page["turns"]] == ["done"] * 4
    assert page["turns"][0]["observation"]["text"] == "My bicycle is called Quicksilver."
    agora.python("tests.flows.compare_banks")


def wake_the_worker(agora: RunningAgora) -> None:
    """What beat sends once a minute."""
    argv = [sys.executable, "-m", "celery", "-A", "agora_web.celery", "call", "memory.run_due_jobs"]
    subprocess.run(argv, cwd=ROOT, env=agora.environment, check=True, capture_output=True, timeout=60)


def test_a_job_whose_worker_is_killed_is_done_by_the_next_one(agora: RunningAgora, visitor: Visitor) -> None:
    told = visitor.say(visitor.begin(SCRIPTED), "The code of the safe is 4711.")
    memory = next(row["memory"] for row in told["remembered"] if row["side"] == "observation")
    visitor.post(f"/api/memories/{memory}/forget/")
    job = "SELECT state FROM memory_job WHERE kind = 'memory.erase' AND key = %(memory)s"
    about = {"memory": memory}
    assert agora.one(job, about) == "pending"
    with agora.database() as holding, holding.transaction():
        # The undo window is over, and the worker finds the memory held by somebody else: it waits in mid-job.
        with agora.database() as owner:
            owner.execute("UPDATE memory_memory SET forgotten_until = now() WHERE id = %(memory)s", about)
            owner.execute("UPDATE memory_job SET run_after = now() WHERE key = %(memory)s", about)
        holding.execute("SELECT 1 FROM memory_memory WHERE id = %(memory)s FOR UPDATE", about)
        wake_the_worker(agora)
        eventually(lambda: agora.one(job, about) == "running", 90)
        agora.kill("worker")
        agora.ended()
        holding.close()
    agora.start()
    assert agora.one(job, about) == "running", "nobody has it now, but its lease says so"
    with agora.database() as owner:
        owner.execute("UPDATE memory_job SET lease_until = now() WHERE key = %(memory)s", about)
    wake_the_worker(agora)
    eventually(lambda: agora.one(job, about) == "done", 90)
    assert agora.one("SELECT attempts FROM memory_job WHERE key = %(memory)s", about) == 2
    assert agora.one("SELECT count(*) FROM memory_memory WHERE id = %(memory)s", about) == 0
    agora.python("tests.flows.compare_banks")
