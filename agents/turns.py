"""Running turns in this process: the Django side of `agents.runtime.turn`, and the tasks that drive it.

A turn belongs to the server, not to the socket that asked for it: closing the tab does not end it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from channels.layers import get_channel_layer
from django.db import DatabaseError, transaction
from django.utils import timezone
from redis.exceptions import RedisError

from agents import streams
from agents.backends import backend_for, block_for, limits_for
from agents.models import Agent, Backend
from agents.runtime.llm.port import LlmBackend, LlmError
from agents.runtime.prompt import PastTurn
from agents.runtime.recalled import RecalledMemory
from agents.runtime.turn import Outcome, Recalled, Stage, TurnTask, run_turn
from agents.services import bring_bank_in_line
from agents.threads import as_person
from memory.engine.text import count_tokens
from memory.engine.types import State
from memory.models import Conversation, Memory, Turn, TurnState
from memory.services import turns
from memory.services.flush import Used
from memory.services.jobs import enqueue
from memory.services.memories import withdraw_turns
from memory.services.recalls import PreparedCue, Reading, prepare_cue, recall_for_turn
from memory.services.remember import TurnToRemember, remember_turn

P = ParamSpec("P")
R = TypeVar("R")

CLAIM_PAUSE = 0.2
HISTORY_TURNS = 6
RATING = "training.model_rating"  # the job by its name: what it does is training's, which agents do not know
RATING_PAUSE = timedelta(minutes=1)  # the model shall be free for the person's next message
log = logging.getLogger(__name__)


@dataclass
class _Running:
    task: asyncio.Task[None]
    stop: asyncio.Event


_running: dict[UUID, _Running] = {}


def start(turn_id: UUID, user_id: UUID) -> None:
    """Drive a queued turn in the background of this process, once."""
    if turn_id in _running:
        return
    stop = asyncio.Event()
    task = asyncio.create_task(drive(turn_id, user_id, stop), name=f"turn {turn_id}")
    _running[turn_id] = _Running(task, stop)
    task.add_done_callback(lambda done: _finished(turn_id, done))


def _finished(turn_id: UUID, task: asyncio.Task[None]) -> None:
    _running.pop(turn_id, None)
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("turn %s broke off", turn_id, exc_info=error)


def stop_here(turn_id: UUID) -> None:
    """Stop a turn at once if it runs in this process; elsewhere its heartbeat sees the request within a second."""
    if turn_id in _running:
        _running[turn_id].stop.set()


async def drive(turn_id: UUID, user_id: UUID, stop: asyncio.Event | None = None) -> None:
    """Wait for a queued turn's place, run it to its end, and tell who follows."""
    stop = stop or asyncio.Event()
    while not await as_person(user_id, turns.claim_turn, turn_id, timezone.now()):
        state = await as_person(user_id, _state_of, turn_id)
        if state != TurnState.QUEUED:
            return
        await asyncio.sleep(CLAIM_PAUSE)
    await announce(user_id, turn_id)
    try:
        await _run(turn_id, user_id, stop)
    except DatabaseError as error:
        # nothing more can be written now; the row's heartbeat runs out and the turn becomes `interrupted`
        log.error("turn %s: the database is away (%s)", turn_id, type(error).__name__)
        return
    except Exception:
        await as_person(user_id, turns.end_turn, turn_id, _broken(), now=timezone.now(), timings={})
        await _end_stream(turn_id, user_id)
        raise
    await _end_stream(turn_id, user_id)


async def _run(turn_id: UUID, user_id: UUID, stop: asyncio.Event) -> None:
    memory = await as_person(user_id, DjangoTurn.load, turn_id)
    backend: LlmBackend
    try:
        backend = backend_for(memory.agent, zone=memory.zone, reader=memory.turn.observation_speaker)
    except LlmError as error:
        backend = _Unavailable(error)
    task = TurnTask(
        observation=memory.turn.observation,
        persona=memory.agent.persona,
        limits=limits_for(memory.agent),
        block=block_for(memory.agent),
        zone=memory.zone,
    )
    stream = ValkeyStream(turn_id)
    await run_turn(task, memory=memory, stream=stream, backend=backend, stop=stop, count_tokens=count_tokens)


