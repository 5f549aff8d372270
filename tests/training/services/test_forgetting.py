"""What is erased leaves the snapshots, and what had learned from it is named and learned anew without it."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from django.conf import settings

from agora_web.accounts.models import User
from memory.adapters import learned_for, serving_adapter, shipped_adapter
from memory.models import AdapterVersion, Bank, Conversation, Erasure, Job, Memory
from memory.receipts import Receipt, receipts
from memory.services import conversations, memories
from memory.services.jobs import NotYet
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk
from tests.training.services.challengers import ended_run, stored, upside_down, work
from tests.training.services.test_own_heads import PLACES, judge, questions
from training.learner.dataset import Dataset
from training.models import Label, Promotion, RunState, Snapshot, TrainingRun
from training.services import falling_back, forgetting, labels, own_heads
from training.services.promotions import after_run

NOW = datetime(2026, 5, 3, 9, tzinfo=UTC)
WORDS = ["The boiler code is 4711-B", "My sister lives in Porto", "I moved to Ghent"]


@pytest.fixture
def told(desk: Desk, operator: User) -> Desk:
    for text in WORDS:
        desk.tell(text, "")
    return desk


def ids(desk: Desk) -> list[UUID]:
    return [desk.memory(text).pk for text in WORDS]


def frozen(memories: list[UUID]) -> Snapshot:
    """A snapshot with a rating of each memory, and one comparison of the first with the last."""
    rows = [*memories, memories[0]]
    size = len(rows)
    data, digest = Dataset(
        z=np.arange(2.0 * size).reshape(-1, 2), value=np.ones(size), weight=np.ones(size),
        kind=np.zeros(size, dtype=int), group=np.zeros(size, dtype=int),
        other=np.array([-1] * len(memories) + [len(memories) - 1]),
        memory=np.array([list(one.bytes) for one in rows], dtype=np.uint8),
    ).packed()  # fmt: skip
    return Snapshot.objects.using("worker").create(digest=digest, rows=data, memories=[str(one) for one in memories])


def arrays(snapshot: Snapshot) -> dict[str, Any]:
    now = Snapshot.objects.using("worker").get(pk=snapshot.pk)
    assert hashlib.sha256(bytes(now.rows)).hexdigest() == now.digest
    with np.load(BytesIO(bytes(now.rows))) as archive:
        return {name: archive[name] for name in archive.files} | {"erased": now.erased, "memories": now.memories}


def erased(desk: Desk, memory: UUID) -> None:
    with desk.acting():
        memories.erase(memory, now=NOW)


def receipts_of(desk: Desk) -> list[Receipt]:
    with desk.acting():
        return receipts()


# --- receipts -------------------------------------------------------------------------------------------------------


def test_an_erased_memory_leaves_a_receipt_that_counts_and_holds_nothing_of_it(told: Desk) -> None:
    gone = ids(told)[0]
    with told.acting():
        labels.say(gone, "useful", by=told.person.pk, now=NOW)
    told.ask("What is the boiler code?")
    erased(told, gone)
    work()
    (receipt,) = receipts_of(told)
    assert receipt.what == "A memory"
    assert receipt.counts == ["1 memory", "1 note of where it was said", "its lines in 1 recall that stays",
                              "1 judgement"]  # fmt: skip
    assert (receipt.learned, receipt.row.looked) == ([], True)
    with told.acting():
        (row,) = Erasure.objects.values()
        assert not Label.objects.exists()
    kept = json.dumps(row, default=str)
    assert str(gone) not in kept
    assert "boiler" not in kept


def test_an_erased_conversation_leaves_one_receipt_for_all_that_went_with_it(told: Desk) -> None:
    with told.acting():
        conversations.forget_conversation(told.conversation_id, keep_memories=False, now=NOW)
    assert receipts_of(told) == [], "until the undo is over nothing is erased"
    with told.acting():
        assert conversations.erase_conversation(
            told.conversation_id, now=NOW + timedelta(minutes=settings.UNDO_MINUTES)
        )
    work()
    (receipt,) = receipts_of(told)
    assert receipt.what == "A conversation"
    assert receipt.counts[:3] == ["3 memories", "1 conversation", "3 turns"]
    with told.acting():
        assert not Memory.objects.exists()
        assert not Conversation.objects.exists()


def test_a_conversation_whose_memories_are_kept_leaves_a_receipt_too_and_cuts_nothing(told: Desk) -> None:
    snapshot = frozen(ids(told))
    with told.acting():
        conversations.forget_conversation(told.conversation_id, keep_memories=True, now=NOW)
        conversations.erase_conversation(told.conversation_id, now=NOW + timedelta(minutes=settings.UNDO_MINUTES))
    work()
    (receipt,) = receipts_of(told)
    assert receipt.counts[0] == "1 conversation"
    assert arrays(snapshot)["erased"] == 0


def test_nobody_reads_anothers_receipts(told: Desk, stranger: User, operator: User) -> None:
    erased(told, ids(told)[0])
    for other in (stranger, operator):
        with acting_as(other.pk):
            assert receipts() == []


def test_an_ordinary_turn_leaves_no_receipt(told: Desk) -> None:
    told.tell("One more thing", "Noted.")
    assert receipts_of(told) == []


# --- snapshots and shared versions ----------------------------------------------------------------------------------


def test_erased_rows_are_cut_out_of_a_snapshot_with_what_was_compared_with_them(told: Desk) -> None:
    one, two, three = ids(told)
    snapshot, other = frozen([one, two, three]), frozen([uuid4()])
    untouched = arrays(other)
    erased(told, three)
    work()
    now = arrays(snapshot)
    assert (now["erased"], now["memories"]) == (2, sorted([str(one), str(two)]))
    assert [UUID(bytes=row.tobytes()) for row in now["memory"]] == [one, two]
    assert now["z"].tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert now["other"].tolist() == [-1, -1]
    assert {name: str(value) for name, value in arrays(other).items()} == {
        name: str(value) for name, value in untouched.items()
    }
    erased(told, two)
    work()
    assert arrays(snapshot)["erased"] == 3


def test_a_comparison_among_what_stays_still_points_at_its_row(told: Desk) -> None:
    one, two, three = ids(told)
    snapshot = frozen([one, two, three])
    erased(told, two)
    work()
    assert arrays(snapshot)["other"].tolist() == [-1, -1, 1]


def test_versions_that_had_learned_from_it_are_named_and_a_run_from_scratch_is_asked_for(told: Desk) -> None:
    snapshot = frozen(ids(told))
    kept = {"distributions": {"two_people": {"memories": 40, "features": {}}}}
    first = ended_run(stored(upside_down("run-1"), **kept), snapshot_id=snapshot.pk)
    ended_run(stored(upside_down("run-2"), **kept), champion="run-1")  # went on from its weights
    ended_run(stored(upside_down("run-3"), **kept), champion="run-1", from_scratch=True)
    erased(told, ids(told)[0])
    work()
    telling = AdapterVersion.objects.filter(manifest__has_key="distributions", version__startswith="run-")
    assert list(telling.values_list("version", flat=True)) == ["run-3"]  # numbers of erased memories went with them
    (receipt,) = receipts_of(told)
    assert [(one.version, one.instead) for one in receipt.learned] == [("run-1", ""), ("run-2", "")]
    run = TrainingRun.objects.using("worker").get(state=RunState.PENDING)
    assert (run.trigger, run.from_scratch) == ("erasure", True)

    TrainingRun.objects.using("worker").filter(pk=run.pk).update(
        state=RunState.DONE, challenger=stored(upside_down("run-4")), champion=shipped_adapter().version,
        report=first.report,
    )  # fmt: skip
    assert after_run(TrainingRun.objects.using("worker").get(pk=run.pk)) is None, "neither of them serves"
    (receipt,) = receipts_of(told)
    assert [(one.version, one.instead) for one in receipt.learned] == [("run-1", "run-4"), ("run-2", "run-4")]


def test_what_serves_is_replaced_by_what_was_learned_anew_if_nobody_loses(told: Desk, operator: User) -> None:
    from training.services.promotions import promote

    snapshot = frozen(ids(told))
    learned = ended_run(stored(upside_down("run-1")), snapshot_id=snapshot.pk)
    with acting_as(operator.pk):
        promote(learned, by=operator.pk, now=NOW)
    work()
    erased(told, ids(told)[0])
    work()
    (receipt,) = receipts_of(told)
    assert [(one.version, one.serves) for one in receipt.learned] == [("run-1", True)]
    run = TrainingRun.objects.using("worker").get(state=RunState.PENDING)
    report = learned.report | {"better": 0.4, "verdict": "not better"}
    TrainingRun.objects.using("worker").filter(pk=run.pk).update(
        state=RunState.DONE, challenger=stored(upside_down("run-4")), champion="run-1", report=report
    )
    made = after_run(TrainingRun.objects.using("worker").get(pk=run.pk))
    assert made is not None
    assert (made.adapter_id, made.automatic) == ("run-4", True)
    assert "without what was erased" in made.reason
    work()
    with told.acting():
        assert Bank.objects.get(pk=told.bank_id).adapter == "run-4"
    (receipt,) = receipts_of(told)
    assert [(one.version, one.instead, one.serves) for one in receipt.learned] == [("run-1", "run-4", False)]


@pytest.mark.parametrize("ending", [RunState.FAILED, RunState.CANCELLED, RunState.DONE])
def test_what_serves_gives_way_to_what_never_saw_it_where_nothing_was_learned_anew(
    told: Desk, operator: User, ending: str
) -> None:
    from training.services.promotions import promote

    snapshot, before = frozen(ids(told)), ended_run(stored(upside_down("run-0")))
    learned = ended_run(stored(upside_down("run-1")), snapshot_id=snapshot.pk, champion="run-0")
    AdapterVersion.objects.filter(version="run-1").update(parent_id="run-0")
    with acting_as(operator.pk):
        promote(learned, by=operator.pk, reason="a test", now=NOW)
    work()
    erased(told, ids(told)[0])
    work()
    job = Job.objects.using("worker").get(kind=falling_back.JOB)
    assert (job.key, job.state) == ("run-1", "pending")
    with pytest.raises(NotYet):
        falling_back.fall_back("run-1")  # its run from nothing is still to come

    run = TrainingRun.objects.using("worker").filter(state=RunState.PENDING)
    long_ago = NOW - timedelta(hours=1)
    run.update(state=ending, finished_at=long_ago, report=before.report if ending == RunState.DONE else {})
    with acting_as(told.person.pk):  # as the job's owner, who is no operator
        falling_back.fall_back("run-1")
    work()
    assert serving_adapter().version == "run-0"
    with told.acting():
        assert Bank.objects.get(pk=told.bank_id).adapter == "run-0"
    made = Promotion.objects.using("worker").order_by("-at").first()
    assert made is not None
    assert (made.adapter_id, made.automatic, made.by_id) == ("run-0", True, None)
    assert "erased" in made.reason
    with acting_as(told.person.pk):
        falling_back.fall_back("run-1")  # delivered twice
    assert Promotion.objects.using("worker").count() == 2


def test_a_line_that_saw_it_from_its_beginning_gives_way_to_what_ships(told: Desk) -> None:
    for version, parent in (("run-1", None), ("run-2", "run-1")):
        stored(upside_down(version))
        AdapterVersion.objects.filter(version=version).update(
            parent_id=parent, manifest={"kind": "shared", "erased": True}
        )
    assert falling_back.untainted("run-2") == shipped_adapter().version


def test_a_job_delivered_twice_cuts_and_asks_once(told: Desk) -> None:
    snapshot = frozen(ids(told))
    ended_run(stored(upside_down("run-1")), snapshot_id=snapshot.pk)
    erased(told, ids(told)[0])
    work()
    before = arrays(snapshot)["erased"]
    (receipt,) = receipts_of(told)
    for _again in range(2):
        with told.acting():
            Erasure.objects.update(looked=False)
            forgetting.forget_in_training(str(receipt.row.pk))
    assert arrays(snapshot)["erased"] == before
    assert [one.version for one in receipts_of(told)[0].learned] == ["run-1"]
    assert TrainingRun.objects.using("worker").filter(state=RunState.PENDING).count() == 1


def test_a_run_that_is_learning_from_it_right_now_is_cancelled_and_another_asked_for(told: Desk) -> None:
    snapshot = frozen(ids(told))
    running = TrainingRun.objects.using("worker").create(state=RunState.RUNNING, snapshot_id=snapshot.pk)
    erased(told, ids(told)[0])
    work()
    assert TrainingRun.objects.using("worker").get(pk=running.pk).cancel_requested
    assert TrainingRun.objects.using("worker").get(state=RunState.PENDING).trigger == "erasure"


# --- heads of a bank's own ------------------------------------------------------------------------------------------


@pytest.fixture
def odd(desk: Desk, operator: User) -> Desk:
    for number, place in enumerate(PLACES):
        desk.tell(f"My flight {number}00{number} to {place} leaves on {number + 1} March and costs 80 euros", "")
        desk.tell(f"How do you feel about {place} today?", "")
    judge(desk, questions)
    with desk.acting():
        own_heads.learn(bank_of(desk), now=NOW)
    return desk


def bank_of(desk: Desk) -> Bank:
    return Bank.objects.select_related("space").get(pk=desk.bank_id)


def test_a_head_of_ones_own_is_learned_anew_without_it_and_the_old_weights_go(odd: Desk) -> None:
    name = f"own-{odd.bank_id.hex[:8]}"
    gone = odd.memory("How do you feel about Riga today?").pk
    with odd.acting():
        assert str(gone) in AdapterVersion.objects.get(version=f"{name}-1").manifest["memories"]
    erased(odd, gone)
    work()
    with odd.acting():
        assert bank_of(odd).adapter == f"{name}-2"
        old, new = (AdapterVersion.objects.get(version=f"{name}-{n}") for n in (1, 2))
        assert (old.weights, old.replaced_by_id, old.manifest["memories"]) == (None, new.pk, [])
        assert str(gone) not in new.manifest["memories"]
        assert len(new.manifest["memories"]) == 2 * len(PLACES) - 1
        assert learned_for(odd.bank_id) == [f"{name}-2"]
    (receipt,) = receipts_of(odd)
    assert [(one.version, one.instead) for one in receipt.learned] == [(f"{name}-1", f"{name}-2")]
    odd.agree()


def test_with_too_few_judgements_left_the_shared_adapter_serves_again(odd: Desk) -> None:
    with odd.acting():
        for memory in Memory.objects.filter(bank=odd.bank_id).order_by("written_seq")[: 2 * len(PLACES) - 10]:
            labels.unsay(memory.pk, by=odd.person.pk, now=NOW)
    erased(odd, odd.memory("How do you feel about Dakar today?").pk)
    work()
    with odd.acting():
        assert bank_of(odd).adapter == ""
    (receipt,) = receipts_of(odd)
    assert [one.instead for one in receipt.learned] == [shipped_adapter().version]


def test_an_erased_memory_that_was_not_judged_costs_no_head(odd: Desk) -> None:
    odd.tell("Nothing that anybody judged", "")
    erased(odd, odd.memory("Nothing that anybody judged").pk)
    work()
    (receipt,) = receipts_of(odd)
    assert receipt.learned == []
    with odd.acting():
        assert bank_of(odd).adapter.endswith("-1")
