"""One door for all formats: bytes or a file in, conversations out. Content tells the format, not the name."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from memory.engine.trajectories.jsonl import MAX_FILE_BYTES, read_jsonl
from memory.engine.trajectories.locomo import is_locomo, read_locomo
from memory.engine.trajectories.records import Trajectory, TrajectoryError
from memory.engine.trajectories.values import BOM, FOREIGN_BOMS, ValueRefused, decode, load_json

Format = Literal["auto", "locomo", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)


def read_trajectory_file(path: Path, format: Format = "auto") -> tuple[Trajectory, ...]:
    """All conversations of a file. Raises TrajectoryError, also where it cannot be opened or is too large."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise TrajectoryError(None, f"The file is larger than {MAX_FILE_BYTES // 2**20} MiB; split it.")
        data = path.read_bytes()
    except OSError as error:
        raise TrajectoryError(None, f"The file cannot be read: {error.strerror}.") from error
    return read_trajectories(data, format)


def read_trajectories(data: bytes, format: Format = "auto") -> tuple[Trajectory, ...]:
    """All conversations in `data`, at least one. Raises TrajectoryError with every problem found."""
    if not data.removeprefix(BOM).strip():
        raise TrajectoryError(None, "The file is empty.")
    if format == "auto":
        format = detect(data)
    return read_locomo(data) if format == "locomo" else read_jsonl(data)


def detect(data: bytes) -> Literal["locomo", "jsonl"]:
    """The format by content. Raises TrajectoryError if it is neither.

    A first line that is a whole JSON object makes JSONL, unless it is a LoCoMo sample. A bracket that stays
    open begins JSON laid out over many lines. A broken first line of JSONL is left to its reader to report.
    """
    if data.startswith(FOREIGN_BOMS):
        raise TrajectoryError(None, "The file is UTF-16, not UTF-8; save it as UTF-8 and try again.")
    head = data.removeprefix(BOM).lstrip()
    first_line = head.split(b"\n", 1)[0].rstrip()
    try:
        value = load_json(decode(first_line))
    except ValueRefused:
        if not (first_line.startswith(b"[") or first_line == b"{"):
            return "jsonl"
        try:
            value = load_json(decode(data))
        except ValueRefused as refusal:
            raise TrajectoryError(refusal.line, refusal.sentence) from refusal
        if not is_locomo(value):
            raise _neither() from None
    if is_locomo(value):
        return "locomo"
    if isinstance(value, list):
        raise _neither()
    return "jsonl"


def _neither() -> TrajectoryError:
    return TrajectoryError(
        None,
        "The file is JSON, but not LoCoMo's (samples with “conversation” and “session_1” in it). "
        "Turns of your own go into JSONL: one turn a line, no list around them.",
    )
