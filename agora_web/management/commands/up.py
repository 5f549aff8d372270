"""`manage.py up`: everything AGORA needs, from one command, until Ctrl-C."""

import sys

from django.core.management.base import BaseCommand

from agora_web.starting import up


class Command(BaseCommand):
    """Thin, and for the list of commands: `manage.py` itself goes straight to `agora_web.starting`."""

    help = "Start AGORA: embedded services that no setting replaces, web, workers, beat and the demo LLM."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def handle(self, *args: object, **options: object) -> None:
        code = up(self.stdout, self.stderr)
        if code:
            sys.exit(code)
