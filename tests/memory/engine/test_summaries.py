"""A stretch in a few of its own sentences."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import pytest

from memory.engine import summaries
from memory.engine.bank import BankEvent, BankState, Kind, apply, replay
from memory.engine.summaries import KIND, SHARE, can_sum_up, new_item, new_side, summary_of
from memory.engine.text import count_tokens
from memory.engine.types import MemoryItem, Place, Role, Side
from tests.toy import ToyEncoder

BEGAN = datetime(2026, 5, 8, 9, tzinfo=UTC)
TALK = [
    ("Ana", "My sister Vera moved to Lisbon in May. It was a long drive.", 0.9),
    ("Ben", "Oh, nice! Thanks for telling me.", 0.1),
    ("Ana", "She works at the harbour in Lisbon now. The harbour is loud.", 0.7),
    ("Ben", "My own brother Tom paints boats at a harbour as well.", 0.4),
    ("Ana", "I had porridge. It was warm. Then I had some more of it. It was fine.", 0.2),
    ("Ben", "The weather stays as it was yesterday, they say, grey and rather cold.", 0.1),
]


def stretch() -> tuple[list[MemoryItem], np.ndarray]:
    items = [
        MemoryItem(
            UUID(int=n + 1), text, Role.USER if who == "Ana" else Role.OTHER, who, BEGAN + timedelta(minutes=n),
            count_tokens(text), worth, UUID(int=100 + n), Side.OBSERVATION, Place(UUID(int=7), 0, n), written=n + 1,
        )
        for n, (who, text, worth) in enumerate(TALK)
    ]  # fmt: skip
    return items, ToyEncoder().encode([item.text for item in items])


def test_a_summary_is_whole_sentences_of_its_parts_in_order_with_the_speakers_where_there_are_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(summaries, "SHARE", 0.6)
    items, vectors = stretch()
    items[3] = replace(items[3], importance=0.95)  # Ben's
    summary = summary_of(items, vectors)
    assert summary is not None
    lines = summary.run.text.split("\n")
    assert {line.split(": ", 1)[0] for line in lines} == {"Ana", "Ben"}
    told = " ".join(text for _, text, _ in TALK)
    for line in lines:
        for sentence in line.split(": ", 1)[1].split(". "):
            assert sentence.rstrip(".") in told
    assert list(summary.run.parts) == sorted(summary.run.parts, key=lambda part: part.place.position)


def test_it_keeps_what_matters_within_its_budget_and_leaves_courtesy_out() -> None:
    items, vectors = stretch()
    summary = summary_of(items, vectors)
    assert summary is not None
    assert "Vera moved to Lisbon" in summary.run.text
    assert "Thanks" not in summary.run.text
    assert count_tokens(summary.run.text) <= SHARE * sum(item.tokens for item in items)
    assert summary_of(items, vectors, tokens=3) is None


def test_its_parts_are_only_the_memories_whose_sentences_stand_in_it() -> None:
    items, vectors = stretch()
    summary = summary_of(items, vectors)
    assert summary is not None
    for part in items:
        quoted = any(sentence in summary.run.text for sentence in part.text.split(". ") if len(sentence) > 12)
        assert quoted == (part in summary.run.parts)


def test_too_short_a_stretch_has_no_summary() -> None:
    items, vectors = stretch()
    assert summary_of(items[:3], vectors[:3]) is None


def test_what_tools_return_and_code_never_stand_in_one() -> None:
    item = stretch()[0][0]
    assert can_sum_up(item)
    assert not can_sum_up(replace(item, role=Role.TOOL))
    assert not can_sum_up(replace(item, text="```\nx = 1\n```"))
    assert not can_sum_up(replace(item, kind="merged"))
    assert not can_sum_up(replace(item, kind=KIND))


def test_as_a_memory_it_has_its_first_parts_place_and_the_mean_of_their_vectors() -> None:
    items, vectors = stretch()
    summary = summary_of(items, vectors)
    assert summary is not None
    own = vectors[[items.index(part) for part in summary.run.parts]]
    side = new_side(summary, own, 9)
    item = new_item(summary, side)
    assert (item.kind, item.place) == (KIND, summary.run.parts[0].place)
    assert max(part.importance for part in summary.run.parts) <= item.importance <= 1
    assert np.isclose(np.linalg.norm(side.vector), 1)
    assert side.id != new_side(summary, own, 10).id
    assert side.content == new_side(summary, own, 10).content


def state_with(*more: BankEvent) -> BankState:
    written = {"tokens": 9, "importance": 0.5, "adapter": "a"}
    events = [
        BankEvent(1, Kind.CONFIGURED, BEGAN, None, {"memories": 9, "tokens": 99, "policy": "importance"}),
        BankEvent(2, Kind.WRITTEN, BEGAN, UUID(int=1), written),
        BankEvent(3, Kind.EVICTED, BEGAN, UUID(int=1), {"reason": "budget"}),
        BankEvent(4, Kind.WRITTEN, BEGAN, UUID(int=2), {**written, "parts": [str(UUID(int=1))], "formed": KIND}),
    ]
    return replay([*events, *more])


def test_the_fold_names_the_summary_at_each_part_and_leaves_the_part_where_it_was() -> None:
    marks = state_with().marks
    assert (marks[UUID(int=1)].into, marks[UUID(int=1)].reason) == (UUID(int=2), "budget")
    assert (marks[UUID(int=2)].parts, marks[UUID(int=2)].formed) == ((UUID(int=1),), KIND)
    state = apply(state_with(), BankEvent(5, Kind.ERASED, BEGAN, UUID(int=2)))
    assert state.marks[UUID(int=1)].into is None
    assert (state.marks[UUID(int=2)].parts, state.marks[UUID(int=2)].formed) == ((), "")
