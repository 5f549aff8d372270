"""An agent's own head: learned from its person's words, only if they rank better by it, undone like any change."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from agora_web.accounts.models import User
from agora_web.celery import app
from memory import adapters
from memory.adapters import adapter_named, adapter_of, learned_for
from memory.models import AdapterVersion, Bank, Job, Memory
from memory.services import memories
from memory.services.jobs import HANDLERS
from memory.services.rebudget import undo_change
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk
from training.services import labels, own_heads
from training.services.own_heads import LEAST, learn, learning_of

NOW = datetime(2026, 5, 3, 9, tzinfo=UTC)
PLACES = ("Porto", "Ghent", "Riga", "Oslo", "Graz", "Lyon", "Perth", "Quito", "Turin", "York", "Cork", "Kyoto", "Tunis",
          "Izmir", "Accra", "Dakar")  # fmt: skip


@pytest.fixture
def odd(desk: Desk) -> Desk:
    """A person who finds questions worth keeping and facts not: the other way round than usual."""
    for number, place in enumerate(PLACES):
        desk.tell(
            f"My flight {number}00{number} to {place} leaves on {number + 1} March at 7:15 and costs 80 euros", ""
        )
        desk.tell(f"How do you feel about {place} today?", "")
    return desk


def judge(desk: Desk, word_of: Any, count: int = 1000) -> None:
    with desk.acting():
        for memory in list(Memory.objects.filter(bank=desk.bank_id).order_by("written_seq"))[:count]:
            labels.say(memory.pk, word_of(memory.text), by=desk.person.pk, now=NOW)


def questions(text: str) -> str:
    return "useful" if "?" in text else "wrong"


def bank_of(desk: Desk) -> Bank:
    return Bank.objects.select_related("space").get(pk=desk.bank_id)


def importances(desk: Desk) -> dict[str, float]:
    with desk.acting():
        return dict(Memory.objects.filter(bank=desk.bank_id).values_list("text", "importance"))


def test_what_a_person_finds_worth_keeping_is_learned_and_the_bank_is_scored_by_it(odd: Desk) -> None:
    before = importances(odd)
    judge(odd, questions)
    with odd.acting():
        assert learn(bank_of(odd), now=NOW) is not None
        bank = bank_of(odd)
        assert bank.adapter == f"own-{bank.pk.hex[:8]}-1"
        assert set(Memory.objects.filter(bank=bank).values_list("adapter", flat=True)) == {bank.adapter}
        assert learning_of(bank).version == bank.adapter
    after = importances(odd)
    asked = [text for text in after if "?" in text]
    told = [text for text in after if "?" not in text]
    assert max(before[text] for text in asked) < min(before[text] for text in told)
    assert sum(after[a] > after[t] for a in asked for t in told) > 0.9 * len(asked) * len(told)
    odd.agree()
    odd.tell("And how is Vilnius?", "")
    assert odd.memory("And how is Vilnius?").adapter == bank.adapter


def test_the_change_is_undone_like_any_other(odd: Desk) -> None:
    before = importances(odd)
    judge(odd, questions)
    with odd.acting():
        applied = learn(bank_of(odd), now=NOW)
        assert applied is not None
        undo_change(odd.bank_id, applied, now=NOW)
        assert bank_of(odd).adapter == ""
    assert importances(odd) == pytest.approx(before)


def test_a_second_learning_starts_from_the_shared_adapter_so_that_no_word_counts_twice(odd: Desk) -> None:
    judge(odd, questions)
    with odd.acting():
        learn(bank_of(odd), now=NOW)
        learn(bank_of(odd), now=NOW)
        first, second = (adapter_named(version) for version in reversed(learned_for(odd.bank_id)))
        assert first.version != second.version
        for kind, prior in first.importance.priors.items():
            assert prior.weights == pytest.approx(second.importance.priors[kind].weights, abs=1e-4)
        parents = AdapterVersion.objects.filter(manifest__bank=str(odd.bank_id)).values_list("parent", flat=True)
        assert set(parents) == {adapters.serving_adapter().version}


def test_when_the_words_are_taken_back_the_shared_adapter_serves_again(odd: Desk) -> None:
    judge(odd, questions)
    with odd.acting():
        learn(bank_of(odd), now=NOW)
        for memory in list(Memory.objects.filter(bank=odd.bank_id).values_list("pk", flat=True)):
            labels.unsay(memory, by=odd.person.pk, now=NOW)
        assert learn(bank_of(odd), now=NOW) is not None
        assert bank_of(odd).adapter == ""
        assert learn(bank_of(odd), now=NOW) is None
        scored = set(Memory.objects.filter(bank=odd.bank_id).values_list("adapter", flat=True))
    assert scored == {adapters.serving_adapter().version}
    after = importances(odd)
    assert max(after[text] for text in after if "?" in text) < min(after[text] for text in after if "?" not in text)


@pytest.mark.parametrize("seed", range(5))
def test_words_at_random_teach_nothing(odd: Desk, seed: int) -> None:
    dice = random.Random(seed)
    judge(odd, lambda _: dice.choice(["useful", "wrong"]))
    with odd.acting():
        applied = learn(bank_of(odd), now=NOW)
        assert (applied is None) == (bank_of(odd).adapter == "")
        if applied is None:
            assert learning_of(bank_of(odd)).version == ""


def test_few_words_and_words_that_all_say_the_same_teach_nothing_and_say_so(odd: Desk) -> None:
    judge(odd, questions, LEAST - 3)
    with odd.acting():
        assert learn(bank_of(odd), now=NOW) is None
        found = learning_of(bank_of(odd))
        assert (found.labels, found.missing, found.version) == (LEAST - 3, 3, "")
    judge(odd, lambda _: "useful")
    with odd.acting():
        assert learn(bank_of(odd), now=NOW) is None
        found = learning_of(bank_of(odd))
        assert (found.missing, found.one_sided) == (0, True)


def test_an_erased_memory_is_learned_from_no_more(odd: Desk) -> None:
    judge(odd, questions, LEAST)
    with odd.acting():
        memories.erase(Memory.objects.filter(bank=odd.bank_id).earliest("written_seq").pk, now=NOW)
    with odd.acting():
        assert learning_of(bank_of(odd)).labels == LEAST - 1
        assert learn(bank_of(odd), now=NOW) is None


def test_a_word_asks_for_one_job_however_many_follow(odd: Desk) -> None:
    judge(odd, questions, 5)
    with odd.acting():
        memory = Memory.objects.filter(bank=odd.bank_id).earliest("written_seq")
        labels.unsay(memory.pk, by=odd.person.pk, now=NOW)
        assert Job.objects.filter(kind=own_heads.JOB, key=str(odd.bank_id)).count() == 1


def test_the_job_learns_as_the_owner_and_a_bank_that_is_gone_is_no_error(odd: Desk, stranger: User) -> None:
    judge(odd, questions)
    with odd.acting():
        own_heads.learn_own_head(str(odd.bank_id))
        assert bank_of(odd).adapter.startswith("own-")
    with acting_as(stranger.pk):
        own_heads.learn_own_head(str(odd.bank_id))


def test_another_process_reads_a_learned_adapter_from_its_row_and_damage_gives_way_to_the_shared_one(
    odd: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    judge(odd, questions)
    with odd.acting():
        learn(bank_of(odd), now=NOW)
        version = bank_of(odd).adapter
        one = adapter_named(version)
        adapters._at_hand.clear()
        again = adapter_named(version)
        for kind, prior in one.importance.priors.items():
            assert prior.weights.tolist() == again.importance.priors[kind].weights.tolist()
        adapters._at_hand.clear()
        AdapterVersion.objects.filter(version=version).update(weights=b"no weights")
        assert adapter_of(bank_of(odd)).version == adapters.serving_adapter().version
    assert "served by the usual adapter" in caplog.text


def test_a_worker_knows_how_to_do_the_job() -> None:
    app.loader.import_default_modules()
    assert HANDLERS[own_heads.JOB] is own_heads.learn_own_head
