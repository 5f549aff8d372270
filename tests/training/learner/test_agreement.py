"""Krippendorff's alpha against the published example and numbers worked by hand."""

from __future__ import annotations

import pytest

from training.learner.agreement import Scale, alpha, coincidences

# Four observers, twelve units, some values missing: the example of "Computing Krippendorff's Alpha-Reliability" (2011).
PUBLISHED = [
    [1, 1, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4], [4, 4, 4, 4], [1, 1, 2, 1],
    [2, 2, 2, 2], [5, 5, 5], [1, 1], [3],
]  # fmt: skip


@pytest.mark.parametrize(("scale", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_example_gives_the_published_alphas(scale: Scale, published: float) -> None:
    assert alpha(PUBLISHED, scale) == pytest.approx(published, abs=5e-4)


def test_the_published_coincidences_are_met() -> None:
    values = sorted({value for unit in PUBLISHED for value in unit})
    met = coincidences([unit for unit in PUBLISHED if len(unit) > 1], values)
    assert met.sum(axis=1).tolist() == pytest.approx([9, 13, 10, 5, 3])
    assert met[0].tolist() == pytest.approx([7, 4 / 3, 1 / 3, 1 / 3, 0])


def test_two_judges_by_hand() -> None:
    # units 0-0, 0-1, 1-1: coincidences [[2, 1], [1, 2]], each value three times;
    # observed 2 of 6 pairs differ, expected 2 * 3 * 3 / 5 = 3.6: alpha = 1 - 2 / 3.6
    assert alpha([[0, 0], [0, 1], [1, 1]], "nominal") == pytest.approx(1 - 2 / 3.6)


def test_full_agreement_is_one_and_the_opposite_of_chance_is_below_nought() -> None:
    for scale in ("nominal", "ordinal", "interval"):
        assert alpha([[0, 0], [4, 4], [2, 2, 2]], scale) == 1.0
        opposed = alpha([[0, 4], [4, 0], [0, 4]], scale)
        assert opposed is not None
        assert opposed < 0


def test_near_misses_cost_less_than_far_ones_but_where_values_are_only_names() -> None:
    near, far = [[0, 1], [4, 4], [2, 2], [0, 0]], [[0, 4], [1, 1], [2, 2], [0, 0]]
    for scale in ("ordinal", "interval"):
        assert alpha(near, scale) > alpha(far, scale)  # type: ignore[operator]


def test_nothing_judged_twice_or_all_the_same_has_no_alpha() -> None:
    assert alpha([], "interval") is None
    assert alpha([[1], [2], []], "interval") is None
    assert alpha([[3, 3], [3, 3]], "ordinal") is None


def test_a_unit_that_one_judged_alone_changes_nothing() -> None:
    units = [[0, 1], [3, 3], [2, 4]]
    assert alpha([*units, [4], [0]], "ordinal") == alpha(units, "ordinal")
