"""A dataset as numbers: frozen to the same bytes, and without what was erased."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest

from training.learner.dataset import Dataset, DatasetUnreadable, unpacked

NAMES = [UUID(int=number) for number in range(1, 6)]


def dataset() -> Dataset:
    """Two ratings; the third memory put above the fourth; the fifth rated."""
    return Dataset(
        z=np.arange(10, dtype=np.float64).reshape(5, 2),
        value=np.array([1.0, 0.25, 1.0, 0.0, 0.5]),
        weight=np.array([1.0, 0.5, 2.0, 0.0, 1.0]),
        kind=np.array([0, 0, 1, 1, 1]),
        group=np.array([0, 0, 1, 1, 2]),
        other=np.array([-1, -1, 3, -1, -1]),
        memory=np.array([list(name.bytes) for name in NAMES], dtype=np.uint8),
    )


def test_the_same_rows_are_the_same_bytes_and_come_back_as_they_were() -> None:
    (data, digest), (again, same) = dataset().packed(), dataset().packed()
    assert data == again
    assert digest == same
    back = unpacked(data, digest)
    assert back.memories() == NAMES
    assert back.z.tolist() == dataset().z.tolist()
    with pytest.raises(DatasetUnreadable):
        unpacked(data[:-1] + b"x", digest)


def test_ratings_and_comparisons_are_told_apart_and_counted_by_kind() -> None:
    data = dataset()
    assert data.rated.tolist() == [True, True, False, False, True]
    assert data.compared.tolist() == [False, False, True, False, False]
    assert [data.judgements(kind) for kind in ("two_people", "user_assistant", "tool_use")] == [2, 2, 0]


def test_an_erased_memory_goes_with_the_comparisons_it_stands_in_and_the_rest_still_points_right() -> None:
    assert dataset().without([NAMES[3]]).memories() == [NAMES[0], NAMES[1], NAMES[4]]
    left = dataset().without([NAMES[0]])
    assert left.memories() == NAMES[1:]
    assert left.other.tolist() == [-1, 2, -1, -1]
    assert left.z[left.other[1]].tolist() == [6.0, 7.0]
    assert len(dataset().without(NAMES)) == 0
