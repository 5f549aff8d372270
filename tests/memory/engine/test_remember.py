from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.bank import Kind, replay
from memory.engine.features import Context
from memory.engine.hot import HotBank, check
from memory.engine.prior import prior
from memory.engine.remember import Planner, WritingPlan
from memory.engine.retention import POLICIES
from memory.engine.statistics import quantised
from memory.engine.text import count_tokens
from memory.engine.types import MemoryItem, NewSide, Place, Role, State
from tests.memory.engine.toy_bank import (
    CONVERSATION,
    NOON,
    Ledger,
    floats,
    hot_bank,
    item,
    loaded,
    memory_id,
    new_side,
)
from tests.toy import WIDTH

CONTEXT = Context(follows_question=False, first_in_session=False, best_cosine=0.0)


def plan(
    hot: HotBank, *sides: NewSide, policy: str = "importance", archived: Mapping[bytes, MemoryItem] | None = None
) -> WritingPlan:
    planner = Planner(hot, prior(), POLICIES[policy], NOON)
    for side in sides:
        planner.take(side, CONTEXT, archived or {})
    planner.evict()
    return planner.plan


def kinds(made: WritingPlan) -> list[str]:
    return [event.kind.value for event in made.events]


def follow(hot: HotBank, made: WritingPlan) -> None:
    hot.apply(made.events, {write.item.id: loaded(write.item, write.new.vector) for write in made.writes})


def test_a_new_side_is_written_with_its_score_and_where_it_came_from() -> None:
    hot = hot_bank([item(0, "tea")])
    side = new_side(5, "My bike is red", piece=2)
    made = plan(hot, side)
    assert kinds(made) == ["written"]
    event, write = made.events[0], made.writes[0]
    assert (event.seq, event.memory) == (hot.state.seq + 1, side.id)
    assert event.data == {
        "tokens": count_tokens(side.text), "importance": write.item.importance, "adapter": "prior-2",
        "turn": str(side.turn), "side": "observation", "piece": 2, "role": "user",
        "features": quantised(write.features),
    }  # fmt: skip
    score = prior().importance.importance(write.features, side.role, hot.state.statistics)
    assert write.item.importance == pytest.approx(score, abs=1e-6)
    assert (write.item.written, write.item.piece, write.item.text) == (event.seq, 2, side.text)
    assert made.sources == [(side.id, side, "written")]


def test_planning_changes_nothing() -> None:
    hot = hot_bank([item(0, "tea")], memories=1)
    before = replay([])
    before.__dict__.update(vars(hot.state), marks=dict(hot.state.marks))
    plan(hot, new_side(5, "My bike is red"))
    assert hot.state == before
    assert [one.text for one in hot] == ["tea"]


def test_the_same_words_told_again_are_another_source_of_one_memory() -> None:
    hot = hot_bank([item(0, "My bike is red")])
    again = new_side(5, "My  bike is red")
    made = plan(hot, again)
    assert kinds(made) == ["told"]
    assert made.events[0].memory == memory_id(0)
    assert made.events[0].data["how"] == "retold"
    assert made.sources == [(memory_id(0), again, "retold")]
    assert made.writes == []


def test_the_same_words_twice_in_one_turn_are_one_memory() -> None:
    made = plan(hot_bank([]), new_side(5, "My bike is red"), new_side(6, "My bike is red"))
    assert kinds(made) == ["written", "told"]
    assert {event.memory for event in made.events} == {memory_id(5)}


def test_another_speakers_same_words_are_another_memory() -> None:
    hot = hot_bank([item(0, "My bike is red")])
    assert kinds(plan(hot, new_side(5, "My bike is red", speaker="Ben"))) == ["written"]
    assert kinds(plan(hot, new_side(5, "My bike is red", role=Role.ASSISTANT))) == ["written"]


def test_a_near_duplicate_merges() -> None:
    hot = hot_bank([item(0, "My bike is red.")])
    near = new_side(5, "my bike was red!!")
    made = plan(hot, near)
    assert kinds(made) == ["told"]
    assert made.events[0].data == {
        "turn": str(near.turn), "side": "observation", "how": "merged", "cosine": pytest.approx(1.0),
    }  # fmt: skip


def test_near_duplicates_of_one_turn_merge_too() -> None:
    assert kinds(plan(hot_bank([]), new_side(5, "My bike is red."), new_side(6, "my bike was red!!"))) == [
        "written",
        "told",
    ]


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ("The meeting is at 5", "The meeting is at 6"),
        ("I am coming on Friday", "I am not coming on Friday"),
        ("I eat fish", "I don't eat fish"),
        ("Anna called Ben", "Ben called Anna"),
    ],
)
def test_texts_that_are_near_but_say_otherwise_never_merge(held: str, told: str) -> None:
    near = floats(1.0, 0.0)
    hot = hot_bank([item(0, held)], [near])
    assert kinds(plan(hot, new_side(5, told, vector=near))) == ["written"]


def test_the_same_terms_far_apart_in_vector_do_not_merge() -> None:
    hot = hot_bank([item(0, "My bike is red.")], [floats(1.0, 0.0)])
    assert kinds(plan(hot, new_side(5, "my bike was red", vector=floats(0.9, 0.436)))) == ["written"]


