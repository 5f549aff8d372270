"""The floor: what an agent must read word for word, whatever its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from memory.engine.compress.messages import RESULT_ROLES, SYSTEM_ROLES, Step

_ERROR = regex.compile(r"^\W*(?:error|traceback|exception|failed|failure|nothing happens)\b", regex.IGNORECASE)


@dataclass(frozen=True)
class FloorRules:
    """What always stays. System messages always do.

    `task`: the first thing a user said. `first_action`: the first step in which the agent calls a tool or acts, as the
    pattern for all others. `last_error`: the latest step whose result reports a failure, so that it is not tried again.
    """

    last_steps: int = 2
    task: bool = True
    first_action: bool = False
    last_error: bool = True

    def __post_init__(self) -> None:
        if self.last_steps < 0:
            raise ValueError(f"The floor cannot keep the last {self.last_steps} steps; 0 is the least.")


def floor_of(steps: Sequence[Step], rules: FloorRules) -> frozenset[int]:
    """The numbers of the steps that always stay."""
    keep = {at for at, step in enumerate(steps) if step.role in SYSTEM_ROLES}
    rest = [at for at in range(len(steps)) if at not in keep]
    keep.update(rest[max(0, len(rest) - rules.last_steps) :])
    if rules.task:
        keep.update([at for at in rest if steps[at].role == "user"][:1])
    if rules.first_action:
        keep.update([at for at in rest if _acts(steps[at])][:1])
    if rules.last_error:
        keep.update([at for at in rest if reports_failure(steps[at])][-1:])
    return frozenset(keep)


def _acts(step: Step) -> bool:
    return step.role == "assistant" and (len(step.messages) > 1 or bool(step.messages[0].calls))


def reports_failure(step: Step) -> bool:
    """Whether a result in the step begins by saying that it went wrong."""
    return any(message.role in RESULT_ROLES and bool(_ERROR.match(message.text)) for message in step.messages)
