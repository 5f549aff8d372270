"""What the selectors tell of a hand-made conversation: six turns told to a bank of five memories."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils import timezone

from agora_web.accounts.models import User
from memory import life, life_moments
from memory.history import histories
from memory.life import Life, life_of
from memory.life_recalls import BELOW, RECALLED, WeightRows, heat_of, traces_of
from memory.models import Conversation, Event, Memory, Recall
from memory.services import memories
from memory.services.turns import NotFound
from memory.tenancy import acting_as
from tests.memory.long_life import make_long_life
from tests.scenes import begin, make_agent, make_person, take_turn

SAID = ["Vera bakes walnut bread.", "The harbour opens at nine.", "Rent is 900 euros.", "My bicycle is green.",
        "The ferry leaves at six.", "Almonds are fine."]  # fmt: skip

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana() -> User:
    return make_person()


def six_turns(ana: User) -> Conversation:
    """Six turns; another conversation of the same bank speaks between the third and the fourth."""
    scribe = make_agent(budget_memories=5)
    talk, aside = begin(ana, scribe), begin(ana, scribe)
    for said in SAID[:3]:
        take_turn(ana, talk, said, f"Noted, {said.lower()}")
    take_turn(ana, aside, "An aside about chess.")
    for said in SAID[3:]:
        take_turn(ana, talk, said, f"Noted, {said.lower()}")
    return talk


@pytest.fixture
def conversation(ana: User) -> Conversation:
    return six_turns(ana)


@pytest.fixture
def found(ana: User, conversation: Conversation) -> Iterator[Life]:
    with acting_as(ana.pk):
        yield life_of(conversation.pk)


def evictions_of(bank: object) -> list[Event]:
    return list(Event.objects.filter(bank=bank, kind="evicted").order_by("seq"))


def test_another_persons_conversation_has_no_life(conversation: Conversation) -> None:
    with acting_as(make_person("ben@example.org").pk), pytest.raises(NotFound):
        life_of(conversation.pk)


def test_a_range_of_turns_is_kept_within_what_there_is(found: Life) -> None:
    assert found.turns == 6
    assert found.stretch(None, None) == (1, 6)
    assert found.stretch(2, 99) == (2, 6)
    assert found.stretch(50, 3) == (6, 6)


def test_importance_rows_are_this_conversations_memories_at_their_turns(found: Life) -> None:
    rows = life.importance_rows(found, 1, 6, labels={})
    stored = Memory.objects.filter(conversation=found.conversation)
    assert {row.memory for row in rows} == set(stored.values_list("pk", flat=True))
    assert [row.turn for row in rows if row.role == "user"] == [1, 2, 3, 4, 5, 6]
    for row in rows:
        memory = stored.get(pk=row.memory)
        assert (row.importance, row.first, row.state, row.reason, row.tokens) == (
            memory.importance, memory.importance, memory.state, memory.archive_reason, memory.tokens
        )  # fmt: skip
    shown = life.with_words(rows, ("text", "speaker"))
    assert [row.text for row in shown if row.role == "user"] == SAID
    assert all(row.text == "" for row in rows)


def test_rows_can_be_narrowed_by_turns_kind_adapter_and_judgement(found: Life) -> None:
    every = life.importance_rows(found, 1, 6, labels={})
    assert [row.turn for row in life.importance_rows(found, 2, 3, labels={}, kinds=["user"])] == [2, 3]
    assert life.importance_rows(found, 1, 6, labels={}, adapter="another") == []
    labels = {every[0].memory: (1.0, 2.0)}
    (judged,) = life.importance_rows(found, 1, 6, labels=labels, only_judged=True)
    assert (judged.memory, judged.label, judged.label_weight) == (every[0].memory, 1.0, 2.0)


def test_a_memory_that_is_being_forgotten_is_not_told(ana: User, conversation: Conversation) -> None:
    with acting_as(ana.pk):
        first = Memory.objects.filter(conversation=conversation, state="held")[0]
        memories.forget(first.pk, now=timezone.now())
        now = life_of(conversation.pk)
        assert first.pk not in {row.memory for row in life.importance_rows(now, 1, 6, labels={})}
        spans = [row for row in life.with_words(life.span_rows(now, 1, 6)) if row.memory == first.pk]
        assert [(row.reason, row.text) for row in spans] == [("forgotten", "")]
        assert first.pk not in {row.memory for row in heat_of(now, 1, 6).rows}


def test_spans_tell_the_ledgers_evictions_and_a_restore_begins_another(ana: User, conversation: Conversation) -> None:
    with acting_as(ana.pk):
        gone = evictions_of(conversation.bank_id)
        mine = [event for event in gone if event.memory in life_of(conversation.pk).written]
        assert mine
        memories.restore(mine[0].memory, now=timezone.now())  # type: ignore[arg-type]
        now = life_of(conversation.pk)
        rows = [row for row in life.span_rows(now, 1, 6) if row.memory == mine[0].memory]
    assert [(row.how, row.reason, row.left is None) for row in rows] == [
        ("written", "budget", False), ("restored.asked", "", True)
    ]  # fmt: skip
    assert rows[0].score == mine[0].data["score"]
    assert rows[0].left == now.ordinals.get(mine[0].turn, rows[0].left)  # type: ignore[arg-type]
    assert rows[1].came == 6


def test_spans_are_chosen_by_how_they_ended_and_by_the_turns_that_they_touch(found: Life) -> None:
    rows = life.span_rows(found, 1, 6)
    held = life.span_rows(found, 1, 6, reasons=["held"])
    gone = life.span_rows(found, 1, 6, reasons=["budget"])
    assert sorted(map(id_of, held + gone)) == sorted(map(id_of, rows))
    assert all(row.left is None for row in held)
    early = life.span_rows(found, 1, 1)
    assert {row.came for row in early} == {1}
    assert all(row.left is None or row.left >= 6 for row in life.span_rows(found, 6, 6))


def id_of(row: life.SpanRow) -> tuple[str, int]:
    return str(row.memory), row.came


def test_the_budget_after_each_turn_is_the_folds(found: Life) -> None:
    rows = life.budget_rows(found, 1, 6)
    assert [row.turn for row in rows] == [1, 2, 3, 4, 5, 6]
    for row in rows:
        state = found.history.state_at(life.seq_after(found, row.turn))
        assert (row.memories, row.tokens, row.budget_memories) == (state.held, state.held_tokens, 5)
        assert row.memories_share == row.memories / 5
    assert max(row.memories for row in rows) == 5


def test_the_aside_of_another_conversation_stands_between_the_turns(found: Life) -> None:
    after_third = {row.memory for row in life_moments.moment_rows(found, 3)}
    foreign = [row for row in life_moments.moment_rows(found, 3, show="all") if row.turn is None]
    assert foreign
    assert {row.memory for row in life_moments.moment_rows(found, 2, show="all")}.isdisjoint(
        row.memory for row in foreign
    )
    assert len(after_third) <= 5


def test_a_moment_is_the_fold_and_two_differ_by_what_came_and_left(found: Life) -> None:
    for turn in range(7):
        marks = found.history.state_at(life.seq_after(found, turn)).marks
        held = {memory for memory, mark in marks.items() if mark.state == "held"}
        assert {row.memory for row in life_moments.moment_rows(found, turn)} == held
        assert life_moments.places_at(found, turn).total() == len(marks)
    early, late = ({row.memory for row in life_moments.moment_rows(found, turn)} for turn in (2, 6))
    came, left = ({row.memory for row in life_moments.moment_rows(found, 6, 2, show)} for show in ("came", "left"))
    assert (came, left) == (late - early, early - late)
    assert left
    both = life_moments.moment_rows(found, 6, 2, "all")
    assert {row.memory for row in both if row.change == "came"} == came
    assert life_moments.moment_rows(found, 0) == []


def test_pinned_memories_are_told_apart(ana: User, conversation: Conversation) -> None:
    with acting_as(ana.pk):
        kept = Memory.objects.filter(bank=conversation.bank_id, state="held")[0]
        memories.pin(kept.pk, now=timezone.now())
        now = life_of(conversation.pk)
        assert [row.memory for row in life_moments.moment_rows(now, 6, show="pinned")] == [kept.pk]
        assert life_moments.places_at(now, 6)["pinned"] == 1
        assert life_moments.places_at(now, 5)["pinned"] == 0


def test_weight_rows_are_the_stored_traces_row_by_row_however_they_are_read(found: Life) -> None:
    rows = WeightRows(traces_of(found, 1, 6))
    every = list(rows)
    stored = Recall.objects.filter(turn__conversation=found.conversation).order_by("turn__ordinal")
    told = [(row["memory"], row["weight"], row["fit"]) for recall in stored for row in recall.rows]
    assert [(str(row.memory), row.weight, row.fit) for row in every] == told
    assert len(rows) == len(every) > 10
    for start in range(0, len(every), 4):
        assert rows[start : start + 4] == every[start : start + 4]
    assert rows[0] == every[0]
    assert rows[-1] == every[-1]
    assert rows[len(every) + 5 :] == []
    assert len(WeightRows(traces_of(found, 1, 6, adapter="another"))) == 0


def test_the_map_has_what_was_recalled_with_its_misses(found: Life) -> None:
    every = list(WeightRows(traces_of(found, 1, 6)))
    heat = heat_of(found, 1, 6)
    recalled = {row.memory for row in every if row.what == RECALLED}
    assert {row.memory for row in heat.rows} == recalled
    assert heat.exact
    cells = {(heat.columns[cell.column], heat.rows[cell.row].memory): cell for cell in heat.cells}
    assert {key: (cell.weight, cell.what) for key, cell in cells.items()} == {
        (row.turn, row.memory): (row.weight, row.what) for row in every if row.memory in recalled
    }
    assert BELOW in {row.what for row in every}
    for row in heat.rows:
        assert row.mass == pytest.approx(sum(one.weight for one in every if one.memory == row.memory
                                             and one.what == RECALLED), abs=1e-4)  # fmt: skip
    mass = [row.mass for row in heat_of(found, 1, 6, order="mass").rows]
    assert mass == sorted(mass, reverse=True)
    assert heat_of(found, 1, 6, adapter="another").rows == []
    assert heat_of(found, 1, 6, adapter=every[0].adapter) == heat


def everything(conversation: Conversation) -> tuple[object, ...]:
    found = life_of(conversation.pk)
    rows = (read(found, 1, found.turns) for read in (life.span_rows, life.budget_rows, heat_of))
    return (life.importance_rows(found, 1, found.turns, labels={}), *rows)


def test_what_is_kept_of_a_life_is_what_a_fresh_reader_finds_after_more_happened(
    ana: User, conversation: Conversation
) -> None:
    with acting_as(ana.pk):
        before = everything(conversation)
        assert life_of(conversation.pk) is life_of(conversation.pk)
    take_turn(ana, conversation, "The ferry leaves at seven now.")
    with acting_as(ana.pk):
        held = list(Memory.objects.filter(conversation=conversation, state="held"))
        memories.pin(held[0].pk, now=timezone.now())
        memories.forget(held[1].pk, now=timezone.now())
        kept = everything(conversation)
        histories.clear()
        fresh = everything(conversation)
    assert kept == fresh
    assert all(one != former for one, former in zip(kept, before, strict=True))


def test_many_turns_are_summed_up_to_the_same_numbers(ana: User) -> None:
    fresh = begin(ana, make_agent("Long"))
    with acting_as(ana.pk):
        talk = make_long_life(ana.pk, fresh.bank, 420)
        now = life_of(talk.pk)
        every = [row for row in WeightRows(traces_of(now, 1, 420)) if row.what == RECALLED]
        heat = heat_of(now, 1, 420, order="mass")
        changes = life.adapter_changes(now, 1, 420)
    assert (heat.width, heat.exact) == (3, False)
    assert heat.others == len({row.memory for row in every}) - len(heat.rows)
    for cell in heat.cells:
        first, memory = heat.columns[cell.column], heat.rows[cell.row].memory
        of_bin = [row.weight for row in every if row.memory == memory and first <= row.turn < first + heat.width]
        assert cell.weight == pytest.approx(max(of_bin), abs=1e-5)
    assert len(heat.cells) == len({((row.turn - 1) // 3, row.memory) for row in every
                                   if row.memory in {one.memory for one in heat.rows}})  # fmt: skip
    assert [(turn, one.adapter, one.former) for turn, one in changes] == [(209, "promoted-3", "")]
