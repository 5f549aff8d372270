"""`manage.py first_run`: the tables and what a first start makes. `up` runs it in a process of its own."""

from typing import Any

from django.core.management.base import BaseCommand

from agora_web.first_run import ensure_first_run
from agora_web.local.processes import die_with_parent
from agora_web.migrating import migrate_if_needed


class Command(BaseCommand):
    help = "Bring the tables up to date; make the first administrator, agents and a sample, unless there are people."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def handle(self, *args: Any, **options: Any) -> None:
        die_with_parent()  # until everything is written nothing is: cut short, it is done anew at the next start
        migrate_if_needed()
        for line in ensure_first_run():
            self.stdout.write(line)
