"""One value of labels that disagree: people outrank machines, and many hints are not a judgement."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.memory.services.desk import Desk
from training.models import About, Label
from training.services.judgements import judged, judged_by_people, settled

ONE = uuid4()


def of_one(*labels: tuple[str, float, float]) -> tuple[float, float]:
    return settled([(ONE, *label) for label in labels])[ONE]


def test_where_people_judged_the_memory_itself_nothing_else_counts() -> None:
    assert of_one(("queue", 0.25, 1), ("hindsight", 1, 0.4), ("imported", 1, 1), ("thumb", 1, 0.2)) == (0.25, 1)


def test_people_who_disagree_are_averaged_by_weight_and_count_each() -> None:
    value, weight = of_one(("queue", 1, 1), ("queue", 0.5, 1), ("action", 0, 0.5))
    assert (value, weight) == (pytest.approx(1.5 / 2.5), 2.5)


def test_sources_without_a_person_are_averaged_by_weight() -> None:
    value, weight = of_one(("hindsight", 1, 0.3), ("model", 0.5, 0.2))
    assert (value, weight) == (pytest.approx(0.4 / 0.5), pytest.approx(0.5))


def test_ten_hints_from_one_source_weigh_as_much_as_its_heaviest() -> None:
    value, weight = of_one(*[("regret", 1, 0.2)] * 10, ("hindsight", 0, 0.2))
    assert (value, weight) == (pytest.approx(0.5), pytest.approx(0.4))


def test_all_sources_without_a_person_weigh_together_at_most_as_one_persons_judgement() -> None:
    value, weight = of_one(("imported", 1, 1), ("hindsight", 0, 0.5))
    assert (value, weight) == (pytest.approx(1 / 1.5), 1.0)


def test_a_bank_is_judged_by_its_own_labels_of_importance_and_by_no_comparison(desk: Desk) -> None:
    desk.tell("My sister lives in Porto", "I see.")
    desk.tell("I moved to Ghent", "I see.")
    sister, ghent = (desk.memory(text) for text in ("My sister lives in Porto", "I moved to Ghent"))
    with desk.acting():
        common = {"owner_id": desk.person.pk, "text": "x"}
        Label.objects.create(memory=sister, about=About.IMPORTANCE, source="hindsight", value=1, weight=0.3, **common)
        Label.objects.create(memory=sister, about=About.RELEVANCE, source="thumb", value=0, weight=0.3, **common)
        Label.objects.create(
            memory=ghent, other=sister, about=About.IMPORTANCE, source="queue", value=1, by=desk.person, **common
        )
        assert judged(desk.bank_id) == {sister.pk: (1, pytest.approx(0.3))}
        assert judged_by_people(desk.bank_id) == set()
        Label.objects.create(memory=ghent, about=About.IMPORTANCE, source="queue", value=0.5, by=desk.person, **common)
        assert judged_by_people(desk.bank_id) == {ghent.pk}