async def _end_stream(turn_id: UUID, user_id: UUID) -> None:
    await streams.publish(turn_id, "end")
    await announce(user_id, turn_id)


async def announce(user_id: UUID, turn_id: UUID, client: str | None = None) -> None:
    """Tell every open tab of the conversation that a turn is new or has changed."""
    conversation = await as_person(user_id, _conversation_of, turn_id)
    layer = get_channel_layer()
    if conversation is None or layer is None:
        return
    message = {"type": "turn.changed", "turn": str(turn_id), "client": client}
    try:
        await layer.group_send(group_name(conversation), message)
    except (RedisError, OSError) as error:
        log.warning("tabs cannot be told of turn %s (%s)", turn_id, type(error).__name__)


def group_name(conversation_id: UUID) -> str:
    """The channel group of a conversation's open tabs."""
    return f"conversation.{conversation_id}"


def _state_of(turn_id: UUID) -> str | None:
    return Turn.objects.filter(pk=turn_id).values_list("state", flat=True).first()


def _conversation_of(turn_id: UUID) -> UUID | None:
    return Turn.objects.filter(pk=turn_id).values_list("conversation_id", flat=True).first()


def _broken() -> turns.Ending:
    sentence = "AGORA itself failed on this turn; its log says why. Your message is kept: try again."
    return turns.Ending(TurnState.FAILED, "", "internal", sentence, True)


class _Unavailable:
    """Stands in for a backend that cannot be made: its error becomes the turn's outcome."""

    def __init__(self, error: LlmError) -> None:
        self._error = error

    async def stream(self, *_: Any, **__: Any) -> Any:
        raise self._error
        yield ""


class ValkeyStream:
    """A `TurnStream` in Valkey."""

    def __init__(self, turn_id: UUID) -> None:
        self._turn = turn_id

    async def stage(self, stage: Stage) -> None:
        await streams.publish(self._turn, "stage", stage=stage)

    async def delta(self, text: str) -> None:
        await streams.publish(self._turn, "delta", text=text)


