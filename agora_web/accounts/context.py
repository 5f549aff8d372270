"""What every page's frame needs to know of the person."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def roles(request: HttpRequest) -> dict[str, Any]:
    """`may.agents`, `may.jobs`: which sections of the frame this person sees; `person`: the signed-in user."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"may": {}, "person": None}
    may = {"agents": user.has_perm("agents.change_agent"), "jobs": user.has_perm("memory.view_job")}
    return {"may": may, "person": user}
