"""Where the bundle that draws figures lies."""

from __future__ import annotations

from django import template
from django.conf import settings
from django.templatetags.static import static

register = template.Library()


@register.simple_tag
def plotly_bundle() -> str:
    """The address of Plotly's bundle; it names the version, so browsers keep it."""
    return static(settings.PLOTLY_BUNDLE)
