"""Pages for what went wrong."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form whose token does not fit: usually a page left open over a new sign-in."""
    sentence = _("This page is out of date: you signed in anew since it was opened. Reload it and try again.")
    return render(request, "403.html", {"sentence": sentence}, status=403)
