"""`manage.py prepare`: roles, extension, tables and the first administrator on a server; `up` does it by itself."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agora_web import first_run
from agora_web.database import bootstrap_server
from agora_web.local.errors import LocalServiceError
from agora_web.migrating import migrate_if_needed


class Command(BaseCommand):
    help = "Prepare the server that DATABASE_URL names: roles, extension, tables, first administrator. Safe to repeat."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.AGORA.database_url is None:
            raise CommandError("DATABASE_URL is not set. For the embedded services, `make run` prepares everything.")
        try:
            bootstrap_server(settings.AGORA.database_url)
        except LocalServiceError as error:
            raise CommandError(error.sentence) from error
        migrate_if_needed()
        for line in first_run.ensure_first_run():
            self.stdout.write(line)
        self.stdout.write("The database is ready.")
