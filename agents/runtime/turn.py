"""One turn, from the saved observation to the remembered pair. Asynchronous, and free of databases and sockets.

    recall -> prompt -> the LLM streams -> the action is saved -> remember

A pulse beats through all of it: every 40 ms it hands on what was said since, every second it saves the text so far
with a heartbeat and learns whether a person asked to stop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Literal, Protocol

from agents.runtime.llm.port import LlmBackend, LlmError, Message
from agents.runtime.prompt import Block, PastTurn, PromptLimits, build_prompt
from agents.runtime.recalled import RecalledMemory, cited

BEAT_SECONDS = 0.04
SAVE_SECONDS = 1.0

Stage = Literal["recalling", "answering", "remembering"]
State = Literal["done", "stopped", "failed"]


@dataclass(frozen=True)
class TurnTask:
    """What the agent and the person bring to a turn."""

    observation: str
    persona: str
    limits: PromptLimits
    block: Block
    zone: tzinfo


@dataclass(frozen=True)
class Recalled:
    """What recall gave: memories for the prompt, best first, the turns before, and whether the cue asks."""

    memories: Sequence[RecalledMemory]
    history: Sequence[PastTurn]
    asking: bool


@dataclass(frozen=True)
class Outcome:
    """How a turn ended. `action` is what was said, whole or in part; `injected` and `cited` are memory ids."""

    state: State
    action: str
    injected: tuple[str, ...] = ()
    cited: frozenset[str] = frozenset()
    code: str = ""
    sentence: str = ""
    retryable: bool = False
    timings_ms: dict[str, float] = field(default_factory=dict)


class TurnMemory(Protocol):
    """The turn's side of the memory: each call is one short transaction somewhere else."""

    async def recall(self) -> Recalled: ...

    async def save_progress(self, action: str) -> bool:
        """Save the text so far and a heartbeat; return whether the turn shall stop."""
        ...

    async def end(self, outcome: Outcome) -> bool:
        """Save how it ended; False when somebody else ended it already."""
        ...

    async def remember(self, outcome: Outcome) -> None: ...


class TurnStream(Protocol):
    """Where the browser reads from."""

    async def stage(self, stage: Stage) -> None: ...

    async def delta(self, text: str) -> None: ...


class _Speech:
    """What was said, and how much of it has been handed on."""

    def __init__(self) -> None:
        self.text = ""
        self._handed_on = 0

    def fresh(self) -> str:
        text, self._handed_on = self.text[self._handed_on :], len(self.text)
        return text


async def run_turn(
    task: TurnTask, *, memory: TurnMemory, stream: TurnStream, backend: LlmBackend, stop: asyncio.Event,
    count_tokens: Callable[[str], int], clock: Callable[[], float] = time.perf_counter,
) -> Outcome:  # fmt: skip
    """Run a claimed turn to its end and return how it ended.

    An LLM's failure is an outcome, not an error: the observation and whatever was said are kept and remembered.
    Errors of the memory itself are raised: then nothing is reported as done.
    """
    speech = _Speech()
    pulse = asyncio.create_task(_pulse(speech, memory, stream, stop))
    try:
        work = asyncio.create_task(_work(task, speech, memory, stream, backend, stop, count_tokens, clock))
        await asyncio.wait({work, pulse}, return_when=asyncio.FIRST_COMPLETED)
        if pulse.done() and not work.done():
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work
            pulse.result()  # raises what ended it
        return await work
    finally:
        pulse.cancel()
        with suppress(asyncio.CancelledError):
            await pulse


async def _pulse(speech: _Speech, memory: TurnMemory, stream: TurnStream, stop: asyncio.Event) -> None:
    saved = time.monotonic()
    while True:
        await asyncio.sleep(BEAT_SECONDS)
        if text := speech.fresh():
            await stream.delta(text)
        if time.monotonic() - saved >= SAVE_SECONDS:
            saved = time.monotonic()
            if await memory.save_progress(speech.text):
                stop.set()


async def _work(
    task: TurnTask, speech: _Speech, memory: TurnMemory, stream: TurnStream, backend: LlmBackend,
    stop: asyncio.Event, count_tokens: Callable[[str], int], clock: Callable[[], float],
) -> Outcome:  # fmt: skip
    await stream.stage("recalling")
    recalled = await memory.recall()
    await stream.stage("answering")
    started = clock()
    prompt = build_prompt(
        persona=task.persona, recalled=recalled.memories, history=recalled.history, observation=task.observation,
        limits=task.limits, block=task.block, count_tokens=count_tokens, zone=task.zone,
    )  # fmt: skip
    error: LlmError | None = None
    said = asyncio.create_task(_say(speech, task, prompt.messages, recalled, backend))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({said, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not said.done():
            said.cancel()
        with suppress(asyncio.CancelledError):
            await said
    except LlmError as raised:
        error = raised
    finally:
        said.cancel()
        stopping.cancel()
    if text := speech.fresh():
        await stream.delta(text)
    injected = prompt.injected if task.block != "none" else tuple(m.id for m in recalled.memories)
    outcome = _outcome(speech.text, error, stop.is_set(), injected, recalled, task, (clock() - started) * 1000)
    if await memory.end(outcome):
        await stream.stage("remembering")
        await memory.remember(outcome)
    return outcome


async def _say(
    speech: _Speech, task: TurnTask, messages: Sequence[Message], recalled: Recalled, backend: LlmBackend
) -> None:
    async with aclosing(
        backend.stream(
            messages,
            recalled=recalled.memories,
            asking=recalled.asking,
            max_tokens=task.limits.reply_tokens,
        )
    ) as pieces:
        async for piece in pieces:
            speech.text += piece


def _outcome(
    action: str, error: LlmError | None, stopped: bool, injected: tuple[str, ...], recalled: Recalled, task: TurnTask,
    llm_ms: float,
) -> Outcome:  # fmt: skip
    used = cited(action, [m for m in recalled.memories if m.id in injected], task.observation)
    timings = {"llm": round(llm_ms, 2)}
    if error is not None:
        return Outcome(
            "failed", action, injected, frozenset(used), error.code, error.sentence, error.retryable, timings
        )
    return Outcome("stopped" if stopped else "done", action, injected, frozenset(used), timings_ms=timings)
