"""The first start: an administrator, two agents, and a sample conversation to look at."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from agents.models import Agent, Backend
from agents.services import take_seat
from agora_web.accounts.models import User
from memory.engine.trajectories.detect import read_trajectory_file
from memory.services.imports import import_trajectory
from memory.tenancy import acting_as

ADMINISTRATOR = "admin@agora.localhost"
SAMPLE = settings.BASE_DIR / "agora_web" / "sample" / "planning_story.jsonl"


def is_needed() -> bool:
    """Whether nobody is here yet."""
    needed = not User.objects.exists()
    connection.close()
    return needed


def ensure_first_run() -> list[str]:
    """Make what a first start needs, once; returns the lines to print (the password is printed this one time)."""
    if not is_needed():
        return []
    password = secrets.token_urlsafe(12)
    # All or nothing: a start cut short here would otherwise leave an administrator whose password nobody saw.
    with transaction.atomic():
        administrator = User.objects.create_superuser(ADMINISTRATOR, password, name="Josie")
        with acting_as(administrator.pk):
            scribe, _smol = make_demo_agents()
            seat = take_seat(scribe, administrator.pk, now=timezone.now())
            for trajectory in read_trajectory_file(SAMPLE):
                import_trajectory(trajectory, owner_id=administrator.pk, bank_id=seat.bank_id, now=timezone.now())
    return [
        _("A first administrator was made. Sign in as %(email)s with the password %(password)s") % {
            "email": ADMINISTRATOR, "password": password,
        },
        _("It is shown this once; change it in the account menu, under Password."),
    ]  # fmt: skip


def make_demo_agents() -> tuple[Agent, Agent]:
    """Scribe, who needs no model, and SmolLM, the demo model; runs as an administrator."""
    scribe, _made = Agent.objects.get_or_create(
        name="Scribe",
        defaults={
            "description": _("Needs no model: answers by quoting what it remembers."),
            "backend": Backend.QUOTE,
            "budget_memories": 200,
            "budget_tokens": 12_000,
        },
    )
    smol, _made = Agent.objects.get_or_create(
        name="SmolLM",
        defaults={
            "description": _("A demo model of 135 million parameters: a toy."),
            "persona": "You are a helpful assistant. Answer briefly, from the notes if they help.",
            "backend": Backend.OPENAI,
            "small_model": True,
            "context_tokens": 2048,
            "reply_tokens": 256,
            "recall_tokens": 300,
            "budget_memories": 200,
            "budget_tokens": 12_000,
        },
    )
    return scribe, smol
