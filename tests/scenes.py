"""Scenes that many tests start from: people, agents, conversations and turns, made by the services themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group
from django.utils import timezone

from agents.models import Agent
from agents.services import start_chat, take_seat
from agora_web.accounts.models import User
from memory.models import Conversation, Doubt, Job, LabReplay, LabResult, Look, Memory, Recall, Turn, TurnState
from memory.services import memories
from memory.services.conversations import forget_conversation, rename_conversation
from memory.services.recalls import prepare_cue, recall_for_turn
from memory.services.remember import TurnToRemember, remember_turn
from memory.services.turns import Ending, claim_turn, end_turn, open_turn
from memory.tenancy import acting_as

PASSWORD = "correct horse battery"


def make_person(email: str = "ana@example.org", *, name: str = "Ana", roles: Sequence[str] = (), **fields: Any) -> User:
    """Someone who can sign in, with these roles."""
    person = User.objects.create_user(email, PASSWORD, name=name, **fields)
    person.groups.set(Group.objects.filter(name__in=roles))
    return person


def make_agent(name: str = "Scribe", **fields: Any) -> Agent:
    """An agent, made by an administrator as in earnest. Scribe's backend unless `fields` name another."""
    root = User.objects.filter(email="root@example.org").first()
    root = root or User.objects.create_superuser("root@example.org", PASSWORD, name="Root")
    with acting_as(root.pk):
        return Agent.objects.create(name=name, **fields)


def begin(person: User, agent: Agent) -> Conversation:
    """A new conversation of this person with this agent."""
    with acting_as(person.pk):
        return start_chat(agent.pk, person.pk, now=timezone.now())


def take_turn(person: User, conversation: Conversation, told: str, reply: str = "Noted.") -> Turn:
    """A whole turn without sockets or a model: saved, recalled for, answered with `reply`, remembered."""
    now = timezone.now()
    with acting_as(person.pk):
        turn = open_turn(
            conversation_id=conversation.pk, text=told, speaker=person.speaker, agent_speaker="Scribe", now=now
        )
        assert claim_turn(turn.pk, now)
    with acting_as(person.pk):
        prepared = prepare_cue(turn, previous=None, exclude_turns=frozenset(), now=now)
        recall_for_turn(turn, prepared)
    with acting_as(person.pk):
        assert end_turn(turn.pk, Ending(TurnState.DONE, reply), now=timezone.now(), timings={"llm": 1.0})
        turn.refresh_from_db()
        remember_turn(conversation.bank_id, TurnToRemember(turn, prepared.piece_vectors), now=timezone.now())
        turn.refresh_from_db()
    return turn


@dataclass(frozen=True)
class Life:
    """Ids of one person's rows, one of every kind that there is."""

    person: UUID
    bank: UUID
    seat: UUID
    conversation: UUID
    forgotten_conversation: UUID
    turn: UUID
    recall: UUID
    held: UUID
    archived: UUID
    forgotten: UUID
    job: UUID
    replay: UUID


def live(person: User, agent: Agent, word: str) -> Life:
    """Fill every table with rows of `person`, each text with `word` in it. The agent's budget must be 5 memories."""
    conversation, away = begin(person, agent), begin(person, agent)
    about = ["the harbour", "my sister Vera", "walnut bread"]
    turns = [take_turn(person, conversation, f"{word} concerns {what}.", f"{word}: {what} it is.") for what in about]
    take_turn(person, away, f"{word} belongs to what is forgotten.")
    with acting_as(person.pk):
        now = timezone.now()
        memories_there = Memory.objects.filter(bank=conversation.bank_id)
        rename_conversation(conversation.pk, f"About {word}")
        forget_conversation(away.pk, keep_memories=True, now=now)
        held = list(memories_there.filter(state="held").order_by("-written_seq"))
        memories.forget(held[0].pk, now=now)
        Doubt.objects.create(
            owner=person, bank_id=conversation.bank_id, memory=held[1], newer=held[2], what=Doubt.What.NUMBER
        )
        replay = LabReplay.objects.create(
            owner=person, state="done",
            asked={"conversations": [str(conversation.pk)], "policies": ["fifo"], "budgets": ["2"], "adapters": ["-"]},
        )  # fmt: skip
        LabResult.objects.create(
            owner=person, replay=replay, conversation=conversation, adapter="-", version="shipped", policy="fifo",
            budget="2", memories=2, tokens=100, turns=3, told=6, held=2, evicted=4, merged=0, recalled=3, missed=1,
            wanted=1.0, missed_weight=0.5, regretted=1, misses=[[str(held[1].pk), 1, 2, 3, 1, 0.5]],
        )  # fmt: skip
        Look.objects.create(owner=person, bank_id=conversation.bank_id, day=now.date(), first=now, last=now)
        memories.erase(memories_there.filter(state="archived").latest("written_seq").pk, now=now)
        return Life(
            person=person.pk,
            bank=conversation.bank_id,
            seat=take_seat(agent, person.pk, now=now).pk,
            conversation=conversation.pk,
            forgotten_conversation=away.pk,
            turn=turns[-1].pk,
            recall=Recall.objects.filter(turn=turns[-1]).values_list("pk", flat=True)[0],
            held=held[1].pk,
            archived=memories_there.filter(state="archived").values_list("pk", flat=True)[0],
            forgotten=held[0].pk,
            replay=replay.pk,
            job=Job.objects.values_list("pk", flat=True)[0],
        )
