"""Pages for what went wrong."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form or call whose token does not fit: usually a page left open over a new sign-in."""
    sentence = _("This page is out of date: you signed in anew since it was opened. Reload it and try again.")
    if request.path.startswith("/api/"):
        return JsonResponse({"error": {"code": "csrf", "sentence": sentence}}, status=403)
    return render(request, "403.html", {"sentence": sentence}, status=403)
