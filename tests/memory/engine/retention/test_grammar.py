"""Policies by name: one object a meaning, and a sentence for each mistake."""

import pytest

from memory.engine.retention import POLICIES, PolicyError, policy_named


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("importance", "importance"),
        ("chains", "chains+importance"),
        ("floor(recent=6)+chains", "chains+floor(recent=6)+importance"),
        (" chains + floor( recent = 6 ) + lru ", "chains+floor(recent=6)+lru"),
        ("floor(recent=4,opening=1)+fifo()", "floor+fifo"),
        ("decay(days=2)", "decay(days=2.0)"),
        ("random(seed=7)", "random(seed=7)"),
        ("merge", "merge+importance"),
        ("merge(similarity=.5, most=3)+chains+fifo", "chains+merge(similarity=0.5,most=3)+fifo"),
        ("threshold(below=.05)", "threshold"),
        ("latest(share=0.15,fade=0)", "latest"),
        ("floor+latest( fade = .01, share = 1 )", "floor+latest(share=1.0,fade=0.01)"),
    ],
)
def test_a_policy_has_one_spelling_and_is_one_object(text: str, name: str) -> None:
    assert policy_named(text).name == name
    assert policy_named(text) is policy_named(name)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no part of a retention policy"),
        ("oldest", "There is no retention policy “oldest”. There are: fifo, random"),
        ("fifo+lru", "names 2"),
        ("importance+chains", "comes last"),
        ("chains+chains+fifo", "the same part twice"),
        ("floor(latest=3)", "has no “latest”. There is: recent, opening."),
        ("fifo(recent=3)", "It has none."),
        ("floor(recent)", "“recent” sets nothing"),
        ("floor(recent=1,recent=2)", "once"),
        ("floor(recent=many)", "must be a whole number, not “many”"),
        ("floor(recent=-1)", "must be from 0 to 10000"),
        ("threshold(below=2)", "must be from 0 to 1"),
        ("latest(share=-1)", "must be from 0 to 10"),
        ("latest(fade=11)", "must be from 0 to 10"),
        ("latest(days=1)", "has no “days”. There is: share, fade."),
        ("decay(days=nan)", "must be a number"),
        ("decay(days=0)", "must be from"),
        ("merge(most=1)", "must be from 2 to 20"),
        ("merge(similarity=2)", "must be from 0 to 1"),
        ("merge(share=2)", "must be from 0.1 to 1"),
        ("chains(inner=fifo)", "has no “inner”"),
        ("floor(recent=6", "is no part"),
        ("chains+" * 40 + "fifo", "at most 120 characters"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(text: str, says: str) -> None:
    with pytest.raises(PolicyError) as error:
        policy_named(text)
    assert says in error.value.sentence


def test_every_policy_that_ranks_is_in_the_register_under_its_own_name() -> None:
    assert {policy.name for policy in POLICIES.values()} == set(POLICIES)
