"""The schema brought up to date, when it is not."""

from __future__ import annotations

from django.core.management import call_command
from django.db import connections

from agora_web.database import Stage, stage


def migrate_if_needed() -> None:
    """Bring the schema up to date as its owner; without news it costs only the look."""
    if stage("owner") in (Stage.READY, Stage.EMPTY):
        return
    call_command("migrate", database="owner", interactive=False, verbosity=0)
    connections["owner"].close()
