"""What the benches of recall and retention share: their options, and what each conversation is measured with."""

from __future__ import annotations

import random
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from memory.engine.adapter import Adapter
from memory.engine.adapter_file import SHIPPED, load_adapter
from memory.engine.encoder import Encoder, SentenceEncoder
from training.learner.formats import FORMATS, read_streams
from training.learner.haystacks import laid_together
from training.learner.streams import Stream
from training.learner.vectors import DiskCachedEncoder

VECTORS = Path(__file__).parent / "out" / "vectors"
ONE_EACH, FOLDS = 10, 5  # up to so many conversations each is left out in turn, beyond that a fifth of them

T = TypeVar("T")
Key = tuple[str, frozenset[str]]


@dataclass(frozen=True)
class Measured:
    """The streams to measure on, those to train on, and where vectors come from."""

    data: str
    test: Sequence[Stream]
    train: Sequence[Stream]
    encoder: DiskCachedEncoder
    adapter: Adapter


def add_stream_arguments(parser: ArgumentParser, *, required: bool = True) -> None:
    """The options that say what is measured."""
    parser.add_argument("--format", required=required, choices=[*FORMATS])
    parser.add_argument("--test", type=Path, nargs="+", required=required, metavar="FILE")
    parser.add_argument(
        "--train",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="train on these, cross-fitted; without it the shipped adapter is measured",
    )
    parser.add_argument(
        "--adapter", type=Path, metavar="FOLDER", help="measure this adapter instead of the shipped one"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="measure only so many conversations or questions")
    parser.add_argument("--seed", type=int, default=1)


def measured(arguments: Namespace, inner: Encoder | None = None) -> Measured:
    """Read what the options name. A larger sample under the same seed holds the smaller one."""
    test = read_streams(arguments.format, arguments.test)
    if arguments.sample:
        random.Random(arguments.seed).shuffle(test)
    test = [stream for stream in test if stream.questions or stream.uses][: arguments.sample]
    if not test:
        raise SystemExit("In these files nothing is asked, and nothing is used later.")
    train = read_streams(arguments.format, arguments.train) if arguments.train else []
    if arguments.format == "longmemeval" and not set(arguments.train or ()) <= set(arguments.test):
        known = frozenset().union(*(stream.traces for stream in test))
        train = laid_together(train, without=known, seed=arguments.seed)
    if arguments.train and not train:  # or the shipped head would be measured under another name
        raise SystemExit("Nothing in the training files is apart from what is measured: name others.")
    adapter = adapter_at(arguments.adapter)
    encoder = DiskCachedEncoder(inner or SentenceEncoder(), VECTORS)
    return Measured(arguments.test[0].stem, test, train, encoder, adapter)


def adapter_at(folder: Path | None) -> Adapter:
    """The adapter in that folder, the shipped one without. Raises `AdapterUnreadable`."""
    return load_adapter(folder or SHIPPED)


def told_apart(stream: Stream) -> Key:
    """What tells a stream from all others: two files may give their streams the same names."""
    return stream.name, stream.fingerprints


def cross_fitted(what: Measured, learn: Callable[[Sequence[Stream]], T]) -> dict[str, T]:
    """What `learn` makes for each test group of the training streams that share neither group nor session with it."""
    groups = sorted({stream.group for stream in what.test})
    share = 1 if len(groups) <= ONE_EACH else -(-len(groups) // FOLDS)
    if not {stream.group for stream in what.train} & set(groups):
        share = len(groups)  # trained on other files: once for all
    out: dict[str, T] = {}
    for at in range(0, len(groups), share):
        fold = set(groups[at : at + share])
        tested = frozenset().union(*(stream.fingerprints for stream in what.test if stream.group in fold))
        fit = [one for one in what.train if one.group not in fold and not one.fingerprints & tested]
        if not fit:
            raise SystemExit(f"To measure {', '.join(sorted(fold))} no conversation is left to train on.")
        learned = learn(fit)
        out |= dict.fromkeys(fold, learned)
    return out
