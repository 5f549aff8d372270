"""`python -m bench NAME --json FILE`: measure one thing and write its rows."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from bench import table
from bench.scratch import scratch_home

# One file a bench. Each has `add_arguments(parser)` and `run(arguments) -> list[table.Row]`.
BENCHES = {
    "latency": "what a turn's recall and remember cost, with the database, for banks of several sizes",
    "ingest": "how fast conversations are imported, beside the encoder's own rate in batches",
    "recall": "how much of the evidence for a question is among the first memories that its cue recalls",
    "retention": "how much of the evidence for later questions is still in a bank under a budget",
    "peers": "the same recall, and what a turn costs, beside other memory systems run from their own packages",
    "merge": "what a bank that merges runs about one thing still holds and hands on of later questions' evidence",
    "summaries": "what a bank holds and hands on once the sessions that left it are summed up, each in one memory",
    "adapt": "how far a few labels take an agent from the shipped prior towards a head trained on all of them",
    "selflearn": "how far hindsight alone, without any label, takes an agent from the shipped prior",
    "queue": "whether labels in the order of the labelling queue teach more than as many random ones",
    "relevance": "what judgements of recalled memories teach recall, on conversations it did not learn from",
    "control": "whether a training run finds a challenger better when its labels are shuffled (it must not)",
    "training": "what a training run costs, from frozen judgements to a challenger beside the champion",
    "counterfactual": "whether a reply gets less likely to the demo model without the memory that it rests on",
    "compress": "whether what an agent passes on is still in view when its message list is compressed step by step",
}
WITHOUT_DJANGO = frozenset(BENCHES) - {"latency", "ingest", "peers"}  # the others need no home and no database


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bench that the first word names; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    names = argparse.ArgumentParser(
        prog="python -m bench",
        usage="python -m bench NAME --json FILE [OPTIONS]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"  {name}  {purpose}" for name, purpose in BENCHES.items()),
    )
    names.add_argument("name", choices=BENCHES, metavar="NAME")
    name = names.parse_args(words[:1]).name
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended and swept away
    with nullcontext() if name in WITHOUT_DJANGO else scratch_home():
        bench = importlib.import_module(f"bench.{name}")  # only now: Django's settings read the environment once
        parser = argparse.ArgumentParser(prog=f"python -m bench {name}", description=bench.__doc__)
        parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
        bench.add_arguments(parser)
        arguments = parser.parse_args(words[1:])
        rows = bench.run(arguments)
    if arguments.json:
        table.write(arguments.json, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
