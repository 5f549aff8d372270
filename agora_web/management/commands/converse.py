"""`manage.py converse --user EMAIL --agent NAME --message TEXT --json`: one turn without a browser."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from agents import selectors, streams, turns
from agents.services import start_chat
from agora_web.commanding import agent_named, person, services_at_hand
from memory import selectors as memory
from memory.engine.types import BankError
from memory.models import Event, Turn
from memory.tenancy import acting_as


class Command(BaseCommand):
    help = "Take one turn with an agent and print what it said, recalled and remembered."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", required=True, metavar="EMAIL")
        parser.add_argument("--agent", required=True, metavar="NAME")
        parser.add_argument("--conversation", type=UUID, metavar="ID", help="without it a new one begins")
        parser.add_argument("--message", required=True, metavar="TEXT", help="“-” reads standard input")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        text = sys.stdin.read() if options["message"] == "-" else options["message"]
        with services_at_hand():
            user = person(options["user"])
            agent = agent_named(options["agent"], user)
            try:
                with acting_as(user.pk):
                    turn = self._open(user, agent, options["conversation"], text)
            except BankError as error:
                raise CommandError(error.sentence) from error
            asyncio.run(self._drive(turn.pk, user.pk))
            with acting_as(user.pk):
                report = report_of(turn.pk)
        if options["json"]:
            self.stdout.write(json.dumps(report, ensure_ascii=False))
        else:
            self.stdout.write(report["reply"])
        if report["error"]:
            raise CommandError(report["error"]["sentence"])

    def _open(self, user: Any, agent: Any, conversation_id: UUID | None, text: str) -> Turn:
        now = timezone.now()
        if conversation_id is None:
            conversation_id = start_chat(agent.pk, user.pk, now=now).pk
        elif memory.conversation(conversation_id).bank.seat.agent_id != agent.pk:
            raise CommandError(f"That conversation is not with {agent.name}.")
        return turns.open_and_withdraw(
            conversation_id=conversation_id, text=text, speaker=user.speaker, now=now, client=None, replaces=None
        )

    async def _drive(self, turn_id: UUID, user_id: UUID) -> None:
        try:
            await turns.drive(turn_id, user_id)
        finally:
            await streams.close()


def report_of(turn_id: UUID) -> dict[str, Any]:
    """What one turn did, as one JSON object; runs as its owner."""
    started = time.perf_counter()
    turn = memory.turn(turn_id)
    trace = turn.recalls.order_by("-at").first()
    recalled = []
    if trace is not None:
        recalled = [
            {
                "memory": row["memory"], "text": row["text"], "speaker": row["speaker"],
                "source_turn": row["turn"], "source_ordinal": row["ordinal"],
                "source_external_id": _external_id(row["turn"], row["side"]), "side": row["side"],
                "weight": row["weight"], "logit": row["logit"], "fit": row["fit"], "group": row["group"],
                "signals": row["signals"], "injected": row["injected"], "cited": row["cited"],
            }
            for row in selectors.recall_json(trace)["rows"]
        ]  # fmt: skip
    shown = selectors.turn_json(turn_id)
    return {
        "conversation": str(turn.conversation_id),
        "turn": str(turn.pk),
        "state": turn.state,
        "reply": turn.action,
        "recalled": recalled,
        "events": [
            {"seq": event.seq, "kind": event.kind, "memory": str(event.memory) if event.memory else None, **event.data}
            for event in Event.objects.filter(turn=turn_id).order_by("seq")
        ],
        "error": shown["error"],
        "timings_ms": {**turn.timings_ms, "report": round((time.perf_counter() - started) * 1000, 2)},
    }


def _external_id(turn_id: str | None, side: str) -> str | None:
    if turn_id is None:
        return None
    found = Turn.objects.filter(pk=turn_id).values_list("external_ids", flat=True).first()
    return (found or {}).get(side)
