from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.bank import Kind, replay
from memory.engine.hot import HotBank, Loaded, check, neighbours
from memory.engine.lexical import terms
from memory.engine.types import BankError, MemoryItem, Place, State
from memory.engine.vector_adapter import VectorAdapter
from tests.memory.engine.toy_bank import CONVERSATION, Ledger, cue, floats, hot_bank, item, loaded, memory_id
from tests.toy import WIDTH


def test_held_memories_are_candidates_with_their_raw_scores() -> None:
    hot = hot_bank([item(0, "tea"), item(1, "red bike")], [floats(1, 0), floats(0.6, 0.8)])
    found = hot.candidates(cue("tea", floats(0, 1)), ["tea"])
    assert [one.text for one in found.items] == ["tea", "red bike"]
    assert found.cosine == pytest.approx([0.0, 0.8])
    assert found.lexical == pytest.approx(hot.index.scores(["tea"], 2))
    assert found.coverage.tolist() == [1.0, 0.0]
    assert found.archived.tolist() == [False, False]


def test_archived_memories_stand_behind_without_neighbours() -> None:
    hot = hot_bank([item(0, "tea"), item(1, "red bike")], [floats(1, 0), floats(0, 1)])
    away = loaded(item(2, "tea tea"), floats(0.8, 0.6))
    found = hot.candidates(cue("tea", floats(1, 0)), ["tea"], [away])
    assert [one.text for one in found.items] == ["tea", "red bike", "tea tea"]
    assert found.cosine == pytest.approx([1.0, 0.0, 0.8])
    assert found.lexical[2] == pytest.approx(hot.index.score_outside(["tea"], ["tea", "tea"])[0])
    assert found.archived.tolist() == [False, False, True]
    assert found.previous.tolist() == [-1, 0, -1]
    assert found.next.tolist() == [1, -1, -1]


def test_neighbours_are_the_sides_just_before_and_after_in_a_session() -> None:
    other = UUID(int=2)
    items = [
        item(0, place=Place(CONVERSATION, 0, 1)),
        item(1, place=Place(CONVERSATION, 0, 0)),
        item(2, place=Place(CONVERSATION, 0, 3)),  # 2 is not in the bank
        item(3, place=Place(CONVERSATION, 1, 4)),  # another session
        item(4, place=Place(other, 0, 2)),  # another conversation
    ]
    previous, following = neighbours(items)
    assert previous.tolist() == [1, -1, -1, -1, -1]
    assert following.tolist() == [-1, 0, -1, -1, -1]


def test_pieces_of_a_side_are_neighbours_and_link_to_the_next_side() -> None:
    items = [
        item(0, place=Place(CONVERSATION, 0, 0), piece=0),
        item(1, place=Place(CONVERSATION, 0, 0), piece=1),
        item(2, place=Place(CONVERSATION, 0, 1), piece=0),
    ]
    previous, following = neighbours(items)
    assert previous.tolist() == [-1, 0, 1]
    assert following.tolist() == [1, 2, -1]


@pytest.mark.parametrize("size", [0, 1])
def test_a_lone_memory_has_no_neighbours(size: int) -> None:
    previous, following = neighbours([item(i) for i in range(size)])
    assert previous.tolist() == following.tolist() == [-1] * size


def test_neighbours_follow_what_leaves() -> None:
    ledger = Ledger()
    ledger.configured()
    items = [item(i, f"word{i}") for i in range(3)]
    for one in items:
        ledger.written(one)
    hot = HotBank(WIDTH)
    hot.apply(ledger.events, {one.id: loaded(one) for one in items})
    assert hot.candidates(cue("word1"), []).previous.tolist() == [-1, 0, 1]
    hot.apply([ledger(Kind.EVICTED, memory_id(1), reason="budget")], {})
    assert hot.candidates(cue("word1"), []).previous.tolist() == [-1, -1]


def test_the_nearest_memory_is_found() -> None:
    assert HotBank(2).best_cosine(floats(1, 0)) == (0.0, None)
    hot = hot_bank([item(0), item(1)], [floats(1, 0), floats(0.6, 0.8)])
    cosine, nearest = hot.best_cosine(floats(0, 1))
    assert cosine == pytest.approx(0.8)
    assert nearest is not None
    assert nearest.id == memory_id(1)


def test_what_the_ledger_says_of_a_memory_shows_on_it() -> None:
    ledger, one = Ledger(), item(0, "tea", importance=0.1)
    ledger.configured()
    ledger.written(one)
    hot = HotBank(WIDTH)
    hot.apply(ledger.events, {one.id: loaded(one)})
    hot.apply(
        [
            ledger(Kind.PINNED, one.id),
            ledger(Kind.RESCORED, one.id, importance=0.9, adapter="trained-2"),
            ledger(Kind.RECALLED, recall="r", memories=[str(one.id)], weights=[1.0]),
        ],
        {},
    )
    shown = hot.get(one.id)
    assert shown is not None
    assert (shown.pinned, shown.importance, shown.recalls) == (True, 0.9, 1)
    assert shown.last_recalled == ledger.events[-1].at


