"""`manage.py import_conversation FILE --user EMAIL --agent NAME`: trajectories in."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from agents.services import take_seat
from agora_web.commanding import agent_named, person, services_at_hand
from memory.engine.trajectories.detect import read_trajectory_file
from memory.engine.trajectories.records import TrajectoryError
from memory.engine.types import BankError
from memory.services.imports import import_trajectory
from memory.services.table_statistics import refresh_table_statistics
from memory.tenancy import acting_as
from training.learner.evidence import Evidence, read_evidence
from training.services.imported import Labelled, label_evidence

MANY_TURNS = 100  # fewer are a chat's work of a day, and change no plan


class Command(BaseCommand):
    help = "Import conversations (LoCoMo or AGORA's JSONL) into the bank that an agent holds for a person."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--user", required=True, metavar="EMAIL")
        parser.add_argument("--agent", required=True, metavar="NAME")
        parser.add_argument("--format", default="auto", choices=["auto", "locomo", "jsonl"])
        parser.add_argument(
            "--questions", type=Path, metavar="FILE",
            help="questions that name their evidence in these conversations: the agent learns from them",
        )  # fmt: skip
        parser.add_argument("--only", metavar="ID", help="of a file with several conversations, only this one")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = read_trajectory_file(options["file"], options["format"])
            asked = read_evidence(options["questions"].read_bytes()) if options["questions"] else []
        except TrajectoryError as error:
            raise CommandError(f"Nothing was imported. {error}") from error
        except OSError as error:
            raise CommandError(f"{error.filename or options['file']} cannot be read: {error.strerror}.") from error
        if wanted := options["only"]:
            found = tuple(one for one in found if one.external_id in (wanted, f"locomo:{wanted}"))
            if not found:
                raise CommandError(f"There is no conversation {wanted} in {options['file']}.")
        with services_at_hand():
            self._import(found, asked, options)

    def _import(self, found: Any, asked: list[Evidence], options: dict[str, Any]) -> None:
        user = person(options["user"])
        agent = agent_named(options["agent"], user)
        written = 0
        for number, trajectory in enumerate(found, 1):
            self.stderr.write(f"{number} of {len(found)}: {trajectory.title}, {len(trajectory.turns)} turns …")
            try:
                with acting_as(user.pk):
                    seat = take_seat(agent, user.pk, now=timezone.now())
                    done = import_trajectory(trajectory, owner_id=user.pk, bank_id=seat.bank_id, now=timezone.now())
            except BankError as error:
                raise CommandError(f"Nothing of {trajectory.title} was imported. {error.sentence}") from error
            about = [
                one for one in asked if one.conversation in (trajectory.external_id, "" if len(found) == 1 else None)
            ]
            if about:
                with acting_as(user.pk):
                    labelled = label_evidence(done.conversation, about, now=timezone.now())
                self.stdout.write(_said(labelled))
            written += done.turns if done.new else 0
            verb = "imported" if done.new else "was there already"
            self.stdout.write(f"{trajectory.external_id}: {verb}, {done.turns} turns, conversation {done.conversation}")
        if written >= MANY_TURNS:
            refresh_table_statistics()


def _said(labelled: Labelled) -> str:
    unknown = f" {labelled.unknown} ids of evidence are of no side of it." if labelled.unknown else ""
    return (
        f"By its questions {labelled.needed} memories are labelled as needed, {labelled.outdated} as outdated, "
        f"{labelled.unasked} as not asked for.{unknown}"
    )
