"""`manage.py doctor`: is everything well? One line a check, each ok or the cure."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from agora_web.commanding import services_at_hand
from agora_web.doctor import Finding, diagnose


class Command(BaseCommand):
    help = "Check database, memory, workers, language model and disk; the exit code is 1 if anything failed."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        findings: list[Finding] = []
        with services_at_hand():
            for finding in diagnose(self._say_what_is_waited_for):
                findings.append(finding)
                if not options["json"]:
                    self.stdout.write(str(finding))
                    self.stdout.flush()
        failed = [finding for finding in findings if not finding.ok]
        if options["json"]:
            self.stdout.write(json.dumps({"ok": not failed, "checks": [asdict(finding) for finding in findings]}))
        if failed:
            raise CommandError(
                _("%(failed)d of %(all)d checks failed.") % {"failed": len(failed), "all": len(findings)}
            )

    def _say_what_is_waited_for(self, name: str) -> None:
        self.stderr.write(_("AGORA has just been started; waiting for: %(name)s") % {"name": name})
        self.stderr.flush()
