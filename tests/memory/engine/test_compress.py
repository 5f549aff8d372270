"""Step-level compression: whole steps in their order, a floor that stays, a budget that holds, markers that count."""

import re
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.compress import FloorRules, Message, compress, from_openai, from_text, split_steps
from memory.engine.text import count_tokens

SYSTEM = {"role": "system", "content": "You are an airline agent."}
TASK = {"role": "user", "content": "Please cancel my booking."}
MARKER = re.compile(r"^\[(\d+) earlier steps? left out\]$")


def call(id: str, name: str, arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]}


def result(id: str, text: str) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": id, "content": text}


VOCABULARY = ["the", "booking", "AB12CD", "user", "mia_li_3668", "costs", "1250", "euros", "drawer", "2", "no"]
WORDS = st.lists(st.sampled_from(VOCABULARY), max_size=30)


@st.composite
def message_lists(draw: st.DrawFn) -> list[dict[str, object]]:
    """A valid list: a system prompt, a task, then words and calls with one result for each."""
    out: list[dict[str, object]] = [SYSTEM, TASK]
    for number in range(draw(st.integers(0, 25))):
        text = " ".join(draw(WORDS))
        form = draw(st.sampled_from(["user", "assistant", "call", "two calls"]))
        if form in ("user", "assistant"):
            out.append({"role": form, "content": text})
            continue
        calls = [call(f"c{number}.{at}", "look", f'{{"of": "{text}"}}') for at in range(1 + (form == "two calls"))]
        out.append({**calls[0], "tool_calls": [one for made in calls for one in made["tool_calls"]]})  # type: ignore[attr-defined]
        out += [result(f"c{number}.{at}", " ".join(draw(WORDS))) for at in range(len(calls))]
    return out


def marked(message: Mapping[str, object]) -> int:
    """How many steps a marker stands for; 0 for a message that is none."""
    found = MARKER.match(str(message["content"]))
    return int(found[1]) if found else 0


@given(message_lists(), st.integers(0, 600), st.integers(0, 4))
def test_whole_steps_stay_in_order_and_markers_count_the_others(
    listed: list[dict[str, object]], budget: int, last: int
) -> None:
    done = compress(from_openai(listed), budget, rules=FloorRules(last_steps=last))
    out = done.to_openai()
    places = {id(message): at for at, message in enumerate(listed)}
    kept = [places[id(message)] for message in out if not marked(message)]
    assert kept == sorted(set(kept))
    for step in done.steps:
        inside = [at in kept for at in range(step.start, step.stop)]
        assert all(inside) or not any(inside)
    assert sum(marked(message) for message in out) == len(done.dropped)
    assert sorted([*done.kept, *done.dropped]) == list(range(len(done.steps)))


@given(message_lists(), st.integers(0, 600))
def test_the_budget_holds_unless_the_floor_alone_is_larger(listed: list[dict[str, object]], budget: int) -> None:
    done = compress(from_openai(listed), budget)
    assert done.tokens == sum(count_tokens(message.shown) for message in done.messages)
    assert done.over_budget == (done.tokens > budget)
    assert done.tokens <= done.tokens_before
    assert done.floor <= set(done.kept)


@given(message_lists(), st.integers(0, 600))
def test_every_result_follows_its_call(listed: list[dict[str, object]], budget: int) -> None:
    waiting: set[str] = set()
    for message in compress(from_openai(listed), budget).messages:
        if message.answers:
            assert message.answers in waiting
            waiting.discard(message.answers)
        else:
            assert not waiting
        waiting |= {one.id for one in message.calls}
    assert not waiting


def test_a_list_within_its_budget_comes_back_as_it_is() -> None:
    listed = [SYSTEM, TASK, call("1", "find", '{"id": "AB12CD"}'), result("1", "found"), TASK, TASK]
    done = compress(from_openai(listed), 10_000)
    assert [id(one) for one in done.to_openai()] == [id(one) for one in listed]
    assert (done.dropped, done.over_budget) == ((), False)


def long_talk() -> list[dict[str, object]]:
    """The booking's number is told once, early, between much talk about nothing."""
    chatter = {"role": "assistant", "content": "Certainly, let me see what can be done about this for you, dear guest."}
    told = {"role": "user", "content": "The booking is AB12CD, for mia_li_3668."}
    return [SYSTEM, TASK, chatter, told, *[dict(chatter) for _ in range(12)], {"role": "user", "content": "Go on."}]


