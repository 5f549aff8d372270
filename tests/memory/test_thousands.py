"""Counts in sentences are grouped; ordinals, and what is no whole number, stay as they are."""

from __future__ import annotations

import pytest
from django.template import Context, Template
from django.utils import translation
from django.utils.translation import ngettext, ngettext_lazy

from memory.thousands import Count, counted, grouped


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0"), (999, "999"), (1000, "1,000"), (12345678, "12,345,678"), (-4321, "-4,321")]
)
def test_thousands_stand_in_groups(number: int, told: str) -> None:
    assert grouped(number) == str(Count(number)) == told


def test_a_sentence_groups_its_counts_and_no_turn() -> None:
    told = "%(n)s memories after turn %(turn)d, %(share).1f %% of %(most)s by %(name)s, surely: %(sure)s"
    values = {"n": 10000, "turn": 5000, "share": 12.345, "most": 81000, "name": "lru", "sure": True}
    assert told % counted(values) == "10,000 memories after turn 5000, 12.3 % of 81,000 by lru, surely: True"


def test_singular_and_plural_are_chosen_as_before() -> None:
    lazy = ngettext_lazy("%(n)s memory", "%(n)s memories", "n")
    for n, told in ((1, "1 memory"), (2, "2 memories"), (1001, "1,001 memories")):
        assert str(lazy % counted({"n": n})) == told
        assert ngettext("%(n)s memory", "%(n)s memories", n) % counted({"n": n}) == told


def test_a_page_groups_them_as_its_language_does() -> None:
    page = Template(
        "{% load i18n thousands %}{% blocktranslate with told=n|grouped count n=n %}{{ told }} turn{% plural %}"
        "{{ told }} turns{% endblocktranslate %} {{ none|grouped }}{{ n }}"
    )
    assert page.render(Context({"n": 10000, "none": ""})) == "10,000 turns 10000"
    assert page.render(Context({"n": 1, "none": ""})) == "1 turn 1"
    with translation.override("de"):
        assert grouped(10000) == "10.000"
