"""A long conversation of two people comes in through the command line and is asked about, as a person would."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from agents.models import Agent
from agents.services import take_seat
from agora_web.accounts.models import User
from agora_web.first_run import make_demo_agents
from memory import encoding
from memory.engine.trajectories.locomo import evidence_ids
from memory.hot_banks import hot_banks
from memory.models import Memory, MemorySource
from memory.tenancy import acting_as

BUDGET = 200
QUESTIONS = 20


@pytest.fixture
def real_encoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The packaged encoder instead of the toy one, in a process that forgets its banks before and after."""
    monkeypatch.setattr(settings, "ENCODER_FACTORY", "memory.encoding.sentence_encoder")
    encoding.encoder.cache_clear()
    hot_banks.clear()
    yield
    encoding.encoder.cache_clear()
    hot_banks.clear()


def evidence_in_bank(user: User, agent: Agent) -> set[str]:
    """Ids, as the file names them, of the sides that the bank still holds."""
    with acting_as(user.pk):
        seat = take_seat(agent, user.pk, now=timezone.now())
        held = Memory.objects.filter(bank=seat.bank_id, state="held")
        sources = MemorySource.objects.filter(memory__in=held).select_related("turn")
        return {source.turn.external_ids.get(source.side, "") for source in sources}


@pytest.mark.data
@pytest.mark.flow
@pytest.mark.django_db(transaction=True, databases=["default", "owner", "worker"])
def test_a_long_conversation_is_imported_and_its_evidence_is_injected_for_most_questions(
    data_folder: Path, real_encoder: None, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data_folder / "locomo" / "locomo_dev.json"
    user = User.objects.create_superuser("reader@example.org", "pw", name="Reader")
    with acting_as(user.pk):
        scribe, _ = make_demo_agents()
        Agent.objects.filter(pk=scribe.pk).update(budget_memories=BUDGET, budget_tokens=40_000)
    encoding.encoder().encode(["warm"])
    started = time.perf_counter()
    call_command(
        "import_conversation", str(file), user=user.email, agent="Scribe", only="conv-42", stdout=io.StringIO()
    )
    seconds = time.perf_counter() - started
    held = evidence_in_bank(user, scribe)
    sample = next(one for one in json.loads(file.read_text()) if one["sample_id"] == "conv-42")
    asked = [
        question
        for question in sample["qa"]
        if question["category"] == 4
        and (ids := {name for text in question["evidence"] for name in evidence_ids(text)})
        and ids <= held
    ][:QUESTIONS]
    hits = 0
    for question in asked:
        out = io.StringIO()
        call_command("converse", user=user.email, agent="Scribe", message=question["question"], json=True, stdout=out)
        report = json.loads(out.getvalue())
        injected = {row["source_external_id"] for row in report["recalled"] if row["injected"]}
        hits += bool(injected & {name for text in question["evidence"] for name in evidence_ids(text)})
    with capsys.disabled():
        print(f"\nimported 629 sides into {BUDGET} memories in {seconds:.1f} s; evidence injected {hits}/{len(asked)}")
    assert len(held) <= BUDGET
    assert len(asked) == QUESTIONS
    assert hits >= 12
