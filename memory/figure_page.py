"""Pages with figures: what Plotly needs of the content security policy, and no other page gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

from csp.decorators import csp_update
from django.http import HttpResponse

P = ParamSpec("P")

# Plotly places its layers by inline style and makes pictures of heat maps; scripts stay the site's own.
NEEDED = {"style-src": ["'unsafe-inline'"], "img-src": ["data:", "blob:"]}


def figure_page(view: Callable[P, HttpResponse]) -> Callable[P, HttpResponse]:
    """Decorator of a view: its page may draw figures."""
    return csp_update(NEEDED)(view)  # type: ignore[arg-type, return-value]  # it knows views of no arguments alone
