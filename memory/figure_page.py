"""Pages with figures: what Plotly needs of the content security policy, and no other page gets."""

from __future__ import annotations

from csp.decorators import csp_update

# Plotly places its layers by inline style and makes pictures of heat maps; scripts stay the site's own.
NEEDED = {"style-src": ["'unsafe-inline'"], "img-src": ["data:", "blob:"]}

figure_page = csp_update(NEEDED)
"""Decorator of a view: its page may draw figures."""
