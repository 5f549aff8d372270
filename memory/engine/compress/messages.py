"""An agent's messages and the steps they form: what stays or leaves together.

A step is a call to tools with everything up to its last result, or an action and the observation after it in a plain
text log, or else one message. Dropping whole steps keeps a message list valid: no result without its call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SYSTEM_ROLES = frozenset({"system", "developer"})
RESULT_ROLES = frozenset({"tool", "function"})


@dataclass(frozen=True)
class Call:
    """One call of a tool: its id, the tool's name, and the arguments as they were written."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """One message. `answers` is the id of the call whose result it is; `original` is handed back as it came."""

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    answers: str = ""
    original: Mapping[str, object] | None = field(default=None, compare=False, repr=False)

    @property
    def shown(self) -> str:
        """All that a model reads of it: the text, then each call's name and arguments."""
        return "\n".join([self.text, *(f"{call.name} {call.arguments}" for call in self.calls)]).strip("\n")


@dataclass(frozen=True)
class Step:
    """Messages `start` to `stop` (not counted in) of the list."""

    start: int
    stop: int
    messages: tuple[Message, ...]

    @property
    def role(self) -> str:
        """The role of the message that opens it."""
        return self.messages[0].role


def from_openai(messages: Sequence[Mapping[str, object]]) -> tuple[Message, ...]:
    """Read messages in the form of OpenAI's chat completions; pictures and sounds count as no text.

    Raises ValueError for a message without a role.
    """
    return tuple(_message(number, message) for number, message in enumerate(messages, start=1))


def _message(number: int, message: Mapping[str, object]) -> Message:
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise ValueError(f"Message {number} has no role.")
    calls = message.get("tool_calls")
    asked = [_call(call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, Sequence) else []
    if isinstance(single := message.get("function_call"), Mapping):
        asked.append(_function("", single))
    return Message(role, _text(message.get("content")), tuple(asked), str(message.get("tool_call_id") or ""), message)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    parts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return "\n".join(part for part in parts if isinstance(part, str))


def _call(call: Mapping[str, object]) -> Call:
    function = call.get("function")
    return _function(str(call.get("id") or ""), function if isinstance(function, Mapping) else {})


def _function(id: str, function: Mapping[str, object]) -> Call:
    return Call(id, str(function.get("name") or ""), str(function.get("arguments") or ""))


def to_openai(messages: Sequence[Message]) -> list[Mapping[str, object]]:
    """Hand messages back as they came; one that was made here (a marker) as a role and a content."""
    return [
        message.original if message.original is not None else {"role": message.role, "content": message.text}
        for message in messages
    ]


def from_text(text: str, opening: str = ">") -> tuple[Message, ...]:
    """Read a log in which lines that begin with `opening` are the agent's, and all others what it was told or saw.

    What stands before the agent's first line is the task. The texts joined are `text` again.
    """
    runs: list[tuple[bool, list[str]]] = []
    for line in text.splitlines(keepends=True):
        acting = line.startswith(opening)
        if not runs or runs[-1][0] != acting:
            runs.append((acting, []))
        runs[-1][1].append(line)
    return tuple(
        Message("assistant" if acting else "tool" if at else "user", "".join(lines))
        for at, (acting, lines) in enumerate(runs)
    )


def split_steps(messages: Sequence[Message]) -> tuple[Step, ...]:
    """Split a message list into steps, in order, every message in exactly one."""
    steps: list[Step] = []
    at = 0
    while at < len(messages):
        stop = _end(messages, at)
        steps.append(Step(at, stop, tuple(messages[at:stop])))
        at = stop
    return tuple(steps)


def _end(messages: Sequence[Message], start: int) -> int:
    """Where the step that begins at `start` ends: after the last result of its calls, and results right behind."""
    stop = start + 1
    if messages[start].role == "assistant":
        waiting = {call.id for call in messages[start].calls}
        for at in range(start + 1, len(messages)):
            if not waiting or messages[at].calls:
                break
            if messages[at].role in RESULT_ROLES and messages[at].answers in waiting:
                waiting.discard(messages[at].answers)
                stop = at + 1
    if messages[start].role in RESULT_ROLES | {"assistant"}:
        while stop < len(messages) and messages[stop].role in RESULT_ROLES:
            stop += 1
    return stop
