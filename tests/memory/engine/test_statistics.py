from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.statistics import ROLES, RoleStatistics, quantised
from memory.engine.types import Role
from tests.memory.engine.toy_bank import floats

FEATURES = st.lists(st.floats(-50, 50, width=32), min_size=3, max_size=3)


def test_features_are_kept_in_whole_thousandths() -> None:
    assert quantised(floats(0.5, -1.23456, 2.0)) == (500, -1235, 2000)


def test_moments_count_the_usual_ones_in_beforehand() -> None:
    statistics = RoleStatistics()
    for value in (1.0, 3.0):
        statistics.add(Role.USER, quantised(floats(value)))
    mean, deviation = statistics.moments(Role.USER, floats(5.0), floats(1.0), strength=2)
    # four memories: 1, 3 and twice "5 give or take 1": mean (1 + 3 + 5 + 5) / 4, second moment (1 + 9 + 26 + 26) / 4
    assert mean == pytest.approx([3.5])
    assert deviation == pytest.approx([(62 / 4 - 3.5**2) ** 0.5])
    assert statistics.moments(Role.TOOL, floats(5.0), floats(1.0), 2)[0] == pytest.approx([5.0])


def test_features_that_came_later_count_as_nothing_before() -> None:
    statistics = RoleStatistics()
    statistics.add(Role.USER, quantised(floats(1.0)))
    statistics.add(Role.USER, quantised(floats(1.0, 4.0)))
    mean, _ = statistics.moments(Role.USER, floats(0.0, 0.0), floats(1.0, 1.0), strength=0)
    assert mean == pytest.approx([1.0, 2.0])


@given(st.lists(st.tuples(st.sampled_from(ROLES), FEATURES), max_size=20))
def test_what_is_taken_out_leaves_no_trace(written: list[tuple[Role, list[float]]]) -> None:
    kept, gone = written[::2], written[1::2]
    alone, both = RoleStatistics(), RoleStatistics()
    for role, values in kept:
        alone.add(role, quantised(np.array(values)))
    for role, values in written:
        both.add(role, quantised(np.array(values)))
    for role, values in gone:
        both.add(role, quantised(np.array(values)), -1)
    assert both == alone
    assert [both.share(role) for role in ROLES] == [alone.share(role) for role in ROLES]
