"""Counts in a page's sentences, grouped."""

from __future__ import annotations

from typing import Any

from django import template

from memory import thousands

register = template.Library()


@register.filter
def grouped(number: Any) -> Any:
    """A count as people read it; what is no whole number stays as it is."""
    return thousands.grouped(number) if isinstance(number, int) else number
