"""AGORA beside other memory systems, run from their own packages: same texts, same vectors, same machine.

mem0 (infer=False) and LangGraph's store live in a virtual environment of their own, made at the first use. Recall: each
is told every memory of the bank in a call of its own, as the text that AGORA embeds, and asked for 50. Latency: a turn
is a search for 10 with what the person said and an add of both sides; beside it AGORA's turn through its services, with
the durable database.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from bench.peers.environment import ENVIRONMENT, python_of
from bench.streams import add_stream_arguments, measured
from bench.table import Row


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    add_stream_arguments(parser, required=False)
    parser.add_argument(
        "--venv", type=Path, default=ENVIRONMENT, metavar="FOLDER", help="where the peers' packages are or will be"
    )
    parser.add_argument("--size", type=int, default=1_000, metavar="N", help="memories in the bank that is timed")
    parser.add_argument("--turns", type=int, default=60, help="timed turns, after a warm-up; 0: measure recall alone")


def run(arguments: Namespace) -> list[Row]:
    """Measure what the options ask for, print the figures, return all rows."""
    if bool(arguments.test) != bool(arguments.format):
        raise SystemExit("Give --format and --test together, or neither to measure latency alone.")
    python = python_of(arguments.venv)
    rows: list[Row] = []
    if arguments.test:
        from bench.peers import recalling

        rows += recalling.run(measured(arguments), python)
    if arguments.turns:
        from bench.peers import turns

        rows += turns.run(python, size=arguments.size, turns=arguments.turns, seed=arguments.seed)
    return rows
