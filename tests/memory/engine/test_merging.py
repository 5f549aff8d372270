"""Merging: which memories make a run, in which words they go on, and what a bank that merges promises."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.bank import BankEvent, Kind, replay
from memory.engine.features import Context, negations
from memory.engine.hot import check
from memory.engine.merging import Run, can_merge, general_text, run_round
from memory.engine.prior import prior
from memory.engine.replay import PrivateBank, ReplayTurn
from memory.engine.retention import policy_named
from memory.engine.retention.policy import Merging
from memory.engine.text import WINDOW_TOKENS, count_tokens, sentences
from memory.engine.types import Budget, MemoryItem, Place, Role, State
from tests.memory.engine.toy_bank import CONVERSATION, NOON, floats, hot_bank, item, memory_id, new_side, turn_id
from tests.toy import WIDTH

ALL = Merging(0.6, 6, 1)
WORDS = ["tea", "bike", "harbour", "Anna", "Lisbon", "fish", "red", "likes", "sold", "not", "never", "without", "May"]
said = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(lambda words: " ".join(words).capitalize() + "."),
    min_size=1, max_size=4,
).map(" ".join)  # fmt: skip


def even(word: str) -> float:
    return 1.0


def by(speaker: str, *texts: str) -> list[MemoryItem]:
    return [item(number, text, speaker=speaker) for number, text in enumerate(texts)]


# --- words ----------------------------------------------------------------------------------------------------------


def test_a_worked_example() -> None:
    """By hand: courtesy goes, what is said twice is said once, an answer and what negates stay, speakers are named."""
    parts = [
        item(0, "Hello! My dog is called Bruno. He is a brown beagle from Porto.", speaker="Ann"),
        item(1, "Nice! Does Bruno eat fish?", speaker="Ben", role=Role.OTHER),
        item(2, "No. Bruno does not eat fish. My dog is called Bruno.", speaker="Ann"),
    ]
    assert [part.tokens for part in parts] == [16, 7, 14]
    text = general_text(parts, 0.9, even)
    assert text == (
        "Ann: My dog is called Bruno. He is a brown beagle from Porto.\n"
        "Ben: Does Bruno eat fish?\n"
        "Ann: No. Bruno does not eat fish."
    )
    assert count_tokens(text) == 33 <= 0.9 * 37
    run = Run(tuple(parts), text)
    assert (run.role, run.speaker) == (Role.OTHER, "Ann, Ben")  # not all of it is the user's word


def test_for_room_the_sentences_with_the_fewest_rare_words_go_and_never_the_last_of_a_part() -> None:
    parts = by("Ann", "I have a bike. The bike came from Lisbon.", "So it is with me these days. I sold a boat.")
    idf = {"bike": 1.0, "lisbon": 3.0, "day": 0.5, "sold": 2.0, "boat": 3.0, "came": 1.0}
    assert general_text(parts, 0.7, lambda word: idf.get(word, 0.0)) == "The bike came from Lisbon. I sold a boat."
    assert general_text(parts, 0.3, even) is None  # one sentence of each does not fit


def test_speakers_are_not_named_where_one_speaks() -> None:
    assert general_text(by("Ann", "I like tea.", "I like tea. I like tea."), 0.9, even) == "I like tea."


def test_the_same_words_of_two_people_are_said_by_both() -> None:
    parts = [item(0, "I like green tea.", speaker="Ann"), item(1, "I like green tea.", speaker="Ben"),
             item(2, "I like green tea. I like green tea.", speaker="Ben")]  # fmt: skip
    assert general_text(parts, 0.9, even) == "Ann: I like green tea.\nBen: I like green tea."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I eat fish.", "I do not eat fish."),
        ("I never eat fish at home.", "I eat fish at home."),
        ("Dogs bite men.", "Men bite dogs."),
        ("We meet at 5.", "We meet at 6."),
    ],
)
def test_what_differs_in_what_it_says_is_no_repetition(one: str, other: str) -> None:
    long = "The harbour was full of red and blue boats from Lisbon."
    text = general_text(by("Ann", one, other, long, long), 0.9, even)
    assert text is not None
    assert one in text
    assert other in text


@given(st.lists(st.tuples(said, st.sampled_from(["Ann", "Ben"])), min_size=2, max_size=6), st.floats(0.1, 0.9))
def test_no_sentence_that_negates_is_lost_and_the_words_are_fewer(told: list[tuple[str, str]], share: float) -> None:
    parts = [item(number, text, speaker=speaker) for number, (text, speaker) in enumerate(told)]
    text = general_text(parts, share, even)
    if text is None:
        return
    assert count_tokens(text) <= min(WINDOW_TOKENS, share * sum(part.tokens for part in parts))
    kept = {
        sentence
        for line in text.split("\n")
        for sentence in sentences(line.removeprefix("Ann: ").removeprefix("Ben: "))
    }
    everything = {sentence for part in parts for sentence in sentences(part.text)}
    assert kept <= everything
    for sentence in everything - kept:
        if negations(sentence):
            assert any(_says(one, sentence) for one in kept), sentence


def _says(one: str, other: str) -> bool:
    words = iter(one.casefold().strip(".").split())
    return negations(one) == negations(other) and all(
        word in words for word in other.casefold().strip(".").split() if word not in ("not", "without")
    )


# --- runs -----------------------------------------------------------------------------------------------------------

NEAR = floats(1, 0), floats(0.95, 0.3122), floats(0.8, 0.6), floats(0, 1)  # cosines to the first 1, .95, .8, 0


def run_of(items: list[MemoryItem], *vectors: Any, round_: int = 0, merging: Merging = ALL) -> list[int] | None:
    hot = hot_bank(items, vectors)
    found = run_round(items[round_], hot, merging, can_merge)
    return [part.id.int - memory_id(0).int for part in found.parts] if found else None


def numbered(*texts: str, **fields: Any) -> list[MemoryItem]:
    return [item(number, text, **fields) for number, text in enumerate(texts)]


FOUR = numbered("Ann keeps bees.", "Bees need a red garden.", "A garden needs water.", "The train is late.")


def test_a_run_is_what_is_near_in_time_and_in_meaning() -> None:
    assert run_of(FOUR, *NEAR) == [0, 1, 2]
    assert run_of(FOUR, *NEAR, round_=2) == [0, 1, 2]
    assert run_of(FOUR, *NEAR[:2], floats(0.7, 0.7142), NEAR[3], round_=3) == [2, 3]
    assert run_of(FOUR, *NEAR[:2], NEAR[0], NEAR[3], round_=3) is None
    assert run_of(FOUR, *NEAR, merging=Merging(0.6, 2, 1)) == [0, 1]
    assert run_of(FOUR, *NEAR, merging=Merging(0.97, 6, 0.9)) is None


def test_each_pair_must_be_near_so_that_small_steps_do_not_lead_away() -> None:
    steps = [floats(np.cos(angle), np.sin(angle)) for angle in (0, 0.7, 1.4, 2.1)]  # neighbours .76, else .17
    assert run_of(FOUR, *steps) == [0, 1]


@pytest.mark.parametrize(
    "other",
    [
        {"pinned": True},
        {"kind": "merged"},
        {"role": Role.TOOL},
        {"role": Role.ASSISTANT},
        {"text": "Thanks a lot!"},
        {"text": "Bees:\n```\nbees = 3\n```"},
        {"place": Place(CONVERSATION, 1, 1)},
        {"place": Place(turn_id(9), 0, 1)},
        {"place": Place(CONVERSATION, 0, 6)},
        {"at": NOON + timedelta(hours=25)},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_never_merged_with_a_persons_words(other: dict[str, Any]) -> None:
    one = item(0, "Ann keeps bees in her garden.")
    assert run_of([one, item(1, "Bees need a red garden.")], *NEAR[:2]) == [0, 1]
    assert run_of([one, item(1, **{"text": "Bees need a red garden.", **other})], *NEAR[:2]) is None


# --- a bank that merges ---------------------------------------------------------------------------------------------


def told(texts: list[str], policy: str, budget: Budget, pinned: frozenset[int] = frozenset()) -> PrivateBank:
    """A bank that was told these, one a turn; the `pinned` ones are pinned at once."""
    bank = PrivateBank(WIDTH, budget, policy_named(policy), prior(), NOON)
    for number, text in enumerate(texts):
        at = NOON + timedelta(minutes=number)
        side = new_side(number, text, speaker="Ann" if number % 3 else "Ben")
        bank.tell(ReplayTurn(turn_id(number), number + 1, at, None, [(side, Context(False, number == 0, 0.0))]))
        if number in pinned and bank.hot.get(side.id):
            bank.hot.apply([BankEvent(bank.hot.state.seq + 1, Kind.PINNED, at, side.id)], {})
        check(bank.hot)
    return bank


@given(
    st.lists(said, min_size=1, max_size=14), st.integers(2, 6), st.integers(30, 120),
    st.sampled_from(["merge(similarity=0.0,share=1.0)", "merge(similarity=0.3)+fifo", "floor(recent=1)+merge+lru",
                     "chains+merge(similarity=0.1,most=3)+importance"]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_a_bank_that_merges_keeps_its_promises(texts: list[str], memories: int, tokens: int, policy: str) -> None:
    bank = told(texts, policy, Budget(memories, tokens), pinned=frozenset({0}))
    state = bank.hot.state
    assert state.held <= memories
    assert state.held_tokens <= tokens
    seen: set[Any] = set()
    for memory, mark in state.marks.items():
        assert not mark.pinned or mark.state is State.HELD
        if not mark.parts:
            assert (mark.reason == "merged") <= (mark.into is not None)
            continue
        parts = [state.marks[part] for part in mark.parts]
        assert seen.isdisjoint(mark.parts)  # nothing is in two
        seen.update(mark.parts)
        assert len(parts) > 1
        assert all(part.into == memory and not part.parts for part in parts)
        assert mark.importance == max(part.importance for part in parts)
        assert mark.written == max(part.written for part in parts)
        assert mark.tokens <= min(WINDOW_TOKENS, sum(part.tokens for part in parts))
        held = bank.hot.get(memory)
        assert held is None or held.kind == "merged"


TALK = [
    "My dog Bruno is a brown beagle.",
    "Hello! Thanks, bye. Bruno, the brown beagle, is not fond of cats.",
    "The train to Porto was late.",
    "I sold my boat in Lisbon.",
]


def test_round_what_would_leave_a_run_is_merged_and_the_facts_stay() -> None:
    plain, merging = (
        told(TALK, policy, Budget(3, 1000)) for policy in ("fifo", "merge(similarity=0.4,share=1.0)+fifo")
    )
    assert [one.text for one in plain.hot] == TALK[1:]
    texts = {one.text for one in merging.hot}
    assert texts == {f"Ben: {TALK[0]}\nAnn: {TALK[1].removeprefix('Hello! Thanks, bye. ')}", *TALK[2:]}
    (made,) = [one for one in merging.hot if one.kind == "merged"]
    assert (made.speaker, made.written, made.turn) == ("Ben, Ann", 3, turn_id(0))
    vectors = np.stack([new_side(0, text).vector for text in TALK[:2]])
    mean = vectors.mean(axis=0)
    np.testing.assert_allclose(merging.hot.vectors([made.id])[0], mean / np.linalg.norm(mean), rtol=1e-5)
    assert merging.holds(memory_id(0))
    assert merging.holds(memory_id(1))


def test_the_events_name_the_parts_and_where_they_went_and_no_words() -> None:
    bank = PrivateBank(WIDTH, Budget(3, 1000), policy_named("merge(similarity=0.4,share=1.0)+fifo"), prior(), NOON)
    events: list[BankEvent] = []
    apply = bank.hot.apply
    bank.hot.apply = lambda more, loaded: (events.extend(more), apply(more, loaded))[1]  # type: ignore[method-assign]
    for number, text in enumerate(TALK):
        side = new_side(number, text)
        bank.tell(ReplayTurn(turn_id(number), number + 1, NOON, None, [(side, Context(False, False, 0.0))]))
    (written,) = [event for event in events if "parts" in event.data]
    gone = [event for event in events if event.kind is Kind.EVICTED]
    assert written.data["parts"] == [str(memory_id(0)), str(memory_id(1))]
    assert "features" not in written.data  # what is usual for a role is of what was told
    assert [(event.memory, event.data["reason"], event.data["into"]) for event in gone] == [
        (memory_id(0), "merged", str(written.memory)),
        (memory_id(1), "merged", str(written.memory)),
    ]
    assert "Bruno" not in str([event.data for event in events])
    configured = BankEvent(1, Kind.CONFIGURED, NOON, None, {"memories": 3, "tokens": 1000, "policy": ""})
    assert replay([configured, *events]).marks == bank.hot.state.marks


def test_an_erased_merged_memory_sets_its_parts_free() -> None:
    bank = told(TALK, "merge(similarity=0.4,share=1.0)+fifo", Budget(3, 1000))
    (made,) = [one for one in bank.hot if one.kind == "merged"]
    state, seq = bank.hot.state, bank.hot.state.seq
    assert state.marks[memory_id(0)].into == made.id
    bank.hot.apply([BankEvent(seq + 1, Kind.ERASED, NOON, made.id)], {})
    assert state.marks[made.id].parts == ()
    assert state.marks[memory_id(0)].into is None
    assert state.statistics.count(Role.USER) == len(TALK)
