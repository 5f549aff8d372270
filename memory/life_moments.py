"""A bank at any moment of one conversation: what was in it after a turn, beside what was after another."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from uuid import UUID

from memory.engine.types import State
from memory.life import Life, seq_after


@dataclass(frozen=True)
class MomentRow:
    """One memory of the bank as it stood after a turn, and what has become of it since another one."""

    memory: UUID
    turn: int | None  # that wrote it; None: a turn of another conversation
    role: str
    importance: float
    tokens: int
    state: str  # "" where it was not written yet
    pinned: bool
    reason: str
    before: str  # its state at the other moment; "" too where there is none to compare with
    change: str  # "came", "left", "" for neither
    text: str = ""


def moment_rows(life: Life, turn: int, against: int | None = None, show: str = "held") -> list[MomentRow]:
    """The bank after turn `turn`, beside the bank after turn `against`.

    `show`: "held", "pinned", "archived", "came", "left" or "all". The most important first.
    """
    now = life.history.state_at(seq_after(life, turn)).marks
    other = {} if against is None else life.history.state_at(seq_after(life, against)).marks
    out = []
    for memory in now.keys() | other.keys():
        mark, former = now.get(memory), other.get(memory)
        state, before = mark.state.value if mark else "", former.state.value if former else ""
        pinned, change = bool(mark and mark.pinned), "" if against is None else _change(before, state)
        if show != "all" and show not in (state, change) and not (show == "pinned" and pinned):
            continue
        one = mark or former
        assert one is not None
        out.append(
            MomentRow(
                memory, life.written.get(memory), one.role, one.importance, one.tokens, state, pinned,
                mark.reason if mark else "", before, change,
            )
        )  # fmt: skip
    return sorted(out, key=lambda row: (-row.importance, row.turn or 0, row.memory.int))


def places_at(life: Life, turn: int) -> Counter[str]:
    """How many memories were where after a turn: "held", "pinned", in the archive by reason, "forgotten", "erased"."""
    out: Counter[str] = Counter()
    for mark in life.history.state_at(seq_after(life, turn)).marks.values():
        if mark.state is State.HELD:
            out["pinned" if mark.pinned else "held"] += 1
        else:
            out[(mark.reason if mark.state is State.ARCHIVED else "") or mark.state.value] += 1
    return out


def _change(before: str, state: str) -> str:
    if (before == State.HELD) == (state == State.HELD):
        return ""
    return "came" if state == State.HELD else "left"