class DjangoTurn:
    """A `TurnMemory` over the memory app: each call is one transaction in the pool, as the turn's owner."""

    def __init__(self, turn: Turn, agent: Agent, zone: Any, clock: Callable[[], datetime] = timezone.now) -> None:
        self.turn, self.agent, self.zone, self._clock = turn, agent, zone, clock
        self._prepared: PreparedCue | None = None
        self._reading: Reading | None = None
        self._timings: dict[str, float] = {}
        self._action_at: datetime | None = None

    @classmethod
    def load(cls, turn_id: UUID) -> DjangoTurn:
        """Read a turn with its agent, whose present configuration its bank takes on; runs as the owner."""
        turn = Turn.objects.select_related("conversation__bank", "owner").get(pk=turn_id)
        bank = turn.conversation.bank
        agent = Agent.objects.get(seats__bank=bank)
        bring_bank_in_line(agent, bank, now=timezone.now())
        return cls(turn, agent, turn.owner.zone)

    async def recall(self) -> Recalled:
        history = await self._as_owner(self._history)
        shown = frozenset(past.pk for past in history) if block_for(self.agent) != "none" else frozenset()
        previous = history[-1] if history else None
        self._prepared = await asyncio.to_thread(
            prepare_cue, self.turn, previous=previous, exclude_turns=shown, now=self._clock(), zone=self.zone
        )
        self._reading = await self._as_owner(recall_for_turn, self.turn, self._prepared)
        self._timings |= self._reading.trace.timings_ms
        past = [PastTurn(turn.observation, turn.action) for turn in history]
        return Recalled(self._memories_of(self._reading), past, self._prepared.cue.asking)

    async def save_progress(self, action: str) -> bool:
        return await self._as_owner(turns.checkpoint_turn, self.turn.pk, action=action, now=self._clock())

    async def end(self, outcome: Outcome) -> bool:
        self._action_at = self._clock()
        ending = turns.Ending(
            TurnState(outcome.state), outcome.action, outcome.code, outcome.sentence, outcome.retryable
        )
        self._timings |= outcome.timings_ms
        return await self._as_owner(turns.end_turn, self.turn.pk, ending, now=self._action_at, timings=self._timings)

    async def remember(self, outcome: Outcome) -> None:
        await self._as_owner(self._remember, outcome)

    def _history(self) -> list[Turn]:
        before = Turn.objects.filter(
            conversation=self.turn.conversation_id, replaced_at=None, ordinal__lt=self.turn.ordinal
        )
        return list(before.order_by("-ordinal")[:HISTORY_TURNS])[::-1]

    def _memories_of(self, reading: Reading) -> list[RecalledMemory]:
        return [
            RecalledMemory(
                id=str(row.item.id), text=row.item.text, speaker=row.item.speaker, role=row.item.role.value,
                at=row.item.at.astimezone(self.zone), weight=row.weight, group=row.group,
            )
            for row in reading.recollection.injected
        ]  # fmt: skip

    def _remember(self, outcome: Outcome) -> None:
        if Conversation.objects.filter(pk=self.turn.conversation_id, forgotten_until__isnull=False).exists():
            return  # forgotten while the turn ran: nothing of it is to come back
        started = timezone.now()
        # half a reply that broke off is shown, not remembered: the next try says it whole
        self.turn.action = "" if outcome.state == "failed" else outcome.action
        self.turn.action_at = self._action_at
        vectors = self._prepared.piece_vectors if self._prepared else None
        words = self._reading.words if self._reading else ()
        trace = self._reading.trace.pk if self._reading else None
        used = Used(trace, _ids(outcome.injected), _ids(outcome.cited)) if trace else None
        ready = TurnToRemember(self.turn, vectors, words, used)
        remember_turn(self.turn.conversation.bank_id, ready, now=self._clock())
        if trace:
            self._score_archive_later(trace)
        if self.agent.rates_memories and self.agent.backend != Backend.QUOTE:
            enqueue(RATING, str(self.turn.pk), owner_id=self.turn.owner_id, run_after=self._clock() + RATING_PAUSE)
        self._timings["remember"] = round((timezone.now() - started).total_seconds() * 1000, 2)
        Turn.objects.filter(pk=self.turn.pk).update(timings_ms=self._timings)

    def _score_archive_later(self, trace_id: UUID) -> None:
        """Have the worker look for regret, if anything was ever evicted."""
        archived = Memory.objects.filter(bank=self.turn.conversation.bank_id, state=State.ARCHIVED)
        if archived.exists():
            enqueue("memory.score_archive", str(trace_id), owner_id=self.turn.owner_id)

    async def _as_owner(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await as_person(self.turn.owner_id, work, *args, **kwargs)


def _ids(memories: Collection[str]) -> set[UUID]:
    return {UUID(memory) for memory in memories}


def open_and_withdraw(
    *, conversation_id: UUID, text: str, speaker: str, now: datetime, client: UUID | None, replaces: UUID | None
) -> Turn:
    """Save a message as a queued turn; an edited turn's memories leave the bank in the same transaction."""
    with transaction.atomic():
        agent = Agent.objects.filter(seats__bank__conversations=conversation_id).first()
        turn = turns.open_turn(
            conversation_id=conversation_id, text=text, speaker=speaker, agent_speaker=agent.name if agent else "",
            now=now, client=client, replaces=replaces,
        )  # fmt: skip
        if replaces and turn.parent_id:
            replaced = Turn.objects.filter(conversation=conversation_id, replaced_at=now)
            withdraw_turns(turn.conversation.bank_id, list(replaced.values_list("pk", flat=True)), now=now)
    return turn
