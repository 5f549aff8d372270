"""Traces in few bytes: the rows of a recall as one matrix, and back into what pages and programs read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol
from uuid import UUID

import numpy as np

from memory.engine.types import Floats, Recollection, State

_NUMBER = np.dtype("<f4")
_OF_IDS = ("memories", "archived", "recalled", "injected", "cited")
TRACE_FIELDS = (*_OF_IDS, "numbers")  # what names or describes single memories
_ABSOLUTE = 3  # columns before the signals: logit, weight, fit


class Trace(Protocol):
    """What of a stored trace its rows are made of."""

    floor: float
    highly: float
    memories: list[UUID]
    signals: list[str]
    numbers: bytes | memoryview
    archived: list[UUID]
    recalled: list[UUID]
    injected: list[UUID]
    cited: list[UUID]


def packed(found: Recollection) -> bytes:
    """The numbers of a recollection's R rows: logit, weight, fit, S signals, S contributions; float32 each."""
    many = len(found.names)
    matrix = np.empty((len(found.items), _ABSOLUTE + 2 * many), dtype=_NUMBER)
    matrix[:, 0], matrix[:, 1], matrix[:, 2] = found.logits, found.weights, found.fit
    matrix[:, _ABSOLUTE : _ABSOLUTE + many] = found.signals
    matrix[:, _ABSOLUTE + many :] = found.contributions
    return matrix.tobytes()


def trace_rows(trace: Trace) -> list[dict[str, Any]]:
    """The rows of a trace, best first: ids and numbers, no text. `contributions` sum to `logit` but for rounding."""
    numbers = _unpacked(trace)
    fit, many = numbers[:, 2], len(trace.signals)
    groups = np.where(fit >= trace.highly, "highly", np.where(fit >= trace.floor, "maybe", "below")).tolist()
    archived, recalled, injected, cited = map(set, (trace.archived, trace.recalled, trace.injected, trace.cited))
    return [
        {
            "memory": str(memory),
            "signals": _named(trace.signals, row[_ABSOLUTE : _ABSOLUTE + many]),
            "contributions": _named(trace.signals, row[_ABSOLUTE + many :], zeros=False),
            "logit": round(row[0], 5),
            "weight": round(row[1], 6),
            "fit": round(row[2], 5),
            "state": (State.ARCHIVED if memory in archived else State.HELD).value,
            "group": group,
            "recalled": memory in recalled,
            "injected": memory in injected,
            "cited": memory in cited,
        }
        for memory, row, group in zip(trace.memories, numbers.tolist(), groups, strict=True)
    ]


def ranked(trace: Trace) -> Floats:
    """Logit, weight and fit of a trace's rows, best first: (R, 3)."""
    return _unpacked(trace)[:, :_ABSOLUTE]


def signals_in(trace: Trace, names: Sequence[str]) -> Floats:
    """The stored signals (R, len(names)) of a trace's rows in the order of `names`; 0 where it has no such signal."""
    stored = _unpacked(trace)[:, _ABSOLUTE : _ABSOLUTE + len(trace.signals)]
    out = np.zeros((len(stored), len(names)), dtype=np.float32)
    for column, name in enumerate(trace.signals):
        if name in names:
            out[:, list(names).index(name)] = stored[:, column]
    return out


def fits_in(trace: Trace) -> Floats:
    """The stored absolute fit of each of a trace's rows, (R,): what the floor was compared with."""
    return _unpacked(trace)[:, 2].copy()


def forget_rows(trace: Trace, memories: Collection[UUID]) -> None:
    """Take the rows of `memories` out of a trace (in place; not saved)."""
    kept = [i for i, memory in enumerate(trace.memories) if memory not in memories]
    trace.numbers = _unpacked(trace)[kept].tobytes()
    for name in _OF_IDS:
        setattr(trace, name, [memory for memory in getattr(trace, name) if memory not in memories])


def _unpacked(trace: Trace) -> Floats:
    """(R, 3 + 2 S)"""
    width = _ABSOLUTE + 2 * len(trace.signals)
    return np.frombuffer(trace.numbers, dtype=_NUMBER).reshape(len(trace.memories), width)


def _named(names: Sequence[str], values: Sequence[float], *, zeros: bool = True) -> dict[str, float]:
    rounded = {name: round(value, 5) for name, value in zip(names, values, strict=True)}
    return rounded if zeros else {name: value for name, value in rounded.items() if value}
