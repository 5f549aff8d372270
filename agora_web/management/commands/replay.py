"""`manage.py replay --conversation ID --policy P --budget N`: the policy lab. It reads, and changes nothing."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from agora_web.commanding import person, services_at_hand
from memory.engine.types import BankError
from memory.models import Conversation
from memory.services.replays import Replay, replay_conversation, replay_json
from memory.tenancy import acting_as

SHOWN_MISSES = 5


class Command(BaseCommand):
    help = "Stream a stored conversation through retention policies; print what each would have kept and missed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--conversation", required=True, type=UUID, metavar="ID")
        parser.add_argument(
            "--policy", required=True, action="append", metavar="P",
            help="like importance or chains+floor(recent=6)+importance; may be given several times",
        )  # fmt: skip
        parser.add_argument("--budget", required=True, type=int, metavar="N", help="in memories")
        parser.add_argument("--budget-tokens", type=int, metavar="T", help="without it that of the bank")
        parser.add_argument("--user", metavar="EMAIL", help="whose it is; without it, whoever's it is")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        conversation = options["conversation"]
        with services_at_hand():
            # whoever starts this command has the database's files: the name is a guard against mistakes
            owner = person(options["user"]).pk if options["user"] else _owner_of(conversation)
            try:
                with acting_as(owner):
                    replay = replay_conversation(
                        conversation, options["policy"], memories=options["budget"], tokens=options["budget_tokens"]
                    )
            except BankError as error:
                raise CommandError(error.sentence) from error
        if options["json"]:
            self.stdout.write(json.dumps(replay_json(replay), ensure_ascii=False))
        else:
            self.stdout.write(_as_text(replay))


def _owner_of(conversation: UUID) -> UUID | None:
    """Whose conversation it is, as the sweeping role sees it; None where there is none."""
    return Conversation.objects.using("worker").filter(pk=conversation).values_list("owner_id", flat=True).first()


def _as_text(replay: Replay) -> str:
    budget = replay.budget
    lines = [f"{replay.turns} turns, a budget of {budget.memories} memories and {budget.tokens} tokens", ""]
    lines += [f"{'policy':<44} {'held':>6} {'tokens':>8} {'evicted':>8} {'merged':>7} {'recalled':>9} {'missed':>7}"]
    for report in replay.policies:
        lines.append(
            f"{report.policy.name:<44} {len(report.kept):>6} {report.tokens:>8} {report.evicted:>8} "
            f"{report.merged:>7} {report.recalled:>9} {len(report.misses):>7}"
        )
    for report in replay.policies:
        lines += ["", f"{report.policy.name} keeps:"]
        lines += [f"  turn {replay.ordinals.get(memory.turn, '?')}: {memory.text}" for memory in report.kept]
        if report.misses:
            lines.append("and misses, the best fit first:")
        for miss in sorted(report.misses, key=lambda miss: -miss.fit)[:SHOWN_MISSES]:
            lines.append(f"  at turn {miss.ordinal} (left at turn {miss.left}): {miss.memory.text}")
        if len(report.misses) > SHOWN_MISSES:
            lines.append(f"  and {len(report.misses) - SHOWN_MISSES} more; --json lists all")
    return "\n".join(lines)
