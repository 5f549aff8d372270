"""Counts in sentences as people read them: in groups, as the language of the page makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.formats import number_format


def grouped(number: int) -> str:
    """A whole number as a person reads it, such as 12,345."""
    return number_format(number, force_grouping=True)


class Count(int):
    """A number that stands grouped where a sentence has `%(n)s`, and plain where it has `%(n)d`, as a turn's does."""

    def __str__(self) -> str:
        return grouped(int(self))


def counted(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a sentence is filled with, its whole numbers as counts."""
    return {name: Count(value) if type(value) is int else value for name, value in values.items()}
