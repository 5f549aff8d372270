"""Public sets of conversations as streams, one file a format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from training.learner.formats import alfworld, jsonl, locomo, longmemeval, memdaily, tau
from training.learner.streams import Stream

FORMATS: Mapping[str, Callable[[Sequence[Path]], list[Stream]]] = {
    "locomo": locomo.read,
    "longmemeval": longmemeval.read,
    "memdaily": memdaily.read,
    "tau": tau.read,
    "alfworld": alfworld.read,
    "jsonl": jsonl.read,
}


def read_streams(format: str, paths: Sequence[Path]) -> list[Stream]:
    """Read files of one format, in order. Raises ValueError or OSError where a file is not of that format."""
    return FORMATS[format](paths)
