"""How processes that share a run divide the tests."""

from __future__ import annotations

import pytest

from tests.sharing import part_of

IDS = [
    "tests/agents/test_api.py::test_one",
    "tests/agents/test_api.py::test_two[a/b::c]",
    "tests/browser/test_chat.py::test_one",
    "tests/browser/test_pages.py::test_one[light]",
    "tests/flows/test_up.py::test_one",
]


def test_the_browsers_tests_go_to_one_process_and_a_files_tests_too() -> None:
    parts = [part_of(one) for one in IDS]
    assert parts == ["tests/agents/test_api.py"] * 2 + ["tests/browser"] * 2 + ["tests/flows/test_up.py"]


def test_the_browsers_tests_come_first(request: pytest.FixtureRequest) -> None:
    drive = [item.nodeid.startswith("tests/browser/") for item in request.session.items]
    assert drive == sorted(drive, reverse=True)