def test_an_archived_memory_that_is_retold_is_restored() -> None:
    hot, side = hot_bank([item(0, "tea")]), new_side(5, "My bike is red")
    away = item(1, "My bike is red")
    made = plan(hot, side, archived={side.content: away})
    assert kinds(made) == ["restored", "told"]
    assert {event.memory for event in made.events} == {away.id}
    assert made.events[0].data == {"reason": "retold"}
    assert made.writes == []


def test_an_archived_memory_retold_twice_in_a_turn_is_restored_once() -> None:
    side = new_side(5, "My bike is red")
    made = plan(hot_bank([]), side, new_side(6, side.text), archived={side.content: item(1, side.text)})
    assert kinds(made) == ["restored", "told", "told"]


def test_a_full_bank_lets_the_least_important_go_and_says_why() -> None:
    hot = hot_bank([item(0, "tea", importance=0.9), item(1, "hm", importance=0.01)], memories=2)
    made = plan(hot, new_side(5, "My passport number is X1234567"))
    assert kinds(made) == ["written", "evicted"]
    gone = made.events[1]
    assert gone.memory == memory_id(1)
    assert gone.data == {
        "reason": "budget", "policy": "importance", "adapter": "prior-2", "score": 0.01, "over": "memories",
        "instead": str(memory_id(5)), "budget": [2, 10_000],
    }  # fmt: skip


def test_what_is_new_can_be_what_leaves() -> None:
    hot = hot_bank([item(0, "tea", importance=0.9), item(1, "bike", importance=0.9)], memories=2)
    made = plan(hot, new_side(5, "ok thanks"))
    assert [(event.kind, event.memory) for event in made.events] == [
        (Kind.WRITTEN, memory_id(5)),
        (Kind.EVICTED, memory_id(5)),
    ]


def test_a_restored_memory_competes_for_its_place() -> None:
    hot = hot_bank([item(0, "tea", importance=0.9), item(1, "bike", importance=0.9)], memories=2)
    side = new_side(5, "ok thanks")
    made = plan(hot, side, archived={side.content: item(2, side.text, importance=0.1)})
    assert kinds(made) == ["restored", "told", "evicted"]
    assert made.events[-1].memory == memory_id(2)


def test_what_leaves_is_handed_back_by_its_content() -> None:
    hot = hot_bank([item(0, "tea", importance=0.01), item(1, "bike", importance=0.02)], memories=1)
    planner, side = Planner(hot, prior(), POLICIES["importance"], NOON), new_side(5, "My passport number is X1234567")
    planner.take(side, CONTEXT, {})
    gone = planner.evict()
    assert gone == {loaded(one).content: one for one in hot}
    assert Planner(hot_bank([]), prior(), POLICIES["importance"], NOON).evict() == {}


def test_pinned_memories_stay_whatever_they_score() -> None:
    hot = hot_bank([item(0, "tea", importance=0.01, pinned=True), item(1, "bike", importance=0.9)], memories=2)
    made = plan(hot, new_side(5, "My passport number is X1234567"))
    assert made.events[-1].memory in {memory_id(1), memory_id(5)}


def test_a_plan_can_be_numbered_behind_other_events() -> None:
    planner = Planner(hot_bank([]), prior(), POLICIES["importance"], NOON)
    planner.follow(17)
    planner.take(new_side(5, "tea"), CONTEXT, {})
    assert planner.plan.events[0].seq == planner.plan.writes[0].item.written == 17


SAID = st.lists(
    st.sampled_from(
        ["tea", "tea!", "red bike", "bike red", "at 5", "at 6", "thanks", "X1234567 in Lisbon", "🎂", "東京"]
    ),
    min_size=1,
    max_size=25,
)


@given(SAID, st.sampled_from(sorted(POLICIES)), st.integers(1, 6), st.integers(3, 30))
@settings(max_examples=80, deadline=None)
def test_any_talk_leaves_a_bank_that_agrees_with_its_ledger_and_keeps_its_budget(
    said: list[str], policy: str, memories: int, tokens: int
) -> None:
    hot, ledger = HotBank(WIDTH), Ledger()
    hot.apply([ledger.configured(memories, tokens, policy)], {})
    events, archived, contents = list(ledger.events), dict[bytes, MemoryItem](), dict[UUID, bytes]()
    for number, text in enumerate(said):
        planner = Planner(hot, prior(), POLICIES[policy], NOON + timedelta(minutes=number))
        planner.take(new_side(number, text, place=Place(CONVERSATION, 0, number)), CONTEXT, archived)
        archived = {**archived, **planner.evict()}
        made = planner.plan
        contents |= {write.item.id: write.new.content for write in made.writes}
        items = {one.id: one for one in archived.values()}
        back = {event.memory: loaded(items[event.memory]) for event in made.events if event.kind is Kind.RESTORED}
        hot.apply(made.events, {w.item.id: loaded(w.item, w.new.vector) for w in made.writes} | back)
        archived = {c: one for c, one in archived.items() if hot.state.marks[one.id].state is State.ARCHIVED}
        events += made.events
        check(hot)
        assert hot.state.held <= memories
        assert hot.state.held_tokens <= tokens
    assert hot.state == replay(events)
    assert len(set(contents.values())) == len(contents)  # nothing was written twice, evicted or not