def test_a_memory_that_is_gone_leaves_no_word_behind() -> None:
    ledger, one = Ledger(), item(0, "secret tea")
    ledger.configured()
    ledger.written(one)
    hot = HotBank(WIDTH)
    hot.apply(ledger.events, {one.id: loaded(one)})
    empty = HotBank(WIDTH).size
    hot.apply([ledger(Kind.FORGOTTEN, one.id, until="", before="held")], {})
    assert (len(hot), len(hot.index), hot.by_content, hot.get(one.id)) == (0, 0, {}, None)
    assert hot.index.coverage(["secret"], 1).tolist() == [0.0]
    assert "secret" not in repr(vars(hot)) + repr(vars(hot.index))
    assert hot.size > empty
    check(hot)


def test_a_memory_that_was_erased_meanwhile_need_not_be_loaded() -> None:
    ledger, one = Ledger(), item(0, "tea")
    ledger.configured()
    ledger.written(one)
    hot = HotBank(WIDTH)
    hot.apply(ledger.events, {})
    with pytest.raises(BankError, match="disagree"):
        check(hot)
    hot.apply([ledger(Kind.ERASED, one.id)], {})
    check(hot)


def test_a_bank_whose_sizes_differ_is_told() -> None:
    hot = hot_bank([item(0, "tea")])
    hot.state.held_tokens += 1
    with pytest.raises(BankError, match="size"):
        check(hot)


def test_a_slot_is_used_again() -> None:
    ledger = Ledger()
    ledger.configured()
    hot = HotBank(WIDTH)
    first, second = item(0, "tea"), item(1, "bike")
    hot.apply([ledger.events[0], ledger.written(first), ledger(Kind.ERASED, first.id)], {first.id: loaded(first)})
    hot.apply([ledger.written(second)], {second.id: loaded(second)})
    found = hot.candidates(cue("bike"), ["bike"])
    assert [one.text for one in found.items] == ["bike"]
    assert found.cosine == pytest.approx([1.0])
    assert hot.words(second.id) == ["bike"]


# --- beside a vector adapter ----------------------------------------------------------------------------------------


def turned(width: int = 2, rank: int = 3, seed: int = 1) -> VectorAdapter:
    chance = np.random.default_rng(seed)
    down = chance.standard_normal((rank, width)).astype(np.float32)
    return VectorAdapter(down, chance.standard_normal((width, rank)).astype(np.float32), "toy")


def test_with_a_vector_adapter_candidates_have_their_cosines_in_its_space_too() -> None:
    hot, by = hot_bank([item(0, "tea"), item(1, "red bike")], [floats(1, 0), floats(0.6, 0.8)]), turned()
    away, asked = loaded(item(2, "tea tea"), floats(0, 1)), cue("tea", floats(0.8, -0.6))
    found = hot.candidates(asked, ["tea"], [away], by)
    rows, moved = by.adapted(np.array([[1, 0], [0.6, 0.8], [0, 1]], dtype=np.float32)), by.adapted(asked.vector[None])
    assert found.adapted == pytest.approx(rows @ moved[0], abs=1e-6)
    assert found.cosine == pytest.approx([0.8, 0.0, -0.6], abs=1e-6)  # the frozen ones stay beside them
    assert found.adapted != pytest.approx(found.cosine, abs=1e-2)
    assert hot.candidates(asked, ["tea"], [away]).adapted is None
    assert hot.all_vectors().tolist() == [[1.0, 0.0], pytest.approx([0.6, 0.8])]


def test_near_duplicates_are_looked_for_in_the_frozen_space() -> None:
    hot = hot_bank([item(0), item(1)], [floats(1, 0), floats(0.6, 0.8)])
    before = hot.best_cosine(floats(0, 1))
    hot.candidates(cue("tea", floats(0, 1)), [], by=turned())
    assert hot.best_cosine(floats(0, 1)) == before


def test_adapted_vectors_count_in_a_banks_size_while_they_are_used() -> None:
    hot = hot_bank([item(0), item(1)], [floats(1, 0), floats(0.6, 0.8)])
    before, asked = hot.size, cue("tea", floats(1, 0))
    hot.candidates(asked, [], by=turned())
    assert hot.size == before + 2 * 2 * 4
    hot.candidates(asked, [])
    assert hot.size == before


Step = tuple[str, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "evict", "restore", "pin", "forget", "unforget", "erase", "recall"]),
        st.integers(0, 7),
    ),
    max_size=40,
)


