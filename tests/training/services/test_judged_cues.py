"""Judged recalls are frozen as numbers with the snapshot, as their traces kept them, and leave with what is erased."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
import pytest

from agora_web.accounts.models import User
from memory.adapters import serving_adapter
from memory.engine.signals import NAMES
from memory.models import Conversation, Recall
from memory.services import conversations, memories
from memory.services.recalls import mode_of_trace
from memory.tenancy import acting_as
from memory.traces import signals_in
from tests.memory.services.desk import Asked, Desk
from tests.training.services.challengers import work
from tests.training.services.test_thumbs import replied
from training import selectors
from training.learner.cues import Cues
from training.learner.recall_examples import MODES
from training.models import About, Label, Snapshot, Source
from training.services import labels, snapshots, thumbs

WORDS = ("The boiler code is 4711-B", "The boiler was mended", "I moved to Ghent", "Tea is good", "The boiler is old",
         "My sister lives in Porto")  # fmt: skip


@pytest.fixture
def asked(desk: Desk, operator: User) -> Asked:
    """A question about the boiler, asked in another conversation than that in which everything was told."""
    for text in WORDS:
        desk.tell(text, "")
    desk.conversation_id = desk.begin()
    return replied(desk, desk.ask("What is the boiler code?"))


def freeze(now: datetime) -> Snapshot:
    return snapshots.freeze(serving_adapter(), now=now)


def cues(now: datetime) -> Cues:
    return snapshots.frozen_by(freeze(now)).cues


def label(desk: Desk, asked: Asked, text: str, value: float, source: Source = Source.COUNTERFACTUAL) -> None:
    memory = desk.memory(text)
    with desk.acting():
        Label.objects.create(owner=desk.person, memory=memory, about=About.RELEVANCE, recall=asked.trace, value=value,
                             weight=0.3, source=source, text=text)  # fmt: skip


def said(frozen: Cues) -> dict[UUID, tuple[float, float]]:
    """What is frozen of each judged memory: its fit, and how much that counts for."""
    return {
        UUID(bytes=frozen.memory[row].tobytes()): (float(frozen.value[row]), round(float(frozen.weight[row]), 4))
        for row in np.flatnonzero(frozen.judged)
    }


def test_a_judged_recall_is_frozen_as_its_trace_kept_it(desk: Desk, asked: Asked, now: datetime) -> None:
    label(desk, asked, WORDS[0], 1.0)
    label(desk, asked, WORDS[2], 0.0)
    frozen = cues(now)
    trace = asked.trace
    assert len(frozen) == 1
    assert frozen.memory.tolist() == [list(memory.bytes) for memory in trace.memories]
    assert frozen.signals.tolist() == signals_in(trace, NAMES).tolist()
    assert frozen.fit.tolist() == pytest.approx([row["fit"] for row in trace.rows], abs=1e-5)
    assert frozen.shown.tolist() == [row["recalled"] for row in trace.rows]
    assert said(frozen) == {desk.memory(WORDS[0]).pk: (1.0, 0.3), desk.memory(WORDS[2]).pk: (0.0, 0.3)}
    assert (frozen.mode.tolist(), frozen.turns()) == ([MODES.index("asking")], [asked.turn.pk])


def test_the_same_labels_are_the_same_bytes_and_another_label_is_others(
    desk: Desk, asked: Asked, now: datetime
) -> None:  # fmt: skip
    label(desk, asked, WORDS[0], 1.0)
    first, again = freeze(now), freeze(now + timedelta(seconds=1))
    assert (first.digest, bytes(first.rows)) == (again.digest, bytes(again.rows))
    assert first.about["relevance"] == {
        "sources": {"counterfactual": 1}, "cues": 1, "asking": 1, "telling": 0, "unread": 0,
    }  # fmt: skip
    assert first.about["conversations"] == 1
    label(desk, asked, WORDS[1], 1.0)
    assert freeze(now).digest != first.digest


def test_people_outrank_machines_row_by_row(desk: Desk, asked: Asked, now: datetime) -> None:
    label(desk, asked, WORDS[0], 0.0)
    label(desk, asked, WORDS[1], 0.0)
    with desk.acting():
        labels.say(desk.memory(WORDS[0]).pk, "useful", by=desk.person.pk, recall_id=asked.trace.pk, now=now)
    assert said(cues(now)) == {desk.memory(WORDS[0]).pk: (1.0, 1.0), desk.memory(WORDS[1]).pk: (0.0, 0.3)}


def test_a_thumb_is_frozen_with_the_shares_it_was_spread_by(desk: Desk, asked: Asked, now: datetime) -> None:
    with desk.acting():
        thumbs.raise_thumb(asked.turn.pk, "down", by=desk.person.pk, now=now)
    frozen = cues(now)
    assert set(said(frozen)) == set(asked.trace.recalled)
    assert frozen.weight.sum() == pytest.approx(thumbs.FITTED["down"])
    assert frozen.value[frozen.judged].max() == 0.0


def test_what_a_trace_has_no_numbers_of_and_what_weighs_nothing_is_no_cue(
    desk: Desk, asked: Asked, now: datetime
) -> None:
    label(desk, asked, WORDS[0], 1.0)
    with desk.acting():
        Label.objects.update(weight=0.0)
    assert len(cues(now)) == 0
    later = desk.tell("The boiler is blue", "")  # told after the recall, so that it is not in it
    assert later.pk
    label(desk, asked, "The boiler is blue", 1.0, Source.REGRET)
    assert len(cues(now)) == 0


def test_signals_are_found_by_name_and_a_trace_without_one_of_them_is_left_out(
    desk: Desk, asked: Asked, now: datetime
) -> None:
    label(desk, asked, WORDS[0], 1.0)
    before = cues(now)
    trace = asked.trace
    rows, many = len(trace.memories), len(NAMES)
    numbers = np.frombuffer(bytes(trace.numbers), dtype="<f4").reshape(rows, 3 + 2 * many)
    turned = [0, 1, 2, *(3 + at for at in reversed(range(many))), *range(3 + many, 3 + 2 * many)]
    with desk.acting():
        Recall.objects.filter(pk=trace.pk).update(
            signals=list(reversed(NAMES)), numbers=np.ascontiguousarray(numbers[:, turned]).tobytes()
        )
    assert cues(now).signals.tolist() == before.signals.tolist()
    with desk.acting():
        Recall.objects.filter(pk=trace.pk).update(signals=["of old", *NAMES[1:]])
    assert len(cues(now)) == 0


def test_a_cue_is_of_the_mode_by_whose_weights_it_was_read(desk: Desk, now: datetime) -> None:
    for text in WORDS:
        desk.tell(text, "")
    asked = desk.ask("我的锅炉编号是多少？")
    told = desk.ask("The boiler makes a noise again and the water stays cold")
    follow = desk.ask("锅炉？", previous=told.turn)
    with desk.acting():
        found = [mode_of_trace(Recall.objects.get(pk=one.trace.pk)) for one in (asked, told, follow)]
    assert found == ["unread", "telling", "asking"], "a short cue is read with the words that it took along"


def test_staff_read_how_many_judgements_there_are_and_nobody_else_does(
    desk: Desk, asked: Asked, operator: User, stranger: User, now: datetime
) -> None:
    def counted(person: User) -> int:
        with acting_as(person.pk):
            return selectors.readiness()[-1].have

    before = counted(operator)
    label(desk, asked, WORDS[0], 1.0)
    label(desk, asked, WORDS[0], 1.0, Source.THUMB)
    label(desk, asked, WORDS[1], 0.0)
    desk.tell("The boiler is blue", "")
    label(desk, asked, "The boiler is blue", 1.0, Source.REGRET)  # of which the trace has no numbers
    assert counted(operator) == before + 2
    assert counted(operator) == cues(now).judgements("asking")
    assert (counted(desk.person), counted(stranger)) == (0, 0)


def test_an_erased_memory_leaves_the_frozen_cues(desk: Desk, asked: Asked, now: datetime) -> None:
    label(desk, asked, WORDS[0], 1.0)
    label(desk, asked, WORDS[1], 0.0)
    snapshot = freeze(now)
    gone, rows = desk.memory(WORDS[0]).pk, len(asked.trace.memories)
    with desk.acting():
        memories.erase(gone, now=now)
    work()
    left = Snapshot.objects.using("worker").get(pk=snapshot.pk)
    frozen = snapshots.frozen_by(left).cues
    assert str(gone) not in left.memories
    assert gone not in frozen.memories()
    assert (len(frozen), len(frozen.cue), left.erased) == (1, rows - 1, 1)
    with desk.acting():
        memories.erase(desk.memory(WORDS[1]).pk, now=now)
    work()
    left = Snapshot.objects.using("worker").get(pk=snapshot.pk)
    assert (len(snapshots.frozen_by(left).cues), left.memories, left.turns) == (0, [], [])


def test_the_cues_of_an_erased_conversation_leave_even_where_its_memories_stay(
    desk: Desk, asked: Asked, now: datetime
) -> None:
    label(desk, asked, WORDS[0], 1.0)
    snapshot = freeze(now)
    assert snapshot.turns == [str(asked.turn.pk)]
    with desk.acting():
        Conversation.objects.filter(pk=desk.conversation_id).update(forgotten_until=now, keep_memories=True)
    assert len(cues(now)) == 0, "nothing is frozen of a conversation that is being forgotten"
    with desk.acting():
        conversations.erase_conversation(desk.conversation_id, now=now)
    work()
    left = Snapshot.objects.using("worker").get(pk=snapshot.pk)
    assert (len(snapshots.frozen_by(left).cues), left.turns) == (0, [])
    assert desk.memory(WORDS[0]).pk
