"""`manage.py first_run`: what a first start makes. `up` runs it in a process of its own."""

from typing import Any

from django.core.management.base import BaseCommand

from agora_web.first_run import ensure_first_run
from agora_web.local.processes import die_with_parent


class Command(BaseCommand):
    help = "Make the first administrator, the demo agents and a sample conversation, unless there are people already."

    def handle(self, *args: Any, **options: Any) -> None:
        die_with_parent()  # until everything is written nothing is: cut short, it is done anew at the next start
        for line in ensure_first_run():
            self.stdout.write(line)