@given(STEPS, st.integers(1, 5))
@settings(max_examples=80, deadline=None)
def test_following_step_by_step_is_reading_afresh(steps: list[Step], batch: int) -> None:
    """Applying a ledger in batches gives the bank that a fresh load of what is there now gives."""
    ledger, words = _story(steps)
    live = HotBank(WIDTH)
    for start in range(0, len(ledger.events), batch):
        part = ledger.events[start : start + batch]
        live.apply(part, _brought(part, words))
    fresh = HotBank(WIDTH)
    fresh.apply(ledger.events, words)
    check(live)
    check(fresh)
    assert live.state == fresh.state == replay(ledger.events)
    asked = cue("tea bike word3")
    rows, afresh = _by_id(live, asked), _by_id(fresh, asked)
    assert rows.keys() == afresh.keys()
    for memory, (one, scores, *around) in rows.items():
        assert [one, *around] == [afresh[memory][0], *afresh[memory][2:]]
        assert scores == pytest.approx(afresh[memory][1], abs=1e-5)
    assert live.by_content == fresh.by_content


@given(STEPS, st.integers(1, 5), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_adapted_vectors_follow_whatever_is_held_and_dropped(steps: list[Step], batch: int, every: int) -> None:
    """Recalls in between, by one vector adapter or another or none, leave nothing stale behind."""
    ledger, words = _story(steps)
    live, asked, by = HotBank(WIDTH), cue("tea bike word3"), [None, turned(WIDTH, seed=1), turned(WIDTH, seed=2)]
    for number, start in enumerate(range(0, len(ledger.events), batch)):
        part = ledger.events[start : start + batch]
        live.apply(part, _brought(part, words))
        if every and number % every == 0:
            live.candidates(asked, [], by=by[number % 3])
    for one in by[1:]:
        assert one is not None
        anew = one.adapted(live.all_vectors()) @ one.adapted(asked.vector[None])[0]
        assert live.candidates(asked, [], by=one).adapted == pytest.approx(anew, abs=1e-5)


def _by_id(hot: HotBank, asked: Any) -> dict[UUID, tuple[MemoryItem, Any, Any, Any]]:
    found = hot.candidates(asked, terms(asked.text))
    order = {one.id: i for i, one in enumerate(found.items)}

    def neighbour(rows: np.ndarray, i: int) -> UUID | None:
        return found.items[rows[i]].id if rows[i] >= 0 else None

    return {
        one: (
            found.items[i],
            (float(found.cosine[i]), float(found.lexical[i]), float(found.coverage[i])),
            neighbour(found.previous, i),
            neighbour(found.next, i),
        )
        for one, i in order.items()
    }


def _story(steps: list[Step]) -> tuple[Ledger, dict[UUID, Loaded]]:
    """Only what can happen: each step is taken where the memory's state allows it."""
    ledger, words = Ledger(), {}
    ledger.configured()
    state: dict[int, State] = {}
    allowed: dict[str, Callable[[State | None], bool]] = {
        "write": lambda s: s is None,
        "evict": lambda s: s is State.HELD,
        "restore": lambda s: s is State.ARCHIVED,
        "pin": lambda s: s is State.HELD,
        "forget": lambda s: s in (State.HELD, State.ARCHIVED),
        "unforget": lambda s: s is State.FORGOTTEN,
        "erase": lambda s: s not in (None, State.ERASED),
        "recall": lambda s: s is State.HELD,
    }
    for step, number in steps:
        if not allowed[step](state.get(number)):
            continue
        one = item(number, f"tea word{number}")
        if step == "write":
            ledger.written(one)
            words[one.id] = loaded(replace(one, importance=0.0))
            state[number] = State.HELD
        elif step == "evict":
            ledger(Kind.EVICTED, one.id, reason="budget")
            state[number] = State.ARCHIVED
        elif step == "restore":
            ledger(Kind.RESTORED, one.id, reason="asked")
            state[number] = State.HELD
        elif step == "pin":
            ledger(Kind.PINNED, one.id)
        elif step == "forget":
            ledger(Kind.FORGOTTEN, one.id, until="", before=state[number].value)
            state[number] = State.FORGOTTEN
        elif step == "unforget":
            ledger(Kind.UNFORGOTTEN, one.id, to="held")
            state[number] = State.HELD
        elif step == "erase":
            ledger(Kind.ERASED, one.id)
            state[number] = State.ERASED
        else:
            ledger(Kind.RECALLED, recall="r", memories=[str(one.id)], weights=[1.0])
    return ledger, words


def _brought(events: list[Any], words: dict[UUID, Loaded]) -> dict[UUID, Loaded]:
    """What a reader of only these events would load: what they put into the bank, not what was there before."""
    put = {event.memory for event in events if event.kind in (Kind.WRITTEN, Kind.RESTORED, Kind.UNFORGOTTEN)}
    return {memory: found for memory, found in words.items() if memory in put}