def test_what_only_one_step_shows_stays_before_what_all_say() -> None:
    listed = long_talk()
    done = compress(from_openai(listed), 95)
    assert not done.over_budget
    assert any(message is listed[3] for message in done.to_openai())
    assert len(done.dropped) > 8


def test_of_two_steps_that_show_the_same_identifier_one_is_enough() -> None:
    twice = {"role": "user", "content": "The booking is AB12CD, for mia_li_3668 and all her people, made in spring."}
    other = {"role": "user", "content": "Pay it with credit_card_4421, please do."}
    tail = [{"role": "assistant", "content": "Well then."} for _ in range(3)]
    listed = [SYSTEM, TASK, twice, dict(twice), other, *tail]
    whole = compress(from_openai(listed), 10_000).tokens
    done = compress(from_openai(listed), whole - 5)
    assert any(message is other for message in done.to_openai())
    assert done.dropped in {(2,), (3,)}


def test_a_floor_larger_than_the_budget_comes_back_alone_and_says_so() -> None:
    done = compress(from_openai(long_talk()), 5)
    assert done.over_budget
    assert set(done.kept) == done.floor


def test_the_floor_keeps_the_task_the_last_steps_and_the_latest_failure() -> None:
    listed = [SYSTEM, TASK, call("1", "find", "{}"), result("1", "Error: no such flight"), *[dict(TASK)] * 6]
    done = compress(from_openai(listed), 0, rules=FloorRules(last_steps=2))
    assert done.floor == {0, 1, 2, 7, 8}
    without = FloorRules(last_steps=0, task=False, last_error=False)
    assert compress(from_openai(listed), 0, rules=without).floor == {0}
    assert compress(from_openai(listed), 0, rules=FloorRules(0, last_error=False, first_action=True)).floor == {0, 1, 2}


def test_a_result_that_comes_late_draws_what_is_between_into_its_step() -> None:
    two = {**call("a", "find", "{}")}
    two["tool_calls"] = [*two["tool_calls"], *call("b", "find", "{}")["tool_calls"]]  # type: ignore[has-type,misc]
    listed = [TASK, two, result("a", "one"), {"role": "user", "content": "?"}, result("b", "two"), TASK]
    assert [(step.start, step.stop) for step in split_steps(from_openai(listed))] == [(0, 1), (1, 5), (5, 6)]


def test_a_text_log_is_read_as_steps_of_action_and_observation_and_loses_nothing() -> None:
    text = (
        "You see a drawer 1.\nTask: find it.\n> think: look\n> open drawer 1\nIt is empty.\n> wait\nNothing happens.\n"
    )
    messages = from_text(text)
    assert "".join(message.text for message in messages) == text
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert [(step.start, step.stop) for step in split_steps(messages)] == [(0, 1), (1, 3), (3, 5)]


def test_tokens_are_counted_by_the_function_that_is_passed_in() -> None:
    done = compress(from_openai(long_talk()), 10**6, count=len)
    assert done.tokens == sum(len(message.shown) for message in done.messages)


def test_vectors_stand_one_for_each_step() -> None:
    messages = from_openai(long_talk())
    vectors = np.eye(len(messages), dtype=np.float32)
    assert not compress(messages, 75, vectors=vectors).over_budget
    with pytest.raises(ValueError, match="16 vectors"):
        compress(messages, 75, vectors=vectors[:-1])


def test_content_in_parts_is_read_for_its_text() -> None:
    parts = [{"type": "text", "text": "See this."}, {"type": "image_url", "image_url": {"url": "data:..."}}]
    assert from_openai([{"role": "user", "content": parts}]) == (Message("user", "See this."),)


@pytest.mark.parametrize("wrong", [{}, {"role": ""}, {"role": 3, "content": "x"}])
def test_a_message_without_a_role_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="Message 2 has no role"):
        from_openai([TASK, wrong])


def test_budgets_and_floors_below_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="-1 tokens"):
        compress(from_openai([TASK]), -1)
    with pytest.raises(ValueError, match="-2 steps"):
        FloorRules(last_steps=-2)
