"""What AGORA's management commands share: services at hand, a person and an agent by name, plain refusals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management.base import CommandError

from agents.models import Agent
from agora_web.accounts.models import User
from agora_web.local.errors import LocalServiceError
from agora_web.local.running import services_running
from agora_web.migrating import migrate_if_needed
from memory.tenancy import acting_as


@contextmanager
def services_at_hand() -> Iterator[None]:
    """Have the database and Valkey up for one command: those of `up` if it runs, else started for this command."""
    told = settings.AGORA
    if settings.TESTING:  # the tests have theirs
        yield
        return
    try:
        with services_running(told.home, postgres=told.database_url is None, valkey=told.redis_url is None) as started:
            if "postgres" in started:
                migrate_if_needed()
            yield
    except LocalServiceError as error:
        raise CommandError(error.sentence) from error


def person(email: str) -> User:
    """The person with this e-mail. Raises `CommandError` with a sentence."""
    found = User.objects.filter(email=email.strip().lower(), is_active=True).first()
    if found is None:
        raise CommandError(f"There is no person with the e-mail {email}. People sign up in the browser.")
    return found


def agent_named(name: str, user: User) -> Agent:
    """The agent with this name, as that person sees it. Raises `CommandError` with a sentence."""
    with acting_as(user.pk):
        found = Agent.objects.filter(name__iexact=name.strip()).first()
        known = ", ".join(Agent.objects.values_list("name", flat=True))
    if found is None:
        raise CommandError(f"There is no agent called {name}. There are: {known or 'none yet'}.")
    return found
